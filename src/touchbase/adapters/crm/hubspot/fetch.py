"""HubSpot: fetching contacts and companies, many per request.

Reference: developers.hubspot.com, CRM objects, batch read (read 2026-11-20). With the history of a property, which
shows when the status was set, a request may have 50 ids. Missing records are left out of the response.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from touchbase.adapters.crm.hubspot.objects import SHAPES
from touchbase.adapters.crm.hubspot.written import set_by_others
from touchbase.adapters.kit.crm import UPDATED, CrmItem
from touchbase.adapters.kit.crm_adapter import Body, statuses_of
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget, build_path
from touchbase.adapters.kit.linkedin import LINKEDIN
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.connections.tools import ApiRequest
from touchbase.history.events import Event

STATUS: Mapping[str, tuple[str, ...]] = {
    "contact": ("lifecyclestage", "hs_lead_status"),
    "company": ("lifecyclestage", "hs_lead_status"),
}
_OPT_OUTS = {"contact": ("hs_email_optout",)}
_PLACES = {"contact": "contacts", "company": "companies"}
_OWN_KIND = re.compile(r"\d+-\d+", re.ASCII)
_NOT_FETCHED = ("identity", "associated_domain", "associated_name", "associated_id", LINKEDIN)
_TIMES = ("lastmodifieddate", "hs_lastmodifieddate")


def _make(target: FetchTarget) -> ApiRequest | None:
    place = _PLACES.get(target.word) or (target.word if _OWN_KIND.fullmatch(target.word) else None)
    if place is None:
        return None
    shape, statuses = SHAPES[target.kind], statuses_of(STATUS, target.connection.settings, target.kind, target.word)
    names = [*shape.own, *(shape.useful or ()), *shape.domain, *shape.employer, *_TIMES, *_OPT_OUTS.get(target.kind, ())]
    body = {
        "properties": sorted({*names, *statuses} - {*_NOT_FETCHED}),
        "propertiesWithHistory": list(statuses),
        "inputs": [{"id": object_id} for object_id in target.ids],
    }
    return target.post(f"{build_path('crm', 'v3', 'objects', place)}/batch/read", target.bearer(), body)


FETCHER = ApiFetcher("https://api.hubapi.com", 50, 120, _make, lambda answer: as_list(as_dict(answer).get("results")))


def read_fetched(body: Body, kind: str, word: str, statuses: tuple[str, ...], written: str | None = None) -> list[Event]:
    """Read one record of a response. The status set last is used, with the time at which it was set.

    Of `written`, the property that Touchbase writes, the value is used that a person or a workflow set last.
    """
    record, versions = as_dict(body.get("properties")), as_dict(body.get("propertiesWithHistory"))
    if written is not None:
        theirs = set_by_others(versions.get(written))
        newest = max(theirs, key=lambda body: parse_time(body.get("timestamp")) or 0, default=None)
        record = {**record, written: None if newest is None else newest.get("value")}
        versions = {**versions, written: theirs}
    at = first_time(record, *_TIMES) or first_time(body, "updatedAt")
    item = CrmItem(SHAPES[kind], UPDATED, word, text(body.get("id")), "fetched", at, record=record, status=statuses)
    item.status_at = {name: _newest(versions.get(name)) for name in statuses}
    item.status = tuple(sorted(statuses, key=lambda name: -(item.status_at[name] or 0)))
    return item.events()


def _newest(versions: object) -> int | None:
    times = [at for version in as_list(versions) if (at := parse_time(dig(version, "timestamp"))) is not None]
    return max(times, default=None)
