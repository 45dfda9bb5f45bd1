"""monday.com: the handshake. Before a webhook is created, its `challenge` must be returned unchanged."""

from __future__ import annotations

import msgspec

from touchbase.adapters.interface import ProtocolResponse

_MAX_LENGTH = 4_096
_PLACE = 40
"""Maximum offset of the challenge in a body: it is the only key."""


class _Challenge(msgspec.Struct, forbid_unknown_fields=True):
    challenge: str


_decode = msgspec.json.Decoder(_Challenge).decode


def handshake(body: bytes) -> ProtocolResponse | None:
    """Return the response to a lone challenge; None for any other body, for nearly all of them without parsing."""
    if len(body) > _MAX_LENGTH or b'"challenge"' not in body[:_PLACE]:
        return None
    try:
        return ProtocolResponse("application/json", msgspec.json.encode(_decode(body)))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
