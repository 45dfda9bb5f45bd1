"""Capsule: REST hooks.

Event reference: a published description of the hooks (read 2026-11-20). A webhook has an event name and a list of whole
records, or one record. A party is a person or an organisation; opportunities, projects, tasks and users are ignored.
Relays post the bare party.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list, option_text
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import first_time
from touchbase.history.events import Event

SHAPES = {
    "person": RecordShape(
        CONTACT, email=("emailAddresses",), first_name=("firstName",), last_name=("lastName",), linkedin=("websites", LINKEDIN),
        company=("organisation_name",), employer=("organisation",), employer_type="organisation", useful=("jobTitle",),
    ),
    "organisation": RecordShape(COMPANY, domain=("own_pages",), company=("name",)),
}  # fmt: skip
_OF_PARTY = frozenset({"emailAddresses", "phoneNumbers", "websites", "addresses"})
"""Fields of every party, even if empty; two of them distinguish it from other records."""
ACTIONS = {"created": CREATED, "updated": UPDATED, "deleted": DELETED}


class Capsule(CrmAdapter):
    """Reads Capsule's REST hooks."""

    tool = "capsule"
    words = ("person", "organisation")
    detection_keys = frozenset({"payload", "party", "emailAddresses"})
    status: ClassVar[tuple[str, ...]] = ()
    """Names of the custom fields that are the status."""

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the form of the event name, `party/created`, with a list of records."""
        if _bare(body) is not None:
            return 70
        event = _event(body) or ""
        if "/" not in event or not isinstance(body.get("payload"), list | dict):
            return 0
        return 100 if event.lower().partition("/")[0] in ("party", "kase", "opportunity", "task", "user", "project") else 40

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of all records in a webhook."""
        if (party := _bare(body)) is not None:
            return self._party(None, UPDATED, party, webhook)
        source = _event(body) or ""
        word, _, action = source.lower().partition("/")
        what = ACTIONS.get(action)
        events: list[Event] = []
        for record in as_list(body.get("payload")) or filter(None, [as_dict(body.get("payload"))]):
            if word != "party" or what is None:
                events.append(
                    other_event("ignored" if word and action else "unrecognised", source or None, word or None, text(dig(record, "id")))
                )
            elif isinstance(record, dict):
                events += self._party(source, what, record, webhook)
            else:
                events.append(other_event("unrecognised", source))
        return events or [other_event("ignored" if body.get("payload") == [] and source else "unrecognised", source or None)]

    def _party(self, source: str | None, what: str, record: Body, webhook: ParsedWebhook) -> list[Event]:
        word = (text(record.get("type")) or _guess(record)).lower()
        if word not in SHAPES:
            return [other_event("unrecognised", source, word or None, text(record.get("id")))]
        # A deleted party has the time of its last change, which is not the time of its deletion.
        at = first_time(record, *_TIMES[what])
        # For social networks this is a user name, not a page of the party.
        pages = [site for site in as_list(record.get("websites")) if dig(site, "service") in (None, "URL")]
        custom = {name: dig(field, "value") for field in as_list(record.get("fields")) if (name := text(dig(field, "definition", "name")))}
        properties = {**custom, **record, "own_pages": pages, "organisation_name": dig(record, "organisation", "name")}
        if word == "person":
            properties = with_linkedin(properties)
        item = CrmItem(SHAPES[word], what, word, text(record.get("id")), source, at, record=properties)
        item.status = self.statuses(webhook, item.shape.kind, word)
        events = item.events()
        if what != DELETED and item.object_id is not None:
            own = {name: value for name, value in custom.items() if name in properties and name not in item.status}
            events[0].custom |= {name: read for name, value in own.items() if (read := option_text(value)) is not None or value is None}
        return events


_TIMES = {CREATED: ("updatedAt", "createdAt"), UPDATED: ("updatedAt",), DELETED: ("deletedAt",)}


def _event(body: Body) -> str | None:
    return text(first(body, "event", "type"))


def _bare(body: Body) -> Body | None:
    """Return the bare or wrapped party in a body, in the API's format, as relays post it; None for tasks, which also name their party."""
    party = as_dict(body["party"]) if body.keys() == {"party"} else body
    is_party = "id" in party and text(party.get("type")) in SHAPES
    return party if is_party and (party is not body or len(_OF_PARTY & party.keys()) > 1) else None


def _guess(record: Body) -> str:
    if "firstName" in record or "lastName" in record:
        return "person"
    return "organisation" if "name" in record else ""


ADAPTER = Capsule()
