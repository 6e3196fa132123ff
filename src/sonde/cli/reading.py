"""The objective's value: the last number that a program printed.

A number stands alone or next to punctuation: ``loss=0.31``, ``95%`` and ``(1e-5)`` are numbers; ``3.2s``, ``epoch10``,
``resnet-50``, ``1.2.3``, ``2024-01-05`` and ``12:30:05`` are not, nor is the spread in ``0.95 ± 0.02``. ``nan`` and
``inf`` count, and make a failed trial.
"""

from __future__ import annotations

import re

# Possessive quantifiers (++, *+) do not backtrack, so that the time is linear even for a megabyte of digits. No match
# is lost: after fewer digits the next digit would follow the number directly.
_NOISE = re.compile(
    r"""\x1b\[[0-?]*+[ -/]*+[@-~]                                    # a colour code, which ends with a letter
      | \b\d{1,2}:\d{2}(?::\d{2}(?:\.\d++)?)?\b                     # a time
      | (?:±|\+/?-)\s*+[\d.]++(?:e[+-]?\d++)?                       # a spread""",
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = re.compile(
    r"""(?<![\w.+-])                                                 # not part of a word, a version or a date
        [+-]?(?: (?: \d++(?:\.\d++|\.?) | \.\d++ )(?:e[+-]?\d++)? | (?ai:nan|inf(?:inity)?) )
        (?!\w|\.\w|[+-]\w)""",
    re.VERBOSE | re.IGNORECASE,
)


def last_number(text: str) -> float | None:
    """Return the last number of a text, or None; in time proportional to its length."""
    found = _NUMBER.findall(_NOISE.sub(" ", text))
    return float(found[-1]) if found else None
