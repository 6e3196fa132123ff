"""The command line: thin commands over a study. ``run`` tunes any program; the others show and manage what is stored.

A program is a *template* (arguments with placeholders), each placeholder may define a parameter; ``command`` runs the
rendered arguments as the objective, among ``children`` that die with us; ``output`` is for people or, as JSON, for
programs.
Only Click is imported at the start: what a command needs, it imports itself.
"""
