"""The id by which a request is known to its caller, in its answer and in our log."""

from __future__ import annotations

import re
from collections.abc import Iterable

HEADER = b"x-request-id"
_SANE = re.compile(rb"[A-Za-z0-9._:=/+\-]{1,128}")


def is_sane(given: bytes) -> bool:
    """Whether a caller's id may stand in our answers and log lines."""
    return _SANE.fullmatch(given) is not None


def given_in(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The caller's own id, if there is a sane one; names are lower case."""
    given = dict(headers).get(HEADER)
    return given.decode("ascii") if given is not None and is_sane(given) else None
