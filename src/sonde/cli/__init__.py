"""The command line. ``run`` tunes any program; the other commands show and manage stored studies.

A command with placeholders is a *template*; a placeholder may define a parameter. ``command`` runs the program as the
objective. ``children`` starts programs and kills them when Sonde ends. ``output`` prints for people, or JSON for
programs. Only Click is imported at the start; each command imports what it needs.
"""
