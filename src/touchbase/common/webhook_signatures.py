"""Signatures of webhooks. Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md."""

from __future__ import annotations

import base64
import hmac

PREFIX = "whsec_"
VERSION = "v1,"


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return one signature: `v1,` and the HMAC of id, time and body."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    # Not `hmac.digest`, which lets another thread run first, even for a small body: the event loop then waits ten times as long.
    return VERSION + base64.b64encode(hmac.new(key, signed, "sha256").digest()).decode()
