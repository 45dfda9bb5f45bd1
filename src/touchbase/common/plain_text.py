"""Names in plain letters: without accents, and without the legal forms of companies."""

from __future__ import annotations

import re
import unicodedata

LEGAL_FORM = re.compile(
    r"\b(inc|incorporated|llc|ltd|limited|gmbh|ag|kg|ug|bv|nv|sa|sas|sarl|srl|spa|oy|ab|as|aps|plc|corp|corporation|co|company|pty)\b\.?"
)
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l"})


def ascii_of(text: str) -> str:
    """Return a text in lower case and ASCII; letters of other scripts are left out."""
    lower = text.lower()
    return lower if lower.isascii() else unicodedata.normalize("NFKD", lower.translate(_LETTERS)).encode("ascii", "ignore").decode()
