"""What a body that somebody has made up says has happened to the record in it, where a CRM lets people write its calls themselves."""

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
# Of anything else than the record itself, a note or a task of it, nothing is said here.
_SAID = re.compile(r"(?:(?:on|record|contacts?|leads?|accounts?|company|person|customer|(?:res\.)?partner|crm)[._\s-])*([a-z]+)")


def said(body: Mapping[str, object]) -> str | None:
    """Created, updated or deleted, as `deleted`, `lead.deleted`, `Lead Deleted` and `on_unlink` say it; None where nothing does."""
    match = _SAID.fullmatch((text(first(body, *_NAMES)) or "").lower())
    return None if match is None else _WHAT.get(match[1])
