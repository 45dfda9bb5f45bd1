"""Outreach: webhooks about prospects and accounts.

Event reference: recorded deliveries and an integrator's code (read 2026-11-20). Bodies are JSON:API; a creation has the
record, an update the changed attributes, and the ids of the linked stage and account. `deliveredAt` changes with each
attempt, so the record's own time takes precedence. Mailings and sequences belong to the other channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.adapters.kit.times import first_time
from touchbase.history.events import Event

NOISE = frozenset(
    {
        "createdAt", "updatedAt", "touchedAt", "engagedAt", "engagedScore", "trashedAt", "openCount", "clickCount", "replyCount",
        "callsCount",
        "updaterType", "creatorType", "sharingTeamId", "defaultPluginMapping", "currentSequences", "firstReply",
    }
)  # fmt: skip
SHAPES = {
    "prospect": RecordShape(
        CONTACT, email=("emails", "email"), first_name=("firstName",), last_name=("lastName",), full_name=("name",),
        linkedin=("linkedInUrl",),
        domain=("websiteUrl1",), company=("company",), employer=("account_id",), employer_type="account",
        useful=("title", "company", "occupation"), noise=NOISE,
    ),
    "account": RecordShape(COMPANY, domain=("domain", "websiteUrl"), company=("name",), useful=("industry", "locality", "companyType"),
    noise=NOISE),
}  # fmt: skip
ACTIONS = {"read": UPDATED, "created": CREATED, "updated": UPDATED, "destroyed": DELETED, "deleted": DELETED}
RESOURCES = frozenset({"account", "call", "mailing", "opportunity", "sequence", "sequenceState", "task", "user"})
"""The resource types of Outreach's webhooks, besides prospects."""


class OutreachCrm(CrmAdapter):
    """Reads Outreach's webhooks."""

    tool = "outreach"
    words = ("prospect", "account")
    signature_schemes = (hmac_body("outreach-webhook-signature"),)
    detection_keys = frozenset({"meta", "attributes", "outreach-webhook-signature"})
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {"prospect": ("stage", "stageName", "stage_id"), "account": ("stage", "stage_id")}

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the event's name in `meta` and the JSON:API type."""
        if isinstance(dig(body, "meta", "eventName"), str) and isinstance(dig(body, "data", "type"), str):
            return 100
        if _is_record(body):
            return 70
        return 45 if "outreach-webhook-signature" in webhook.headers else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one resource."""
        if _is_record(body):
            return self.read({"meta": {"eventName": f"{text(body.get('type'))}.read"}, "data": body}, webhook)
        meta, data = as_dict(body.get("meta")), as_dict(body.get("data"))
        source = text(meta.get("eventName")) or ""
        word, _, action = source.partition(".")
        object_id, what = text(data.get("id")), ACTIONS.get(action)
        if word not in SHAPES or what is None:
            return [other_event("ignored" if word and action else "unrecognised", source or None, word or None, object_id)]
        record = _linked(data.get("relationships")) | as_dict(data.get("attributes"))
        delivered = first_time(meta, "deliveredAt")
        at = delivered if what == DELETED else first_time(record, "updatedAt") or delivered
        item = CrmItem(SHAPES[word], what, word, object_id, source, at, text(meta.get("jobId")), record)
        item.status = self.statuses(webhook, item.shape.kind, word)
        if action == "read":
            item.source_event = None
        elif what == UPDATED:
            item.changed = {name: (value, NOT_SENT) for name, value in record.items() if name not in NOISE}
        return item.events()


def _is_record(body: Body) -> bool:
    """Return whether a body is a record in the API's format, as relays post it."""
    named = text(body.get("type"))
    is_theirs = named == "prospect" or ".outreach.io/" in (text(dig(body, "links", "self")) or "") or _is_bare(body)
    return is_theirs and named is not None and "id" in body and isinstance(body.get("attributes"), dict)


def _is_bare(body: Body) -> bool:
    """Return whether a body is a resource without event and links, as in the first version of the webhooks."""
    return body.keys() - {"links"} == {"type", "id", "attributes", "relationships"} and text(body["type"]) in RESOURCES


def _linked(relationships: object) -> Body:
    """Return the ids of the linked stage and account: an update has only the changed links."""
    links = {name: as_dict(as_dict(relationships).get(name)) for name in ("stage", "account")}
    return {f"{name}_id": number for name, link in links.items() if (number := first(link, "id") or dig(link, "data", "id")) is not None}


ADAPTER = OutreachCrm()
