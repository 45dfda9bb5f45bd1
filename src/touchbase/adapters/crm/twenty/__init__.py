"""Twenty: webhooks.

Event reference: docs.twenty.com, webhooks, and the product's source (read 2026-11-20). The two disagree: the page
writes `event`, `data` and `timestamp`, the product sends `eventName`, `record` and `eventDate`; both are read. The
whole record is sent, and an update lists the names of the changed fields. Releases of 2024 have the webhook's
subscription, `*.*`, in `eventType`, so only the record is known; the first of them write the action before the object,
`create.person`. A workflow's forwarded trigger has the record in `properties`, before and after. Workflows and relays
also post the bare record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.signatures import hmac_timed
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.history.events import Event

NOISE = frozenset({"id", "createdAt", "updatedAt", "deletedAt", "createdBy", "updatedBy", "position", "searchVector"})
SHAPES = {
    "person": RecordShape(
        CONTACT, email=("emails", "email"), first_name=("firstName",), last_name=("lastName",), full_name=("name",),
        linkedin=("linkedinLink",), employer=("companyId", "company"), employer_type="company",
        useful=("jobTitle", "city"), noise=NOISE,
    ),
    "company": RecordShape(COMPANY, domain=("domainName", "domain"), company=("name",), useful=("employees", "industry"), noise=NOISE),
}  # fmt: skip
ACTIONS = {
    "created": CREATED, "updated": UPDATED, "upserted": UPDATED, "restored": UPDATED, "deleted": DELETED, "destroyed": DELETED,
    "merged": UPDATED,
}  # fmt: skip
OLDER = {"create": CREATED, "update": UPDATED, "delete": DELETED, "*": UPDATED}
TWENTYS_OWN = frozenset(
    {
        "person", "company", "opportunity", "note", "noteTarget", "task", "taskTarget", "attachment", "favorite", "timelineActivity",
        "workspaceMember", "calendarEvent", "message", "messageThread", "workflow", "workflowRun", "workflowVersion",
    }
)  # fmt: skip
"""Twenty's standard objects: other CRMs use similar names, `contact.created`, but have no `person` next to them."""


_PLURALS = {"people": "person", "companies": "company"}
"""Forks of Twenty name some events after the record list."""
_SEVERAL = {"emails": ("primaryEmail", "additionalEmails"), "domainName": ("primaryLinkUrl", "secondaryLinks")}


class Twenty(CrmAdapter):
    """Reads Twenty's webhooks."""

    tool = "twenty"
    words = ("person",)
    signature_schemes = (hmac_timed("x-twenty-webhook-signature", "TIME:BODY", time_header="x-twenty-webhook-timestamp"),)
    detection_keys = frozenset(
        {
            "eventName", "objectMetadata", "event", "record", "emails", "domainName", "x-twenty-webhook-signature",
            "x-twenty-webhook-timestamp",
        }
    )  # fmt: skip
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {"person": (), "company": ()}

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by Twenty's headers, or by the event's name with the record."""
        if isinstance(body.get("record", body.get("properties")), dict) and ("eventName" in body or "objectMetadata" in body):
            return 100 if "objectMetadata" in body or "workspaceId" in body else 85
        if any(name.startswith("x-twenty-") for name in webhook.headers):
            return 100
        if _word(as_dict(body.get("record")) or body) is not None:
            return 70
        named, _, action = (text(body.get("event")) or "").rpartition(".")
        is_theirs = named in TWENTYS_OWN and action in ACTIONS and isinstance(dig(body, "data", "id"), str)
        return 60 if is_theirs and "timestamp" in body else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one record."""
        source = text(first(body, "eventName", "event", "eventType")) or ""
        named, action = _named(source)
        properties = as_dict(body.get("properties"))
        record = as_dict(body.get("record")) or as_dict(body.get("data")) or as_dict(properties.get("after") or properties.get("before"))
        if not source and "objectMetadata" not in body:
            return self._alone(record or body, webhook)
        word = text(dig(body, "objectMetadata", "nameSingular")) or _PLURALS.get(named, named)
        object_id, what = text(record.get("id")), ACTIONS.get(action) or OLDER.get(action)
        if action == "*" and first(record, "deletedAt") is not None:
            what = DELETED
        if word not in SHAPES or what is None:
            return [other_event("ignored" if word and action else "unrecognised", source or None, word or None, object_id)]
        at = first_time(body, "eventDate", "timestamp") or first_time(record, *_TIMES[what])
        item = CrmItem(SHAPES[word], what, word, object_id, source, at, text(body.get("eventId")), _flat(record))
        item.status = self.statuses(webhook, item.shape.kind, word)
        item.restored = action == "restored"
        fields, before = first(body, "updatedFields") or properties.get("updatedFields"), as_dict(properties.get("before"))
        if what == UPDATED and isinstance(fields, list):
            names = [name for name in as_list(fields) if isinstance(name, str) and name in record]
            item.changed = {name: (_shown(record[name]), _shown(before.get(name, NOT_SENT))) for name in names}
        events = item.events()
        if "name" in (item.changed or {}):
            # The name is one field with two parts; an empty part is cleared.
            empty = [ours for part, ours in _PARTS.items() if part in item.record and text(item.record[part]) is None]
            events[0].fields |= dict.fromkeys(empty)
        return events

    def _alone(self, record: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of a bare record from a workflow or relay."""
        word = _word(record)
        if word is None:
            return [other_event("unrecognised")]
        what = DELETED if first(record, "deletedAt") is not None else UPDATED
        item = CrmItem(SHAPES[word], what, word, text(record.get("id")), None, parse_time(record.get("updatedAt")), record=_flat(record))
        item.status = self.statuses(webhook, item.shape.kind, word)
        return item.events()


_PARTS = {"firstName": "first_name", "lastName": "last_name"}
_TIMES = {CREATED: ("updatedAt", "createdAt"), UPDATED: ("updatedAt",), DELETED: ("deletedAt",)}


def _named(source: str) -> tuple[str, str]:
    """Return an event's object and action; a missing one is a star."""
    first_word, _, last_word = source.rpartition(".")
    is_turned = first_word in OLDER and (last_word not in OLDER.keys() | ACTIONS.keys() or last_word == "*")
    return (last_word, first_word) if is_turned else (first_word, last_word)


def _word(record: Body) -> str | None:
    """Return the type of an unnamed record: Twenty stores addresses and URLs in nested objects."""
    if "id" not in record:
        return None
    if dig(record, "emails", "primaryEmail") is not None:
        return "person"
    return "company" if dig(record, "domainName", "primaryLinkUrl") is not None else None


def _shown(value: object) -> object:
    """Return a changed value; a person's name is joined from its two parts."""
    is_name = isinstance(value, dict) and value.keys() == _PARTS.keys()
    return " ".join(filter(None, map(text, value.values()))) if is_name and isinstance(value, dict) else value


def _flat(record: Body) -> Body:
    """Return the record with a person's name flattened, and with all its addresses in one list each."""
    name = record.get("name")
    flat = {**record, **name} if isinstance(name, dict) else dict(record)
    for kind, (main, others) in _SEVERAL.items():
        if isinstance(several := record.get(kind), dict) and main in several:
            flat[kind] = [several.get(main), *as_list(several.get(others))]
    return flat


ADAPTER = Twenty()
