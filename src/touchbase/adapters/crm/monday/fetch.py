"""monday.com: fetching items with their columns, many per request.

Reference: developer.monday.com, items and column values (read 2026-11-20). Everything is one GraphQL query; an error
may come with status 200 and a list of errors. A status column has the time at which it was set, so the status set last
is the item's, unless the client has named a column or the group.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from touchbase.adapters.kit.crm import DELETED, UPDATED, CrmItem, RecordShape
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget
from touchbase.adapters.kit.times import parse_time
from touchbase.common.timestamps import Micros
from touchbase.connections.tools import ApiRequest, FetchFailed
from touchbase.history.events import Event

QUERY = (
    "query ($ids: [ID!]) { items (ids: $ids, limit: 100) { id name state updated_at board { id } group { title } "
    "column_values { id type text value } } }"
)
_STATUS = ("color", "status")


def _make(target: FetchTarget) -> ApiRequest | None:
    if target.word != "item":
        return None
    body = {"query": QUERY, "variables": {"ids": list(target.ids)}}
    return target.post("/v2", {"authorization": target.connection.access_token}, body)


def _listed(answer: object) -> Iterable[object]:
    items = dig(answer, "data", "items")
    if not isinstance(items, list):
        waits = [dig(error, "extensions", "retry_in_seconds") for error in as_list(dig(answer, "errors"))]
        seconds = max((wait for wait in waits if isinstance(wait, int)), default=None)
        raise FetchFailed("the response has an error instead of items", retry_after=seconds)
    return items


FETCHER = ApiFetcher("https://api.monday.com", 100, 30, _make, _listed)


def read_fetched(body: Body, shape: RecordShape, statuses: tuple[str, ...] | None) -> list[Event]:
    """Read one item of a response; `statuses` is None unless the client has named the status column."""
    columns = [as_dict(column) for column in as_list(body.get("column_values"))]
    record: Body = {"name": body.get("name"), "group": dig(body, "group", "title")}
    times: dict[str, Micros | None] = {}
    for column in columns:
        name, kind, value = text(column.get("id")) or "", text(column.get("type")), _value(column)
        if kind in _STATUS:
            times[name] = parse_time(value.get("changed_at"))
        record[name] = column.get("text")
    for word, key in (("email", "email"), ("link", "url")):
        record[word] = [linked for column in columns if column.get("type") == word and (linked := _value(column).get(key))]
    if statuses is None:
        set_ones = [name for name in times if text(record[name]) is not None]
        statuses = tuple(sorted(set_ones, key=lambda name: (-(times[name] or 0), name)))
    what = UPDATED if body.get("state") in ("active", None) else DELETED
    at = parse_time(body.get("updated_at"))
    return CrmItem(shape, what, "item", text(body.get("id")), "fetched", at, record=record, status=statuses, status_at=times).events()


def _value(column: Body) -> Body:
    """Return a column's structured value, which is JSON in a text."""
    try:
        return as_dict(msgspec.json.decode(text(column.get("value")) or "{}"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
