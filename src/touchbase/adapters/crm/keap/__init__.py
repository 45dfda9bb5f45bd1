"""Keap: REST hooks, and fetching contacts and companies.

Reference: developer.keap.com, REST hooks and contacts. A hook names the ids of up to 1,000 objects; nothing is signed.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget, build_path
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.connections.tools import ApiRequest, Fetcher
from touchbase.history.events import Event

SHAPES = {
    "contact": RecordShape(
        CONTACT, email=("email_addresses",), first_name=("given_name",), last_name=("family_name",), linkedin=("linkedin",),
        employer=("company",), employer_type="company", useful=("phone", "job_title"),
    ),
    "company": RecordShape(COMPANY, domain=("website",), company=("company_name",), useful=("phone",)),
}  # fmt: skip
_ACTIONS = {"add": CREATED, "edit": UPDATED, "delete": DELETED}
_PLACES = {"contact": "contacts", "company": "companies"}


def _make(target: FetchTarget) -> ApiRequest | None:
    if target.word not in _PLACES:
        return None
    return target.get(build_path("crm", "rest", "v1", _PLACES[target.word], target.ids[0]), target.bearer())


class Keap(CrmAdapter):
    """Reads Keap's hooks."""

    tool = "keap"
    detection_keys = frozenset({"event_key"})
    fetcher: ClassVar[Fetcher | None] = ApiFetcher("https://api.infusionsoft.com", 1, 60, _make, lambda record: [record])

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the members of each hook."""
        return 95 if body.keys() >= {"event_key", "object_keys"} else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of the objects, whose values are still to be fetched."""
        name = text(body.get("event_key")) or ""
        word, _, action = name.partition(".")
        objects = as_list(body.get("object_keys"))
        if word not in SHAPES or action not in _ACTIONS:
            return [other_event("ignored" if name else "unrecognised", name or None, word or None)]
        events: list[Event] = []
        for key in objects or [None]:
            at = parse_time(dig(key, "timestamp"))
            events += CrmItem(SHAPES[word], _ACTIONS[action], word, text(dig(key, "id")), name, at, thin=True).events()
        return events

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched contact or company."""
        accounts = [as_dict(account) for account in as_list(body.get("social_accounts"))]
        profile = next((account.get("name") for account in accounts if (text(account.get("type")) or "").lower() == "linkedin"), None)
        phone = first(next(iter(as_list(body.get("phone_numbers"))), None), "number")
        item = CrmItem(SHAPES[word], UPDATED, word, text(body.get("id")), "fetched", first_time(body, "last_updated", "date_created"))
        item.record, item.status = {**body, "linkedin": profile, "phone": phone}, self.statuses(webhook, SHAPES[word].kind, word)
        return item.events()


ADAPTER = Keap()
