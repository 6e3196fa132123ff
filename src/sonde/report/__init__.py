"""What a study says in the end: one page with figures, numbers and advice, for people who were not there.

``source`` is what is read. ``evidence`` is what ``advice`` is drawn from, by small functions in ``about_space`` and
``about_results``. ``sections`` are the parts of the page, ``page`` puts them together.
"""

from sonde.report.advice import advice as advice
