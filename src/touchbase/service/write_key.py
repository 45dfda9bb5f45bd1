"""Write keys: what tells two writes apart in a record's history when their times are equal."""

from __future__ import annotations

from touchbase.service.serials import Serials

_serials = Serials()


def new_write_key() -> str:
    """A key that no other write has, in this process or another."""
    process, number = _serials.next()
    return f"api:{process}:{number:x}"
