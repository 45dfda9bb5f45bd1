"""Outreach: the webhooks about its prospects and accounts, in our words.

Event reference: recorded deliveries and an integrator's code (read 2026-11-20). Bodies are JSON:API; a
creation holds the record, an update the changed attributes, and the links to stage and account by their ids.
`deliveredAt` moves with each attempt, so the record's own time counts first. Mailings and sequences belong to the other channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.interface import Call
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UNTOLD, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.signatures import hashed_body
from touchbase.adapters.kit.times import moment
from touchbase.history.events import Event

NOISE = frozenset(
    {
        "createdAt", "updatedAt", "touchedAt", "engagedAt", "engagedScore", "trashedAt", "openCount", "clickCount", "replyCount",
        "callsCount",
        "updaterType", "creatorType", "sharingTeamId", "defaultPluginMapping", "currentSequences", "firstReply",
    }
)  # fmt: skip
SHAPES = {
    "prospect": Shape(
        CONTACT, email=("emails", "email"), first_name=("firstName",), last_name=("lastName",), full_name=("name",),
        linkedin=("linkedInUrl",),
        domain=("websiteUrl1",), company=("company",), employer=("account_id",), employer_type="account",
        useful=("title", "company", "occupation"), noise=NOISE,
    ),
    "account": Shape(COMPANY, domain=("domain", "websiteUrl"), company=("name",), useful=("industry", "locality", "companyType"),
    noise=NOISE),
}  # fmt: skip
ACTIONS = {"read": UPDATED, "created": CREATED, "updated": UPDATED, "destroyed": DELETED, "deleted": DELETED}
RESOURCES = frozenset({"account", "call", "mailing", "opportunity", "sequence", "sequenceState", "task", "user"})
"""What its webhooks are about, beside the prospects."""


class Outreach(CrmAdapter):
    """Reads Outreach's webhook calls."""

    tool = "outreach"
    words = ("prospect", "account")
    proofs = (hashed_body("outreach-webhook-signature"),)
    signs = frozenset({"meta", "attributes", "outreach-webhook-signature"})
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {"prospect": ("stage", "stageName", "stage_id"), "account": ("stage", "stage_id")}

    def sure(self, body: Body, call: Call) -> int:
        """Known by the event's name in `meta` and the JSON:API type."""
        if isinstance(dig(body, "meta", "eventName"), str) and isinstance(dig(body, "data", "type"), str):
            return 100
        if _is_record(body):
            return 70
        return 45 if "outreach-webhook-signature" in call.headers else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One event about one resource."""
        if _is_record(body):
            return self.read({"meta": {"eventName": f"{text(body.get('type'))}.read"}, "data": body}, call)
        meta, data = as_dict(body.get("meta")), as_dict(body.get("data"))
        source = text(meta.get("eventName")) or ""
        word, _, action = source.partition(".")
        object_id, what = text(data.get("id")), ACTIONS.get(action)
        if word not in SHAPES or what is None:
            return [note("ignored" if word and action else "unrecognised", source or None, word or None, object_id)]
        record = _linked(data.get("relationships")) | as_dict(data.get("attributes"))
        delivered = moment(meta, "deliveredAt")
        at = delivered if what == DELETED else moment(record, "updatedAt") or delivered
        item = Item(SHAPES[word], what, word, object_id, source, at, text(meta.get("jobId")), record)
        item.status = self.statuses(call, item.shape.kind, word)
        if action == "read":
            item.source_event = None
        elif what == UPDATED:
            item.changed = {name: (value, UNTOLD) for name, value in record.items() if name not in NOISE}
        return item.events()


def _is_record(body: Body) -> bool:
    """Whether a body is a record as the API has it, which relays post."""
    named = text(body.get("type"))
    is_theirs = named == "prospect" or ".outreach.io/" in (text(dig(body, "links", "self")) or "") or _is_bare(body)
    return is_theirs and named is not None and "id" in body and isinstance(body.get("attributes"), dict)


def _is_bare(body: Body) -> bool:
    """Whether a body is a resource without event and links, as the first webhooks sent it."""
    return body.keys() - {"links"} == {"type", "id", "attributes", "relationships"} and text(body["type"]) in RESOURCES


def _linked(relationships: object) -> Body:
    """The ids of the stage and the account that a record is linked to: an update names only the links that have changed."""
    links = {name: as_dict(as_dict(relationships).get(name)) for name in ("stage", "account")}
    return {f"{name}_id": found for name, link in links.items() if (found := first(link, "id") or dig(link, "data", "id")) is not None}


ADAPTER = Outreach()
