"""The filter of an endpoint: trees of the search capability, asked of the store for the record of an event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from touchbase.clients.models import Client, ClientSettings
from touchbase.clients.sql.clients import find_client_by_number
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault
from touchbase.outgoing.models import Endpoint, Record
from touchbase.records.record_type import RECORD_TYPES
from touchbase.search.service import filter_parser
from touchbase.search.sql.plans import matches_filter
from touchbase.sql.store import Store

NAMES = {kind.name: number for number, kind in RECORD_TYPES.items()}
"""Member of a filter -> kind of record."""


FILTER_BYTES = 65_536
"""Bytes of the filter of one endpoint: all endpoints of a client are listed, and read, at once."""


def filter_faults(trees: Mapping[str, Any], settings: ClientSettings, now: Micros) -> list[Fault]:
    """Return the faults of a filter."""
    faults: list[Fault] = []
    if (size := len(msgspec.json.encode(trees))) > FILTER_BYTES:
        faults.append(Fault("/filter", "too_long", f"must have at most {FILTER_BYTES:,} bytes of JSON, and has {size:,}"))
        return faults
    for name, tree in trees.items():
        if name in NAMES:
            filter_parser(NAMES[name], settings, now, faults).json(tree, f"/filter/{name}")
        else:
            faults.append(Fault(f"/filter/{name}", "unknown", 'must be "contact" or "company", each with a filter tree'))
    return faults


class UnreadableFilter(Exception):
    """A stored filter that is not valid now: its limits have changed, or the fields that it names. It must not match everything."""


async def wants(store: Store, endpoint: Endpoint, record: Record, now: Micros) -> bool:
    """Return whether an endpoint wants events of a record: it matches the filter, or does not exist any more.

    Raises `UnreadableFilter`.
    """
    kind, number = record
    tree = endpoint.filter.get(RECORD_TYPES[kind].name) if kind in RECORD_TYPES else None
    if tree is None:
        return True
    client: Client | None = await store.read(find_client_by_number(endpoint.client))
    settings = ClientSettings() if client is None else client.settings
    faults: list[Fault] = []
    node = filter_parser(kind, settings, now, faults).json(tree, f"/filter/{RECORD_TYPES[kind].name}")
    if faults:
        raise UnreadableFilter(f"{faults[0].pointer} {faults[0].detail}")
    return await store.read(matches_filter(endpoint.client, kind, number, node))
