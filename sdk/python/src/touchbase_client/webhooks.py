"""Check that a webhook comes from your Touchbase; without I/O, for any web framework.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from touchbase_client.errors import WebhookError

if TYPE_CHECKING:
    from touchbase_client.models import LogEvent

TOLERANCE = 300
"""Seconds that a webhook may be old, or that its sender's clock may be ahead."""
ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
PREFIX, VERSION = "whsec_", "v1,"
"""What secrets and signatures begin with."""
_MOST_SIGNATURES = 20


def verify_webhook(
    secrets: str | Iterable[str],
    headers: Mapping[str, Any] | Iterable[tuple[Any, Any]],
    body: bytes | str,
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> LogEvent:
    """Return the event that a webhook carries, or raise `WebhookError`.

    `secrets`: the endpoint's secret, or several: while a secret is rotated, the old one and the new one. `headers`: as the web
    framework has them; texts or bytes, in any case. `body`: the bytes exactly as they arrived, before any parsing.
    `tolerance`: seconds that it may be old; infinity to read stored webhooks again.
    """
    raw = body.encode() if isinstance(body, str) else bytes(body)
    values = _headers(headers)
    message_id, timestamp = values[ID], _timestamp(values[TIMESTAMP])
    age = (time.time() if now is None else now) - timestamp
    if abs(age) > tolerance:
        raise WebhookError(f"the webhook is {'old' if age > 0 else 'from the future'}: check this machine's clock, or raise `tolerance`")
    if not _matches(_secrets(secrets), message_id, timestamp, raw, values[SIGNATURE]):
        raise WebhookError("no signature fits: check the endpoint's secret, and that `body` is what arrived, byte by byte")
    return _event(raw)


def _headers(headers: Mapping[str, Any] | Iterable[tuple[Any, Any]]) -> dict[str, str]:
    pairs: Iterable[tuple[Any, Any]] = headers.items() if isinstance(headers, Mapping) else headers
    texts = {_text(name).lower(): _text(value) for name, value in pairs}
    missing = [name for name in (ID, TIMESTAMP, SIGNATURE) if not texts.get(name)]
    if missing:
        raise WebhookError(f"the header {missing[0]} is missing: this is no signed webhook")
    return texts


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _timestamp(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise WebhookError(f"the header {TIMESTAMP} is no number of seconds")
    return int(text)


def _secrets(secrets: str | Iterable[str]) -> list[str]:
    listed = [secrets] if isinstance(secrets, str) else list(secrets)
    if not all(listed) or not listed:
        raise ValueError("give the endpoint's secret: without one no webhook can be checked")
    return listed


def _matches(secrets: list[str], message_id: str, timestamp: int, body: bytes, signatures: str) -> bool:
    sent = [signature.encode() for signature in signatures.split(" ")[:_MOST_SIGNATURES] if signature.startswith(VERSION)]
    try:
        expected = [_signature(secret, message_id, timestamp, body) for secret in secrets]
    except (binascii.Error, ValueError):
        raise ValueError("a secret is not as Touchbase made it: `whsec_` and letters of base64") from None
    # Every pair is compared, so that the time says nothing about which one fits.
    fits = [hmac.compare_digest(signature, right) for right in expected for signature in sent]
    return any(fits)


def _signature(secret: str, message_id: str, timestamp: int, body: bytes) -> bytes:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, "sha256").digest()
    return VERSION.encode() + base64.b64encode(digest)


def _event(raw: bytes) -> LogEvent:
    try:
        event = json.loads(raw)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise WebhookError("the body is no event: give the endpoint the format `standard` to read it here")
    return cast("LogEvent", event)
