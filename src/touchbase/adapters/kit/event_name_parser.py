"""The event of a hand-written body: created, updated or deleted, for CRMs whose users write the webhook body themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping

from touchbase.adapters.kit.crm import CREATED, DELETED, UPDATED
from touchbase.adapters.kit.extract import first, text

_NAMES = ("operation", "event", "event_type", "eventType", "action", "method", "trigger")
_VERBS = {
    CREATED: ("create", "created", "insert", "inserted", "new"),
    UPDATED: ("update", "updated", "edit", "edited", "write", "change", "changed"),
    DELETED: ("delete", "deleted", "deletion", "unlink", "remove", "removed", "archive", "archived"),
}
_WHAT = {verb: what for what, verbs in _VERBS.items() for verb in verbs}
# An event about something other than the record, such as a note or task, gives no result.
_EVENT = re.compile(r"(?:(?:on|record|contacts?|leads?|accounts?|company|person|customer|(?:res\.)?partner|crm)[._\s-])*([a-z]+)")


def parse_event_name(body: Mapping[str, object]) -> str | None:
    """Return created, updated or deleted from names such as `deleted`, `lead.deleted`, `Lead Deleted` or `on_unlink`; else None."""
    match = _EVENT.fullmatch((text(first(body, *_NAMES)) or "").lower())
    return None if match is None else _WHAT.get(match[1])
