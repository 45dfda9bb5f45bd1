"""HubSpot: its app webhooks and the objects that its workflows post, in our words.

Event reference: the webhook guides on developers.hubspot.com (read 2026-11-20). One call carries up to
100 thin events: an id, and for a property change the one property. `object.*` subscriptions name the kind
of object in `objectTypeId`, but for links, which name both ends instead. Attempts are counted in `attemptNumber`,
which says nothing to us.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

from touchbase.adapters.crm.hubspot.fetch import FETCHER, STATUS, read_fetched
from touchbase.adapters.crm.hubspot.objects import COMPANY_ID, CONTACT_ID, is_object, member_of_list, properties_of, read_object
from touchbase.adapters.crm.hubspot.proof import HUBSPOT
from touchbase.adapters.interface import Call
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UNTOLD, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter, kind_chosen
from touchbase.adapters.kit.crm_values import as_list, mail
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import when
from touchbase.connections.tools import Fetcher
from touchbase.history.events import Event

KINDS = {"contact": CONTACT, CONTACT_ID: CONTACT, "company": COMPANY, COMPANY_ID: COMPANY}
NOISE = frozenset({"lastmodifieddate", "hs_lastmodifieddate", "hs_object_id", "createdate", "hs_all_owner_ids"})
# A single changed `website` does not make the company another one, so only `domain` counts here.
SHAPES = {
    CONTACT: Shape(
        CONTACT, email=("email",), first_name=("firstname",), last_name=("lastname",),
        linkedin=("hs_linkedin_url", "linkedin_url", "linkedinurl", "linkedin", LINKEDIN),
        employer=("associatedcompanyid", "company_id"), employer_type=COMPANY, noise=NOISE,
    ),
    COMPANY: Shape(COMPANY, domain=("domain",), company=("name",), noise=NOISE),
}  # fmt: skip

_OWN_KIND = re.compile(r"\d+-\d+", re.ASCII)
# The action of `contact.creation` and its like; any other action is not about a record as such.
PLAIN = {"creation": CREATED, "deletion": DELETED, "privacyDeletion": DELETED, "restore": UPDATED}


class HubSpot(CrmAdapter):
    """Reads HubSpot's webhook calls."""

    tool = "hubspot"
    proofs = (HUBSPOT,)
    signs = frozenset(
        {
            "subscriptionType", "eventType", "hs_object_id", "properties", "callbackId", "listId",
            "x-hubspot-signature", "x-hubspot-signature-v3", "x-hubspot-signature-version",
        }
    )  # fmt: skip
    status: ClassVar[Mapping[str, tuple[str, ...]]] = STATUS
    fetcher: ClassVar[Fetcher | None] = FETCHER

    def sure(self, body: Body, call: Call) -> int:
        """Certain of an app event; a workflow's object is known by its shape or by HubSpot's headers."""
        if "subscriptionType" in body and ("objectId" in body or "portalId" in body or "eventId" in body):
            return 100
        if "eventType" in body and "portalId" in body and "objectId" in body:
            return 95
        signed = any(name.startswith("x-hubspot-") for name in call.headers)
        if is_object(body) or member_of_list(body) is not None:
            return 100 if signed else 90
        return 60 if signed else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One app event, or one whole object of a workflow."""
        source = text(first(body, "subscriptionType", "eventType"))
        if source is None:
            body = member_of_list(body) or body
            # A workflow's hand-written body is known by HubSpot's signature alone; then an e-mail must do.
            known = is_object(body) or mail(body.get("email"))
            return read_object(body, partial(self.statuses, call)) if known else [note("unrecognised")]
        word, _, action = source.partition(".")
        if word == "object":
            word = text(first(body, "objectTypeId", "fromObjectTypeId")) or ""
        # A relay's HubSpot node writes `contactId` in the place of `objectId`.
        object_id = text(first(body, "objectId", f"{word}Id"))
        if not word or not action:
            # What happens to an app itself, such as `APP_LIFECYCLE_EVENT`, is named without a kind of record.
            return [note("ignored" if source.isupper() else "unrecognised", source, word or None, object_id)]
        kind = KINDS.get(word) or kind_chosen(call, word)
        if kind not in SHAPES:
            return [note("ignored", source, word, object_id)]
        # A client's own kind of object has ids of its own.
        item = Item(SHAPES[kind], UPDATED, kind if word in KINDS else word, object_id, source, when(body.get("occurredAt")), _key(body))
        item.status = self.statuses(call, kind, word)
        return self._told(item, action, body)

    def kinds(self, objects: Mapping[str, str]) -> Sequence[str]:
        """Contacts and companies, and those of the client's own kinds that it says are either."""
        return (CONTACT, COMPANY, *(word for word in objects if _OWN_KIND.fullmatch(word)))

    def fetched(self, body: Body, kind: str, word: str, call: Call) -> list[Event]:
        """One contact or company that we have asked for."""
        return read_fetched(body, kind, word, self.statuses(call, kind, word))

    def _told(self, item: Item, action: str, body: Body) -> list[Event]:
        if action == "propertyChange":
            name = text(body.get("propertyName"))
            if name is None:
                return [note("unrecognised", item.source_event, item.object_type, item.object_id)]
            value = body.get("propertyValue")
            item.record, item.changed = _beside(body), {name: (value, UNTOLD)}
            return item.events()
        if action == "associationChange":
            return _association(item, body)
        if action == "merge":
            return _merge(item, body)
        if action not in PLAIN:
            return [note("ignored", item.source_event, item.object_type, item.object_id)]
        item.what, item.restored = PLAIN[action], action == "restore"
        item.record = _beside(body)
        item.changed, item.thin = None if item.record else {}, item.restored
        return item.events()


def _beside(body: Body) -> dict[str, object]:
    """What an event tells of its record: the property that has changed, and what whoever hands the event on has put beside it."""
    name = text(body.get("propertyName"))
    return with_linkedin(properties_of(body) | ({} if name is None else {name: body.get("propertyValue")}))


def _key(body: Body) -> str | None:
    """Portal and event id; test sends all carry the event id 1, which tells nothing."""
    event = text(body.get("eventId"))
    if event is None or event == "1":
        return None
    portal = text(body.get("portalId"))
    return event if portal is None else f"{portal}:{event}"


def _association(item: Item, body: Body) -> list[Event]:
    """A link between a contact and a company, told from both sides; links to deals and the like are not for us."""
    source, _, target = (text(body.get("associationType")) or "").partition("_TO_")
    other = KINDS.get(text(body.get("toObjectTypeId")) or "") or KINDS.get(target.lower().removesuffix("_unlabeled"))
    if other is None or other == item.shape.kind or (source and source.lower() != item.shape.kind):
        return [note("ignored", item.source_event, item.object_type, item.object_id)]
    linked = body.get("toObjectId")
    removed = body.get("associationRemoved") in (True, "true")
    item.changed = {f"{other}_id": (None, linked) if removed else (linked, UNTOLD)}
    item.record = {} if removed else {f"{other}_id": linked}
    item.object_id = item.object_id or text(body.get("fromObjectId"))
    return item.events()


def _merge(item: Item, body: Body) -> list[Event]:
    """The survivor, which HubSpot may have made anew, and every record that went into it."""
    primary = text(body.get("primaryObjectId"))
    item.object_id, item.changed, item.thin = text(body.get("newObjectId")) or primary or item.object_id, {}, True
    return item.merged(*map(text, as_list(body.get("mergedObjectIds"))), primary)


ADAPTER = HubSpot()
