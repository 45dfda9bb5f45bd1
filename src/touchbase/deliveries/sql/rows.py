"""Row mapping of deliveries."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from touchbase.deliveries.delivery import Delivery
from touchbase.sql.rows import Columns, encode
from touchbase.sql.statement import Row

DELIVERY: Columns = (
    ("client", "bigint"), ("id", "bigint"), ("channel", "text"), ("state", "text"), ("received_us", "bigint"), ("tool", "text"),
    ("attempts", "bigint"), ("repeats", "bigint"), ("error", "text"), ("applied_us", "bigint"), ("next_attempt_us", "bigint"),
    ("size", "bigint"), ("verified", "bigint"), ("duplicate_of", "bigint"), ("dated", "bigint"), ("problems", "text"),
    ("trace", "text"), ("key", "bytea"),
)  # fmt: skip
_decode_problems = msgspec.json.Decoder(dict[str, str]).decode
_decode_headers = msgspec.json.Decoder(dict[str, str]).decode
_delivery: Callable[..., Delivery] = Delivery


def headers_of(text: bytes | None) -> dict[str, str]:
    """Decode the stored headers."""
    return _decode_headers(text or b"{}")


def delivery_of(row: Row) -> Delivery:
    """Return the delivery of a row: client_id, `DELIVERY` without key; maybe query, headers, body; then the last columns of `WITH_BODY`."""
    delivery = _delivery(row[1], row[0], *row[2:16], _decode_problems(row[16]) if row[16] else {}, row[17])
    if delivery.verified is not None:
        delivery.verified = bool(delivery.verified)
    if len(row) > 18:
        delivery.query, delivery.headers, delivery.body = row[18], headers_of(row[19]), row[20] or b""
    if len(row) > 21:
        delivery.body_removed, delivery.body_removed_us, delivery.object = row[21:24]
    return delivery


def problems_text(problems: Mapping[str, str]) -> str | None:
    """Encode problems as stored: JSON, or NULL for none."""
    return encode(problems) if problems else None
