"""Rows to events, and back: the order of their columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from touchbase.history.events import Detail, StoredEvent
from touchbase.history.last_writer_wins import Stamps
from touchbase.sql.rows import Columns, encode
from touchbase.sql.statement import Row

EVENT: Columns = (
    ("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("occurred_us", "bigint"), ("key", "text"),
    ("event", "text"), ("effect", "text"), ("status", "text"), ("tool", "text"), ("channel", "text"), ("campaign", "text"),
    ("delivery_id", "bigint"), ("received_us", "bigint"), ("via", "bigint"), ("detail", "text"),
)  # fmt: skip
_decode_stamps = msgspec.json.Decoder(dict[str, tuple[int, int, str]]).decode
_decode_detail = msgspec.json.Decoder(dict[str, Any]).decode


def stamps_of(text: str | None) -> Stamps:
    """The timestamps of fields in a column; none where it is empty."""
    return {} if text is None else _decode_stamps(text)


def stamps_text(stamps: Stamps) -> str | None:
    """The timestamps of fields as a column stores them."""
    return encode(stamps) if stamps else None


_event: Callable[..., StoredEvent] = StoredEvent


def event_of(row: Row) -> StoredEvent:
    """One event of an `EVENT` row."""
    return _event(*row[1:14], _decode_detail(row[14]) if row[14] != "{}" else {})


def event_row(client: int, e: StoredEvent) -> Row:
    """The event's row, in the order of `EVENT`."""
    return (
        client, e.record_kind, e.record_id, e.occurred_us, e.key, e.event, e.effect, e.status, e.tool, e.channel, e.campaign,
        e.delivery_id, e.received_us, e.via, encode(e.detail) if e.detail else "{}",
    )  # fmt: skip


def detail_text(detail: Detail) -> str:
    """An event's detail as it is stored: JSON."""
    return encode(detail)
