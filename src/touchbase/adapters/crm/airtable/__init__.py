"""Airtable: notifications of its webhooks, the changes behind them, and fetching records; rows that an automation's script sends.

Reference: airtable.com, webhooks overview and list of payloads. A notification names a base and a webhook. The changes are a list that is
read by a cursor; they name tables and records, and the values of fields by ids. So the records are fetched: then fields have names, and
values of formulas and links are there too. The script is in docs/how-to/move-from-airtable.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar
from urllib.parse import quote

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, CrmItem, other_event
from touchbase.adapters.kit.crm_adapter import Body, chosen_kind
from touchbase.adapters.kit.crm_values import as_dict, as_list, query_parameter
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget, build_path
from touchbase.adapters.kit.open_tables import SHAPES, OpenTable, RowChange, read_row
from touchbase.adapters.kit.signatures import BASE64, Scheme, constant_time_equal, hmac_digest, unbase64
from touchbase.adapters.kit.times import parse_time
from touchbase.common.timestamps import Micros
from touchbase.connections.models import IGNORE, Arrival
from touchbase.connections.tools import ApiRequest, Fetcher
from touchbase.history.events import Event

CHANGES = "changes."
"""Before the id of a base: the type of the list of its changes, whose id is the webhook's."""
_CONTENT_MAC = "x-airtable-content-mac"
_RECORD = re.compile(r"rec\w{14}")


def _is_genuine(arrival: Arrival, secret: str, now: Micros) -> bool:
    key = unbase64(secret)
    signature = arrival.headers.get(_CONTENT_MAC, "").removeprefix("hmac-sha256=")
    return key is not None and constant_time_equal(signature.lower(), hmac_digest(key, arrival.body).hex())


def _make(target: FetchTarget) -> ApiRequest | None:
    if target.word.startswith(CHANGES):
        hook, _, cursor = target.ids[0].partition(":")
        path = build_path("v0", "bases", target.word.removeprefix(CHANGES), "webhooks", hook, "payloads")
        return target.get(f"{path}?limit=50&cursor={quote(cursor or '1', safe='')}", target.bearer())
    base, _, table = target.word.partition(".")
    return target.get(build_path("v0", base, table, target.ids[0]), target.bearer())


def _page_end(page: object) -> tuple[str, bool] | None:
    body = as_dict(page)
    cursor = text(body.get("cursor"))
    return None if "payloads" not in body or cursor is None else (cursor, body.get("mightHaveMore") is True)


def _listed(page: object) -> list[object]:
    body = as_dict(page)
    return [page] if "payloads" not in body or body["payloads"] else []


class Airtable(OpenTable):
    """Reads Airtable's notifications, lists of changes, records, and a script's rows."""

    tool = "airtable"
    detection_keys = frozenset({"base", "rows", _CONTENT_MAC})
    signature_schemes = (
        Scheme(f"header `{_CONTENT_MAC}`: HMAC-SHA256 of the body in hex, by the webhook's `macSecretBase64`", _is_genuine, form=BASE64),
    )
    fetcher: ClassVar[Fetcher | None] = ApiFetcher(
        "https://api.airtable.com", 1, 180, _make, _listed, list_type=CHANGES, page_end=_page_end
    )

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the ids of base and webhook, or of a script's records."""
        base, hook = _ids(body)
        return 95 if base.startswith("app") and hook.startswith("ach") else super().confidence(body, webhook)

    def changes(self, body: Body, webhook: ParsedWebhook) -> RowChange | None:
        """Return the rows that a script sends: their ids are Airtable's."""
        table, rows = text(body.get("table_name")), as_list(body.get("rows"))
        if table is None or not rows or not all(_RECORD.fullmatch(text(as_dict(row).get("id")) or "") for row in rows):
            return None
        return RowChange(UPDATED, table, table, rows, text(body.get("event")))

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return a script's rows; of a notification that the list of changes is to be read."""
        base, hook = _ids(body)
        if not base:
            return super().read(body, webhook)
        event = other_event("ignored", "notification", f"{CHANGES}{base}", hook)
        event.thin = True
        return [event]

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of a page of changes, or of one record."""
        if not word.startswith(CHANGES):
            return _record(body, kind, word, webhook, self.statuses(webhook, kind, word))
        base = word.removeprefix(CHANGES)
        payloads = map(as_dict, as_list(body.get("payloads")))
        return [event for payload in payloads for event in _changes(payload, base, webhook)]


def _ids(body: Body) -> tuple[str, str]:
    base, hook = (text(as_dict(body.get(name)).get("id")) or "" for name in ("base", "webhook"))
    return base, hook


def _changes(payload: Body, base: str, webhook: ParsedWebhook) -> Iterator[Event]:
    """Yield the events of one transaction of the base; its records are still to be fetched."""
    if payload.get("error") is True:
        yield other_event("unrecognised", f"{text(payload.get('code')) or 'error'}: make the webhook again, then load the table once")
        return
    at, number = parse_time(payload.get("timestamp")), text(payload.get("baseTransactionNumber"))
    for table, value in as_dict(payload.get("changedTablesById")).items():
        changes = as_dict(value)
        kind = _kind(webhook, table)
        for name, what, ids in (
            ("record.created", CREATED, [*as_dict(changes.get("createdRecordsById"))]),
            ("record.updated", UPDATED, [*as_dict(changes.get("changedRecordsById"))]),
            ("record.deleted", DELETED, [*filter(None, map(text, as_list(changes.get("destroyedRecordIds"))))]),
        ):
            for record in ids if kind != IGNORE else ():
                key = None if number is None else f"{base} {number} {record}"
                yield from CrmItem(SHAPES[kind], what, f"{base}.{table}", record, name, at, key, thin=True).events()


def _kind(webhook: ParsedWebhook, table: str) -> str:
    """Return the kind of a table's records: the client's choice by its id, else the address's, else contact."""
    kind = chosen_kind(webhook, table) or query_parameter(webhook.request.query, "object")
    return kind if kind in (COMPANY, IGNORE) else CONTACT


def _record(body: Body, kind: str, word: str, webhook: ParsedWebhook, status: tuple[str, ...]) -> list[Event]:
    # A record has no time of its last change, and what it has not is empty: such cells are left out.
    item = CrmItem(SHAPES[kind], UPDATED, word, text(body.get("id")), "fetched")
    # Columns of linked records have only ids of another table.
    cells = {column: value for column, value in as_dict(body.get("fields")).items() if not _is_linked(value)}
    item.record, item.status = read_row(cells, status, webhook)
    return item.events()


def _is_linked(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(_RECORD.fullmatch(text(part) or "") for part in value)


ADAPTER = Airtable()
