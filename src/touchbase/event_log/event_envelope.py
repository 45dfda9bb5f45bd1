"""The form in which an event leaves Touchbase, in the feed and in outgoing webhooks."""

from __future__ import annotations

from typing import Any

from touchbase.common.timestamps import to_text
from touchbase.event_log.models import LoggedEvent, event_id


def envelope(event: LoggedEvent, client_id: str, shown: Any) -> dict[str, Any]:
    """Return an event as JSON values. `shown` is the present record as the API shows it, None if it is gone.

    For an event about no record, `shown` is what it is about as it is now; without it, the event's own data.
    The id stands on top too: Zapier and its like take an object without one for no item.
    """
    data: dict[str, Any] = {
        "id": event_id(event.sequence),
        "client_id": client_id,
        "object": event.data if shown is None and event.record_id is None else shown,
        "changed": event.changed,
        "cause": event.cause,
    }
    if event.record_id is not None:
        data |= {"record_id": event.record_id, **event.data}
    return {"id": data["id"], "type": event.type, "timestamp": to_text(event.at), "data": data}
