"""HubSpot: asking for contacts and companies, many at once.

Reference: developers.hubspot.com, CRM objects, batch read (read 2026-11-20). With the history of a property, which tells
when the status was set, a call may name 50 records. Those that are not there are left out of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from touchbase.adapters.crm.hubspot.objects import SHAPES
from touchbase.adapters.kit.crm import UPDATED, Item
from touchbase.adapters.kit.crm_adapter import Body, statuses_of
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, text
from touchbase.adapters.kit.fetch import ApiFetcher, Asked, path_of
from touchbase.adapters.kit.linkedin import LINKEDIN
from touchbase.adapters.kit.times import moment, when
from touchbase.connections.tools import ApiRequest
from touchbase.history.events import Event

STATUS: Mapping[str, tuple[str, ...]] = {
    "contact": ("lifecyclestage", "hs_lead_status"),
    "company": ("lifecyclestage", "hs_lead_status"),
}
_PLACES = {"contact": "contacts", "company": "companies"}
_OWN_KIND = re.compile(r"\d+-\d+", re.ASCII)
_NEVER_ASKED = ("identity", "associated_domain", "associated_name", "associated_id", LINKEDIN)
_TIMES = ("lastmodifieddate", "hs_lastmodifieddate")


def _make(asked: Asked) -> ApiRequest | None:
    place = _PLACES.get(asked.word) or (asked.word if _OWN_KIND.fullmatch(asked.word) else None)
    if place is None:
        return None
    shape, statuses = SHAPES[asked.kind], statuses_of(STATUS, asked.connection.settings, asked.kind, asked.word)
    names = [*shape.own, *(shape.useful or ()), *shape.domain, *shape.employer, *_TIMES]
    body = {
        "properties": sorted({*names, *statuses} - {*_NEVER_ASKED}),
        "propertiesWithHistory": list(statuses),
        "inputs": [{"id": one} for one in asked.ids],
    }
    return asked.post(f"{path_of('crm', 'v3', 'objects', place)}/batch/read", asked.bearer(), body)


FETCHER = ApiFetcher("https://api.hubapi.com", 50, 120, _make, lambda answer: as_list(as_dict(answer).get("results")))


def read_fetched(body: Body, kind: str, word: str, statuses: tuple[str, ...]) -> list[Event]:
    """One record of an answer. The status set last is the record's, and counts from when it was set."""
    record = as_dict(body.get("properties"))
    at = moment(record, *_TIMES) or moment(body, "updatedAt")
    item = Item(SHAPES[kind], UPDATED, word, text(body.get("id")), "fetched", at, record=record, status=statuses)
    versions = as_dict(body.get("propertiesWithHistory"))
    item.status_at = {name: _newest(versions.get(name)) for name in statuses}
    item.status = tuple(sorted(statuses, key=lambda name: -(item.status_at[name] or 0)))
    return item.events()


def _newest(versions: object) -> int | None:
    times = [at for one in as_list(versions) if (at := when(dig(one, "timestamp"))) is not None]
    return max(times, default=None)
