"""Write keys: what tells two writes apart in a record's history when their times are equal."""

from __future__ import annotations

from touchbase.domain.stamps import API_KEY
from touchbase.service.serials import Serials

_serials = Serials()


def new_write_key() -> str:
    """A key that no other write has, in this process or another."""
    process, number = _serials.next()
    return f"{API_KEY}{process}:{number:x}"
