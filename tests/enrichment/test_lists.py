"""Lists of changes that are read by a cursor: Airtable's, from a small server that speaks its published API."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.enrichment.fake_tool_api import ADAPTERS, NOON, TOKEN, FakeResponse, FetchSetup, ReceivedRequest, setup_with_api

from touchbase.adapters.kit.signatures import hmac_digest
from touchbase.common.timestamps import to_text
from touchbase.connections.models import Arrival, Connection
from touchbase.history.events import CONTACT
from touchbase.history.sql import get_history
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.sql.store import Store

BASE, HOOK, PEOPLE, FIRMS = "app0123456789abcd", "ach0123456789abcd", "tblPeople00000000", "tblFirms000000000"
ANN, BOB, ACME = "recAnn00000000000", "recBob00000000000", "recAcme0000000000"
PING = {"base": {"id": BASE}, "webhook": {"id": HOOK}, "timestamp": to_text(NOON)}
PAYLOADS = re.compile(rf"/v0/bases/{BASE}/webhooks/{HOOK}/payloads")


@dataclass
class Airtable:
    """A base: its records by table, and the payloads of its webhook."""

    records: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    payloads: list[dict[str, Any]] = field(default_factory=list)
    page: int = 50
    refusal: int = 0

    def change(self, table: str, record: str, **cells: Any) -> None:
        """Change or create a record, and note it as the webhook does, by ids of fields."""
        is_new = record not in self.records.setdefault(table, {})
        self.records[table].setdefault(record, {}).update({name.replace("_", " "): value for name, value in cells.items()})
        values = {"cellValuesByFieldId": {f"fld{number:014}": value for number, value in enumerate(cells.values())}}
        what = {"createdRecordsById": {record: {"createdTime": to_text(NOON), **values}}}
        self._note(table, what if is_new else {"changedRecordsById": {record: {"current": values}}})

    def destroy(self, table: str, record: str) -> None:
        del self.records[table][record]
        self._note(table, {"destroyedRecordIds": [record]})

    def _note(self, table: str, what: dict[str, Any]) -> None:
        number = len(self.payloads) + 1
        self.payloads.append(
            {"timestamp": to_text(NOON), "baseTransactionNumber": number, "payloadFormat": "v0", "changedTablesById": {table: what}}
        )

    def respond(self, request: ReceivedRequest) -> FakeResponse:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return 401, {"error": {"type": "AUTHENTICATION_REQUIRED"}}
        if self.refusal:
            return self.refusal, {"error": {"type": "REFUSED"}}
        url = urlsplit(request.path)
        if PAYLOADS.fullmatch(url.path):
            query = parse_qs(url.query)
            first = int(query["cursor"][0]) - 1
            page = self.payloads[first : first + min(self.page, int(query["limit"][0]))]
            last = first + len(page)
            return 200, {"payloads": page, "cursor": last + 1, "mightHaveMore": last < len(self.payloads)}
        _, _, base, table, record = url.path.split("/")
        cells = self.records.get(table, {}).get(record) if base == BASE else None
        if cells is None:
            return 404, {"error": "NOT_FOUND"}
        return 200, {"id": record, "createdTime": to_text(NOON), "fields": cells}


async def people(setup: FetchSetup) -> dict[str | None, Any]:
    rows = await setup.store.read(list_records(Listing(CONTACT_TYPE, setup.client, 50)))
    return {row.email: row for row in rows}


def paths(requests: list[ReceivedRequest]) -> list[str]:
    return [urlsplit(request.path).path.rpartition("/")[2] + request.path.partition("cursor")[2] for request in requests]


async def test_notification__brings_the_rows_of_all_changes_since_the_cursor(store: Store) -> None:
    base = Airtable(page=2)
    async with setup_with_api(store, base.respond) as (setup, api):
        await setup.connect("airtable", api.base, objects={FIRMS: "company"}, fields={"email": "Work mail", "custom.Tier": "Level"})
        base.change(PEOPLE, ANN, Work_mail="ann@example.com", First_name="Ann", Level="A", Status="Lead", Company=[ACME])
        base.change(PEOPLE, BOB, Work_mail="bob@example.com")
        base.change(FIRMS, ACME, Name="Acme", Website="https://acme.example")
        await setup.receive(PING)
        for _ in range(3):
            await setup.work()

        contacts = await people(setup)
        assert contacts.keys() == {"ann@example.com", "bob@example.com"}
        ann = contacts["ann@example.com"]
        assert (ann.first_name, ann.status) == ("Ann", "Lead")
        assert {value.name: value.value for value in ann.custom_fields} == {"Tier": "A"}
        [firm] = await store.read(list_records(Listing(COMPANY_TYPE, setup.client, 50)))
        assert (firm.domain, firm.name) == ("acme.example", "Acme")
        assert sorted(paths(api.requests)) == sorted(["payloads=1", "payloads=3", ACME, ANN, BOB])

        before = len(api.requests)
        base.change(PEOPLE, ANN, Status="Customer")
        await setup.receive(PING | {"timestamp": to_text(setup.clock())})
        for _ in range(3):
            await setup.work()
        assert paths(api.requests[before:]) == ["payloads=4", ANN]
        assert (await people(setup))["ann@example.com"].status == "Customer"
        state = await setup.fetching("airtable")
        assert (state.wanted, state.not_found, state.error) == (0, 0, None)


async def test_lost_notification__is_caught_up_and_a_deletion_is_listed(store: Store) -> None:
    base = Airtable()
    async with setup_with_api(store, base.respond) as (setup, api):
        await setup.connect("airtable", api.base)
        base.change(PEOPLE, ANN, Email="ann@example.com")
        await setup.receive(PING)
        for _ in range(3):
            await setup.work()
        base.change(PEOPLE, BOB, Email="bob@example.com")
        base.destroy(PEOPLE, ANN)
        assert await setup.work() == 0

        setup.clock.move(600)
        for _ in range(3):
            await setup.work()

        contacts = await people(setup)
        assert "bob@example.com" in contacts
        history = await store.read(get_history(setup.client, CONTACT, contacts["ann@example.com"].id, 50))
        assert "contact.deleted" in {entry.event for entry in history}


async def test_webhook_that_ended__is_said_on_the_connection(store: Store) -> None:
    base = Airtable(refusal=404)
    async with setup_with_api(store, base.respond) as (setup, api):
        await setup.connect("airtable", api.base)
        await setup.receive(PING)
        await setup.work()
        state = await setup.fetching("airtable")
        assert state.not_found == 1
        assert "make its webhook again" in str(state.error)

        base.refusal = 401
        await setup.receive(PING | {"timestamp": to_text(setup.clock())})
        await setup.work()
        assert (await setup.fetching("airtable")).stopped


def test_signature_of_a_notification__is_that_of_the_decoded_secret() -> None:
    key, body = b"a-key-of-thirty-two-bytes-exactly", b'{"base":{"id":"app1"}}'
    connection = Connection(1, "crm", "airtable", 0, 0, [b64encode(key).decode()])
    for signature, is_genuine in ((hmac_digest(key, body).hex(), True), (hmac_digest(b64encode(key), body).hex(), False), ("", False)):
        arrival = Arrival("crm", "POST", "/", {"x-airtable-content-mac": f"hmac-sha256={signature}"}, "", body)
        assert ADAPTERS.verify_signature(connection, arrival, NOON) is is_genuine
