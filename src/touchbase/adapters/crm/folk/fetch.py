"""folk: fetching people and companies, one per request.

Reference: developer.folk.app, API reference (read 2026-11-20). A record has no change time. The status is a custom
field of a group; if several groups have one, that of the first group is used.
"""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.adapters.kit.crm import UPDATED, CrmItem, RecordShape
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget, build_path, single_record
from touchbase.adapters.kit.times import parse_time
from touchbase.connections.tools import ApiRequest
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
