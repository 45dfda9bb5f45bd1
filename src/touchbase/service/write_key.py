"""Write keys: what tells two writes apart in a record's history when their times are equal."""

from __future__ import annotations

from itertools import count
from secrets import token_hex

_PROCESS = token_hex(8)
_NUMBERS = count()


def new_write_key() -> str:
    """A key that no other write has, in this process or another."""
    return f"api:{_PROCESS}:{next(_NUMBERS):x}"
