"""Spreadsheet formulas in text: made harmless in CSV files for people, and restored when such a file is read.

A spreadsheet computes a cell that begins with one of `FIRST`, also in a file from outside, and a formula can send other
cells to a web address (https://owasp.org/www-community/attacks/CSV_Injection). An apostrophe before it makes it text.
The two functions are inverse: a text that already begins with an apostrophe and such a character gets one more.
"""

from __future__ import annotations

import re

FIRST = "=+-@\t\r\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
"""Characters at which a spreadsheet begins a formula; the last eight are wide and small forms of the first, which some read as them."""
INVISIBLE = "\ufeff\u00ad\u034f\u061c\u180e" + "".join(map(chr, (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070))))
"""Characters without a width that some spreadsheets drop, so that the following text becomes the beginning of the cell."""
_BEGIN = f"[{INVISIBLE}]*[{re.escape(FIRST)}]"
_FORMULA = re.compile(f"'*{_BEGIN}")
_QUOTED = re.compile(f"'+{_BEGIN}")
SUSPECT = frozenset(FIRST + INVISIBLE + "'")
"""First characters of the texts that `harmless` changes; it returns others as they are."""
_NUMBER = re.compile(r"[+-]\d+(?:[.,]\d+)?", re.ASCII)
"""A signed number computes nothing, and is to stay a number."""


def harmless(text: str) -> str:
    """Return the text with an apostrophe before it if a spreadsheet would compute it."""
    if text[:1] not in SUSPECT or _FORMULA.match(text) is None or _NUMBER.fullmatch(text) is not None:
        return text
    return f"'{text}"


def restored(text: str) -> str:
    """Return the text without the apostrophe that `harmless` put before it."""
    return text[1:] if text[:1] == "'" and _QUOTED.match(text) is not None else text
