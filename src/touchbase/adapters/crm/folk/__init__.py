"""folk: webhooks.

Event reference: developer.folk.app, events and payloads (read 2026-11-20). Events are thin; an update lists its changes
by path. A change of type `set` has the new value, or no value if the property was cleared; `add` and `remove` have only
the difference, which is not a field value. Relays post whole records, recognised by their id.

Fetching: one record per request. A record has no change time. The status is a custom field of a group; if several groups
have one, that of the first group is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget, build_path, single_record
from touchbase.adapters.kit.signatures import standard_webhooks
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.connections.tools import ApiRequest, Fetcher
from touchbase.history.events import Event

_PLACES = {"person": "people", "company": "companies"}


def _make(target: FetchTarget) -> ApiRequest | None:
    if target.word not in _PLACES:
        return None
    return target.get(build_path("v1", _PLACES[target.word], target.ids[0]), target.bearer())


FETCHER = ApiFetcher("https://api.folk.app", 1, 120, _make, single_record)


def read_record(body: Body, word: str, statuses: tuple[str, ...], shapes: Mapping[str, RecordShape], source: str | None) -> list[Event]:
    """Read one record. folk's own records have no time, but some relays add one."""
    groups = as_dict(body.get("customFieldValues"))
    custom: Body = {}
    for _, fields in sorted(groups.items(), reverse=True):
        custom |= {name: value for name, value in as_dict(fields).items() if value is not None}
    at, record = parse_time(body.get("updatedAt")), {**custom, **body}
    return CrmItem(shapes[word], UPDATED, word, text(body.get("id")), source, at, record=record, status=statuses).events()


SHAPES = {
    "person": RecordShape(
        CONTACT, email=("emails", "email"), first_name=("firstName",), last_name=("lastName",), full_name=("fullName", "name"),
        linkedin=("linkedinUrl", "urls"), employer=("companies", "company"), employer_type="company",
        useful=("jobTitle",),
    ),
    "company": RecordShape(COMPANY, domain=("domain", "urls"), company=("name",), useful=("industry",)),
}  # fmt: skip
_OWN = frozenset[str]().union(*(shape.own for shape in SHAPES.values()))
_CUSTOM = "customFieldValues"
ACTIONS = {"created": CREATED, "updated": UPDATED, "groups_updated": UPDATED, "deleted": DELETED}


class Folk(CrmAdapter):
    """Reads folk's webhooks."""

    tool = "folk"
    words = ("person",)
    signature_schemes = (standard_webhooks(),)
    fetcher: ClassVar[Fetcher | None] = FETCHER
    detection_keys = frozenset({"createdAt", "eventType", "customFieldValues", "webhook-id"})
    status: ClassVar[tuple[str, ...]] = ("Status",)
    """Names of the groups' custom fields that are the status."""

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the source that each event names."""
        if ".folk.app/" in (text(body.get("source")) or ""):
            return 100
        if _word(body) is not None:
            return 85
        ids = (text(dig(body, "data", "id")) or "").startswith(("per_", "com_"))
        return 80 if ids and first(body, "type", "eventType") is not None and first(body, "createdAt", "timestamp") is not None else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one person or company, or of its record."""
        if (kind := _word(body)) is not None:
            return read_record(body, kind, self.statuses(webhook, SHAPES[kind].kind, kind), SHAPES, None)
        source, data = text(first(body, "type", "eventType")) or "", as_dict(body.get("data"))
        word, _, action = source.partition(".")
        object_id, what = text(data.get("id")), ACTIONS.get(action)
        if word not in SHAPES or what is None:
            return [other_event("ignored" if word and action else "unrecognised", source or None, word or None, object_id)]
        item = CrmItem(
            SHAPES[word],
            what,
            word,
            object_id,
            source,
            first_time(body, "createdAt", "timestamp"),
            text(first(body, "id", "eventId")),
            data,
            status=self.statuses(webhook, SHAPES[word].kind, word),
        )
        if what == UPDATED and "changes" in data:
            item.changed = _set(as_list(data.get("changes")))
            item.record = {name: pair[0] for name, pair in item.changed.items()} | _added(as_list(data.get("changes")))
        item.thin = not data.get("changes")
        return item.events()

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched person or company."""
        return read_record(body, word, self.statuses(webhook, kind, word), SHAPES, "fetched")


def _word(body: Body) -> str | None:
    """Return the record type of a body, by its id's prefix; None for other bodies."""
    if "type" in body or not ("customFieldValues" in body or ("createdAt" in body and "name" in body)):
        return None
    return {"per": "person", "com": "company"}.get((text(body.get("id")) or "").partition("_")[0])


def _set(changes: list[object]) -> dict[str, tuple[object, object]]:
    """Return the properties that were set, by the last part of their path (a custom field's name, not its group)."""
    return {
        name: (as_dict(change).get("value"), NOT_SENT) for change in changes if dig(change, "type") == "set" and (name := _name(change))
    }


def _added(changes: list[object]) -> dict[str, object]:
    """Return added email addresses and URLs, which identify the person."""
    return {
        name: dig(change, "value") for change in changes if dig(change, "type") == "add" and (name := _name(change)) in ("emails", "urls")
    }


def _name(change: object) -> str:
    path = [part for part in as_list(dig(change, "path")) if isinstance(part, str) and not part.isdecimal()]
    name = text(path[-1]) or "" if path else ""
    # A group's custom field is not the person's, even if it is named "email".
    return f"{_CUSTOM}.{name}" if path[:1] == [_CUSTOM] and name in _OWN else name


ADAPTER = Folk()
