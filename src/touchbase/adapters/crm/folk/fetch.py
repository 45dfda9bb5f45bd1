"""folk: asking for people and companies, one at a time.

Reference: developer.folk.app, API reference (read 2026-11-20). A record does not say when it changed. The status is a
custom field of a group; where several groups have one, that of the first group counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.adapters.kit.crm import UPDATED, Item, Shape
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.fetch import ApiFetcher, Asked, inner, path_of
from touchbase.adapters.kit.times import when
from touchbase.connections.tools import ApiRequest
from touchbase.history.events import Event

_PLACES = {"person": "people", "company": "companies"}


def _make(asked: Asked) -> ApiRequest | None:
    if asked.word not in _PLACES:
        return None
    return asked.get(path_of("v1", _PLACES[asked.word], asked.ids[0]), asked.bearer())


FETCHER = ApiFetcher("https://api.folk.app", 1, 120, _make, inner)


def read_record(body: Body, word: str, statuses: tuple[str, ...], shapes: Mapping[str, Shape], source: str | None) -> list[Event]:
    """One record. folk's own tell no time, but some relays' do."""
    groups = as_dict(body.get("customFieldValues"))
    custom: Body = {}
    for _, fields in sorted(groups.items(), reverse=True):
        custom |= {name: value for name, value in as_dict(fields).items() if value is not None}
    at, record = when(body.get("updatedAt")), {**custom, **body}
    return Item(shapes[word], UPDATED, word, text(body.get("id")), source, at, record=record, status=statuses).events()
