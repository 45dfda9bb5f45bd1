"""monday.com: the handshake. Before a webhook is made, its `challenge` must come back as it was."""

from __future__ import annotations

import msgspec

from touchbase.adapters.interface import ProtocolAnswer

_LONGEST = 4_096
_PLACE = 40
"""Where in a body the challenge must begin: it is the only key."""


class _Challenge(msgspec.Struct, forbid_unknown_fields=True):
    challenge: str


_decode = msgspec.json.Decoder(_Challenge).decode


def handshake(body: bytes) -> ProtocolAnswer | None:
    """The answer to a lone challenge; None for any other body, for nearly all of them without parsing."""
    if len(body) > _LONGEST or b'"challenge"' not in body[:_PLACE]:
        return None
    try:
        return ProtocolAnswer("application/json", msgspec.json.encode(_decode(body)))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
