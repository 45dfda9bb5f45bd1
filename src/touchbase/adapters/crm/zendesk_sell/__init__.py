"""Zendesk Sell: webhooks, and fetching contacts and leads.

The vendor publishes no webhook body. Two forms are in the tests of an integrator: `meta` with `type` and `event_type`, and `meta` with an
`event`; `data` has the record in the API's format. People and organizations are contacts of one series of ids.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, query_parameter
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget, build_path, single_record
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.connections.tools import ApiRequest, Fetcher
from touchbase.history.events import Event

_LEAD = "lead"
_USEFUL = ("title", "phone", "mobile", "industry")
_PERSON = RecordShape(
    CONTACT, email=("email",), first_name=("first_name",), last_name=("last_name",), full_name=("name",), linkedin=("linkedin",),
    employer=("parent_organization_id", "contact_id"), employer_type=CONTACT, useful=_USEFUL,
)  # fmt: skip
_COMPANY = RecordShape(COMPANY, domain=("website",), company=("name",), useful=_USEFUL)
_ACTIONS = {"created": CREATED, "updated": UPDATED, "deleted": DELETED}
_OTHERS = frozenset({"deal", "note", "task", "call", "product", "order", "event"})


def _make(target: FetchTarget) -> ApiRequest | None:
    if target.word not in (CONTACT, _LEAD):
        return None
    return target.get(build_path("v2", f"{target.word}s", target.ids[0]), target.bearer())


class ZendeskSell(CrmAdapter):
    """Reads Zendesk Sell's webhooks."""

    tool = "zendesk_sell"
    words = (_LEAD,)
    detection_keys = frozenset({"meta"})
    status: ClassVar[dict[str, tuple[str, ...]]] = {_LEAD: ("status",), CONTACT: (), COMPANY: ()}
    fetcher: ClassVar[Fetcher | None] = ApiFetcher("https://api.getbase.com", 1, 60, _make, single_record)

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the type in `meta`, and the event's name there or the record's creator."""
        meta, data = as_dict(body.get("meta")), as_dict(body.get("data"))
        if meta.get("type") not in (CONTACT, _LEAD, *_OTHERS) or not data:
            return 0
        is_named = isinstance(meta.get("event_type"), str) or isinstance(dig(meta, "event", "type"), str)
        return 90 if is_named or data.keys() >= {"creator_id", "owner_id"} else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one record."""
        meta, data = as_dict(body.get("meta")), as_dict(body.get("data"))
        name = text(dig(meta, "event", "type"))
        word, _, verb = (name or "").partition("_") if name else (text(meta.get("type")) or "", "", text(meta.get("event_type")))
        verb = verb or (query_parameter(webhook.request.query, "event") or "").rpartition(".")[2] or "updated"
        number, source = text(data.get("id")), f"{word}.{verb}"
        if word not in (CONTACT, _LEAD) or verb not in _ACTIONS:
            return [other_event("ignored" if word else "unrecognised", source, word or None, number)]
        at = parse_time(first(meta, "event_time")) or parse_time(dig(meta, "event", "occurred_at"))
        return self._record(data, word, _ACTIONS[verb], source, webhook, at)

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched contact or lead."""
        return self._record(body, word, UPDATED, "fetched", webhook)

    def _record(self, data: Body, word: str, what: str, source: str, webhook: ParsedWebhook, at: int | None = None) -> list[Event]:
        shape = _COMPANY if data.get("is_organization") is True else _PERSON
        at = at or first_time(data, "updated_at", *(() if what == DELETED else ("created_at",)))
        item = CrmItem(shape, what, word, text(data.get("id")), source, at, record=data)
        item.thin = ("website" if shape is _COMPANY else "email") not in data
        item.status = self.statuses(webhook, shape.kind, word if word == _LEAD else shape.kind)
        return item.events()


ADAPTER = ZendeskSell()
