"""Signatures of outgoing webhooks. Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Sequence
from secrets import token_bytes

from touchbase.common.timestamps import SECOND, Micros

PREFIX = "whsec_"
VERSION = "v1,"


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return one signature: `v1,` and the HMAC of id, time and body."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    # Not `hmac.digest`, which lets another thread run first, even for a small body: the event loop then waits ten times as long.
    return VERSION + base64.b64encode(hmac.new(key, signed, "sha256").digest()).decode()


SECRET_BYTES = 32


def new_secret() -> str:
    """Return a random secret."""
    return PREFIX + base64.b64encode(token_bytes(SECRET_BYTES)).decode()


def signature_headers(secrets: Sequence[str], message_id: str, at: Micros, body: bytes) -> dict[str, str]:
    """Return the headers of a signed webhook, with a signature for each secret."""
    timestamp = at // SECOND
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(sign(secret, message_id, timestamp, body) for secret in secrets),
    }
