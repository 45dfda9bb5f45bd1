"""Signatures of outgoing webhooks. Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from secrets import token_bytes

from touchbase.common.timestamps import SECOND, Micros
from touchbase.common.webhook_signatures import PREFIX, sign

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
