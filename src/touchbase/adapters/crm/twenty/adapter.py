"""Twenty: its webhooks in our words.

Event reference: docs.twenty.com, webhooks, and the product's source (read 2026-11-20). The two disagree:
the page writes `event`, `data` and `timestamp`, the product sends `eventName`, `record` and `eventDate`;
both are read. The whole record comes along, and an update lists the names of the changed fields. Releases
of 2024 name in `eventType` what the webhook is for instead, `*.*`: then the record is all that is told; the first of them
name the action before the object, `create.person`. Where a workflow
hands on its trigger, the record stands in `properties`, as it is and as it was. Workflows and relays also post it alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.crm.twenty.proof import TWENTY
from touchbase.adapters.interface import Call
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UNTOLD, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.times import moment, when
from touchbase.history.events import Event

NOISE = frozenset({"id", "createdAt", "updatedAt", "deletedAt", "createdBy", "updatedBy", "position", "searchVector"})
SHAPES = {
    "person": Shape(
        CONTACT, email=("emails", "email"), first_name=("firstName",), last_name=("lastName",), full_name=("name",),
        linkedin=("linkedinLink",), employer=("companyId", "company"), employer_type="company",
        useful=("jobTitle", "city"), noise=NOISE,
    ),
    "company": Shape(COMPANY, domain=("domainName", "domain"), company=("name",), useful=("employees", "industry"), noise=NOISE),
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
"""Twenty's standard objects: other CRMs write their events like it, `contact.created`, but have no `person` beside them."""


_PLURALS = {"people": "person", "companies": "company"}
"""Products made from Twenty name some events after the list of the records."""
_SEVERAL = {"emails": ("primaryEmail", "additionalEmails"), "domainName": ("primaryLinkUrl", "secondaryLinks")}


class Twenty(CrmAdapter):
    """Reads Twenty's webhook calls."""

    tool = "twenty"
    words = ("person",)
    proofs = (TWENTY,)
    signs = frozenset(
        {
            "eventName", "objectMetadata", "event", "record", "emails", "domainName", "x-twenty-webhook-signature",
            "x-twenty-webhook-timestamp",
        }
    )  # fmt: skip
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {"person": (), "company": ()}

    def sure(self, body: Body, call: Call) -> int:
        """Known by Twenty's headers or by the event's name beside the record."""
        if isinstance(body.get("record", body.get("properties")), dict) and ("eventName" in body or "objectMetadata" in body):
            return 100 if "objectMetadata" in body or "workspaceId" in body else 85
        if any(name.startswith("x-twenty-") for name in call.headers):
            return 100
        if _word(as_dict(body.get("record")) or body) is not None:
            return 70
        named, _, action = (text(body.get("event")) or "").rpartition(".")
        is_theirs = named in TWENTYS_OWN and action in ACTIONS and isinstance(dig(body, "data", "id"), str)
        return 60 if is_theirs and "timestamp" in body else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One event about one record."""
        source = text(first(body, "eventName", "event", "eventType")) or ""
        named, action = _named(source)
        properties = as_dict(body.get("properties"))
        record = as_dict(body.get("record")) or as_dict(body.get("data")) or as_dict(properties.get("after") or properties.get("before"))
        if not source and "objectMetadata" not in body:
            return self._alone(record or body, call)
        word = text(dig(body, "objectMetadata", "nameSingular")) or _PLURALS.get(named, named)
        object_id, what = text(record.get("id")), ACTIONS.get(action) or OLDER.get(action)
        if action == "*" and first(record, "deletedAt") is not None:
            what = DELETED
        if word not in SHAPES or what is None:
            return [note("ignored" if word and action else "unrecognised", source or None, word or None, object_id)]
        at = moment(body, "eventDate", "timestamp") or moment(record, *_TIMES[what])
        item = Item(SHAPES[word], what, word, object_id, source, at, text(body.get("eventId")), _flat(record))
        item.status = self.statuses(call, item.shape.kind, word)
        item.restored = action == "restored"
        fields, before = first(body, "updatedFields") or properties.get("updatedFields"), as_dict(properties.get("before"))
        if what == UPDATED and isinstance(fields, list):
            names = [name for name in as_list(fields) if isinstance(name, str) and name in record]
            item.changed = {name: (_shown(record[name]), _shown(before.get(name, UNTOLD))) for name in names}
        events = item.events()
        if "name" in (item.changed or {}):
            # The name is one field of two parts, of which an empty one is cleared.
            empty = [ours for part, ours in _PARTS.items() if part in item.record and text(item.record[part]) is None]
            events[0].fields |= dict.fromkeys(empty)
        return events

    def _alone(self, record: Body, call: Call) -> list[Event]:
        """A record as a workflow or relay posts it."""
        word = _word(record)
        if word is None:
            return [note("unrecognised")]
        what = DELETED if first(record, "deletedAt") is not None else UPDATED
        item = Item(SHAPES[word], what, word, text(record.get("id")), None, when(record.get("updatedAt")), record=_flat(record))
        item.status = self.statuses(call, item.shape.kind, word)
        return item.events()


_PARTS = {"firstName": "first_name", "lastName": "last_name"}
_TIMES = {CREATED: ("updatedAt", "createdAt"), UPDATED: ("updatedAt",), DELETED: ("deletedAt",)}


def _named(source: str) -> tuple[str, str]:
    """What an event is about and what happened to it; where only one of the two is told, the other is a star."""
    first_word, _, last_word = source.rpartition(".")
    is_turned = first_word in OLDER and (last_word not in OLDER.keys() | ACTIONS.keys() or last_word == "*")
    return (last_word, first_word) if is_turned else (first_word, last_word)


def _word(record: Body) -> str | None:
    """What a record without a name is: Twenty keeps addresses and pages in objects of its own."""
    if "id" not in record:
        return None
    if dig(record, "emails", "primaryEmail") is not None:
        return "person"
    return "company" if dig(record, "domainName", "primaryLinkUrl") is not None else None


def _shown(value: object) -> object:
    """A changed value; of a person's name its two parts together."""
    is_name = isinstance(value, dict) and value.keys() == _PARTS.keys()
    return " ".join(filter(None, map(text, value.values()))) if is_name and isinstance(value, dict) else value


def _flat(record: Body) -> Body:
    """The record with a person's name, an object of two parts, laid out flat, and with all its addresses in one list each."""
    name = record.get("name")
    flat = {**record, **name} if isinstance(name, dict) else dict(record)
    for kind, (main, others) in _SEVERAL.items():
        if isinstance(several := record.get(kind), dict) and main in several:
            flat[kind] = [several.get(main), *as_list(several.get(others))]
    return flat


ADAPTER = Twenty()
