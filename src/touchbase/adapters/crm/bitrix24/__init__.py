"""Bitrix24: outgoing webhooks, and fetching records by an incoming one.

Reference: apidocs.bitrix24.com, events and `crm.*.get`. An outgoing webhook is a form with an id alone. `auth[domain]` says where it
comes from, and is never called: records are asked for at the connection's `api_base`. Ids of contacts and leads are separate series.
"""

from __future__ import annotations

import re
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget, build_path
from touchbase.adapters.kit.signatures import Scheme, constant_time_equal
from touchbase.adapters.kit.signatures_body import fields
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival
from touchbase.connections.tools import ApiRequest, Fetcher
from touchbase.history.events import Event

_PERSON = RecordShape(
    CONTACT, email=("EMAIL",), first_name=("NAME",), last_name=("LAST_NAME",), employer=("COMPANY_ID",), employer_type="company",
    linkedin=("LINKEDIN",), useful=("PHONE", "POST"),
)  # fmt: skip
SHAPES = {
    "contact": _PERSON, "lead": _PERSON,
    "company": RecordShape(COMPANY, domain=("WEB",), company=("TITLE",), useful=("PHONE", "INDUSTRY")),
}  # fmt: skip
_ACTIONS = {"add": CREATED, "update": UPDATED, "delete": DELETED}
_EVENT = re.compile(r"oncrm(contact|lead|company)(add|update|delete)")


def _make(target: FetchTarget) -> ApiRequest | None:
    connection = target.connection
    if target.word not in SHAPES or not target.ids[0].isdecimal():
        return None
    path = build_path("rest", connection.settings.api_user or "", connection.access_token or "", f"crm.{target.word}.get.json")
    return target.get(f"{path}?id={target.ids[0]}", {})


def _has_token(arrival: Arrival, secret: str, now: Micros) -> bool:
    return constant_time_equal(text(dig(fields(arrival), "auth", "application_token")), secret)


class Bitrix24(CrmAdapter):
    """Reads Bitrix24's webhooks."""

    tool = "bitrix24"
    words = ("lead",)
    detection_keys = frozenset({"event", "auth"})
    status: ClassVar[dict[str, tuple[str, ...]]] = {"lead": ("STATUS_ID",), "contact": (), "company": ()}
    signature_schemes = (Scheme("field `auth[application_token]` of the body: the secret itself", _has_token, reads_body=True),)
    fetcher: ClassVar[Fetcher | None] = ApiFetcher(
        "https://your-domain.bitrix24.com", 1, 60, _make, lambda data: [as_dict(data).get("result")], needs=("api_base", "api_user")
    )

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the event's name and the id among the fields."""
        name = text(body.get("event")) or ""
        if not name.upper().startswith("ON"):
            return 0
        return 95 if dig(body, "data", "FIELDS", "ID") is not None or isinstance(dig(body, "auth", "domain"), str) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the event of one record, whose values are still to be fetched."""
        name, number = text(body.get("event")) or "", text(dig(body, "data", "FIELDS", "ID"))
        event = _EVENT.fullmatch(name.lower())
        if event is None:
            return [other_event("ignored" if name else "unrecognised", name or None, None, number)]
        word, action = event.groups()
        item = CrmItem(SHAPES[word], _ACTIONS[action], word, number, name, parse_time(body.get("ts")), thin=True)
        return item.events()

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched record."""
        values = {name: first(next(iter(as_list(body.get(name))), None), "VALUE") for name in ("EMAIL", "PHONE", "WEB")}
        links = [text(dig(link, "VALUE")) or "" for link in (*as_list(body.get("WEB")), *as_list(body.get("IM")))]
        record = {**body, **values, "LINKEDIN": next((link for link in links if "linkedin.com" in link), None)}
        at = first_time(body, "DATE_MODIFY", "DATE_CREATE")
        item = CrmItem(SHAPES[word], UPDATED, word, text(body.get("ID")), "fetched", at, record=record)
        item.status = self.statuses(webhook, SHAPES[word].kind, word)
        return item.events()


ADAPTER = Bitrix24()
