"""Write keys: what tells two writes apart in a record's history when their times are equal."""

from __future__ import annotations

from touchbase.common.unique_ids import UniqueIds
from touchbase.history.last_writer_wins import API_KEY

_serials = UniqueIds()


def new_write_key() -> str:
    """A key that no other write has, in this process or another."""
    process, number = _serials.next()
    return f"{API_KEY}{process}:{number:x}"
