"""Spreadsheet formulas in text: made harmless in CSV files for people, and restored when such a file is read.

A spreadsheet computes a cell that begins with one of `FIRST`, also in a file from outside, and a formula can send other
cells to a web address (https://owasp.org/www-community/attacks/CSV_Injection). An apostrophe before it makes it text.
The two functions are inverse: a text that already begins with an apostrophe and such a character gets one more.
"""

from __future__ import annotations

import re

FIRST = "=+-@\t\r"
"""Characters at which a spreadsheet begins a formula."""
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED = re.compile(r"'+[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]\d+(?:[.,]\d+)?", re.ASCII)
"""A signed number computes nothing, and is to stay a number."""


def harmless(text: str) -> str:
    """Return the text with an apostrophe before it if a spreadsheet would compute it."""
    if text[:1] not in "=+-@\t\r'" or _FORMULA.match(text) is None or _NUMBER.fullmatch(text) is not None:
        return text
    return f"'{text}"


def restored(text: str) -> str:
    """Return the text without the apostrophe that `harmless` put before it."""
    return text[1:] if text[:1] == "'" and _QUOTED.match(text) is not None else text
