"""Who asked for a write through the API."""

from __future__ import annotations

from typing import NamedTuple


class Author(NamedTuple):
    """Key and request of one write, as the record's history names them."""

    key_id: str | None = None
    """The id of the API key; None where no keys are needed."""
    request_id: str | None = None


NO_AUTHOR = Author()
