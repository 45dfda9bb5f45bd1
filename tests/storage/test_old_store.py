"""Stores of revision 81a25171: upgraded on both engines, read back and used. Older ones are refused, with what to do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.storage.old_store import KEYS, make_old_postgres, make_old_sqlite
from tests.storage.schemas import postgres_schema, sqlite_schema

from touchbase.clients.sql.clients import list_clients
from touchbase.consistency.service import Verified, verify
from touchbase.encryption.encrypted_columns import check_encryption
from touchbase.erasure_marks import LINKEDIN, digest
from touchbase.errors import UnusableStore
from touchbase.history.events import Event, Translation
from touchbase.sql.migrations import SCHEMA, packaged
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.store import Store
from touchbase.storage.postgres.row_level_security import set_scope
from touchbase.storage.schema_state import schema_state
from touchbase.storage.sqlite.backup import back_up, read_backup
from touchbase.storage.sqlite.restore import staged_backup
from touchbase.stores import copy_store, open_store

LATER = [item.name for item in packaged("sqlite") if item.name != SCHEMA]
"""The migrations that a store of revision 81a25171 lacks."""
ACME = {"x-client-id": "acme"}
ANN, CID, EVE = 1, 3, 5
ZED = "zed@example.org"
"""Was erased."""
AFTER = 1_800_000_000_000_000
"""Later than everything in the old stores."""


@pytest.fixture(params=["sqlite", "postgresql"])
async def old_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an old store, once for each engine."""
    if request.param == "sqlite":
        return make_old_sqlite(tmp_path / "touchbase.db")
    return await make_old_postgres(str(request.getfixturevalue("empty_postgres_url")))


async def upgraded(url: str) -> Store:
    """Open the store at this address after `touchbase migrate`."""
    store = await open_store(url, as_is=True, encryption_keys=KEYS, copies=False)
    assert await store.migrate() == LATER
    await store.close()
    return await open_store(url, encryption_keys=KEYS)


async def run(url: str, sql: str) -> None:
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        connection.execute(sql)
        connection.close()
    else:
        server = await asyncpg.connect(url)
        await server.execute(set_scope(ALL_CLIENTS))
        await server.execute(sql)
        await server.close()


async def read(url: str, sql: str) -> list[tuple[Any, ...]]:
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        rows = list(connection.execute(sql))
        connection.close()
        return rows
    server = await asyncpg.connect(url)
    await server.execute(set_scope(ALL_CLIENTS))
    records = await server.fetch(sql)
    await server.close()
    return [tuple(record) for record in records]


async def differences(store: Store) -> list[str]:
    return [
        str(item) for client in await store.read(list_clients()) async for item in verify(store, client.number, Verified(), bodies=True)
    ]


async def rows(call: ApiClient, target: str) -> list[dict[str, Any]]:
    response = await call.get(target, **ACME)
    assert response.status == 200, response.body
    return list(response.json()["data"])


async def test_upgrade__gives_the_schema_of_a_new_store(old_url: str, tmp_path: Path, postgres_url: str) -> None:
    await (await upgraded(old_url)).close()

    if old_url.startswith("sqlite"):
        await (await open_store(f"sqlite:///{tmp_path}/new.db")).close()
        assert sqlite_schema(old_url.removeprefix("sqlite:///")) == sqlite_schema(f"{tmp_path}/new.db")
    else:
        assert await postgres_schema(old_url) == await postgres_schema(postgres_url)


async def test_upgrade__keeps_records_and_their_history(old_url: str, make_client: MakeClient) -> None:
    store = await upgraded(old_url)
    call = make_client(store)

    ann = (await call.get(f"/public/v2/contacts/{ANN}", **ACME)).json()
    [company] = await rows(call, "/public/v2/companies")
    timeline = await rows(call, f"/public/v2/contacts/{ANN}/timeline")
    contacts = await rows(call, "/public/v2/contacts")
    deleted = await rows(call, "/public/v2/contacts/deleted")
    named = await rows(call, "/public/v2/contacts?q=archer")
    no_differences = await differences(store)
    await store.close()

    assert (ann["email"], ann["last_name"], ann["external_id"], ann["company_id"]) == ("Ann@example.com", "Archer", "c-1", company["id"])
    assert (ann["contact_status"], ann["previous_status"], ann["last_reply_received"]) == ("new", "replied", "2026-11-21T09:00:00Z")
    assert {custom_field["field_name"]: custom_field["field_value"] for custom_field in ann["contact_custom_fields"]} == {
        "shoe": "39",
        "seat": "12",
    }
    assert (company["domain"], company["name"], company["company_status"]) == ("example.com", "Example", "prospect")
    assert [item["event"] for item in timeline] == ["contact.updated", "contact.created", "email_replied", "email_sent"]
    assert [contact["email"].partition("@")[0] for contact in contacts] == ["Ann", "bob", "cid", "dee", "fay"]
    assert [item["email"] for item in deleted] == ["eve@example.org"]
    assert [item["id"] for item in named] == [ANN]
    assert no_differences == []


PROFILES = {
    "linkedin.com/sales/lead/acwaa,name_search": "linkedin.com/in/acwaa",
    "linkedin.com/sales/people/acwaa,name_search,x": None,
    "linkedin.com/mwlite/in/cid/details": "linkedin.com/in/cid",
    "linkedin.com/company/acme": None,
    "jane on the network": None,
}
"""Keys of an old store -> those after the upgrade: of two contacts with one profile the first has it."""


async def test_upgrade__leaves_profiles_as_the_only_linkedin_keys(old_url: str) -> None:
    numbers = [number for (number,) in await read(old_url, "SELECT id FROM contact WHERE client = 1 ORDER BY id")]
    for number, key in zip(numbers, PROFILES, strict=True):
        await run(old_url, f"UPDATE contact SET linkedin_key = '{key}' WHERE id = {number}")

    await (await upgraded(old_url)).close()

    assert await read(old_url, "SELECT linkedin_key FROM contact WHERE client = 1 ORDER BY id") == [(key,) for key in PROFILES.values()]


LISTED = {
    "linkedin.com/sales/lead/acwaa,name_search,x1": "linkedin.com/in/acwaa",
    "linkedin.com/sales/people/acwbb": "linkedin.com/in/acwbb",
    "linkedin.com/sales/profile/17,x,y": "linkedin.com/in/17",
    "linkedin.com/mwlite/in/josé/details": "linkedin.com/in/josé",
    "linkedin.com/comm/in/m-in": "linkedin.com/in/m-in",
    "linkedin.com/in/pasted\u200b": "linkedin.com/in/pasted",
    "linkedin.com/recruiter/profile/4711,name": "linkedin.com/talent/4711",
    "linkedin.com/talent/profile/aem1": "linkedin.com/in/aem1",
    "linkedin.com/pub/ann/1/2/3/de": "linkedin.com/pub/ann/1/2/3",
    "linkedin.com/in/plain": "linkedin.com/in/plain",
    "linkedin.com/company/acme": "linkedin.com/company/acme",
}
"""Entries of a do-not-contact list of an old store -> those after the upgrade."""


def entry(number: int, value: str, removed_us: int = 0, reason: str | None = "legal", until_us: int | None = None, hashed: int = 0) -> str:
    shown = "NULL, 'api', '', 5" if reason is None else f"'{reason}', 'api', '', 5"
    return (
        "INSERT INTO suppression (client, kind, value, id, hashed, created_us, updated_us, removed_us, reason, source, note, since_us, "
        f"until_us) VALUES (1, 'linkedin_url', '{value}', {number}, {hashed}, 5, 5, {removed_us}, {shown}, {until_us or 'NULL'})"
    )


def cause(value: str, key: str, at_us: int, reason: str = "legal", until_us: int | None = None) -> str:
    return (
        "INSERT INTO suppression_cause (client, kind, value, key, reason, source, note, since_us, until_us, at_us) "
        f"VALUES (1, 'linkedin_url', '{value}', '{key}', '{reason}', 'api', '', 5, {until_us or 'NULL'}, {at_us})"
    )


async def test_upgrade__lists_profiles_whose_other_pages_were_listed(old_url: str, make_client: MakeClient) -> None:
    for number, value in enumerate(LISTED, 9_000):
        await run(old_url, entry(number, value))
        await run(old_url, cause(value, "", 5))
        await run(
            old_url,
            "INSERT INTO installation_suppression (kind, value, id, created_us, updated_us, reason, source, note, since_us) "
            f"VALUES ('linkedin_url', '{value}', {number + 100}, 5, 5, 'legal', 'api', '', 5)",
        )

    store = await upgraded(old_url)
    call = make_client(store)
    own = [row["value"] for row in await rows(call, "/public/v2/suppressions?kind=linkedin_url")]
    of_all = [row["value"] for row in await rows(call, "/admin/v1/suppressions?kind=linkedin_url")]
    url = "https://www.linkedin.com/sales/lead/ACwAA,NAME_SEARCH,zz"
    checked = await call.post("/public/v2/suppressions/check", {"items": [{"linkedin_url": url}]}, **ACME)
    await store.close()

    assert own == list(LISTED.values())
    assert of_all == list(LISTED.values())
    assert [item["reason"] for item in checked.json()["data"]] == ["legal"]
    assert await read(old_url, "SELECT value FROM suppression_cause WHERE kind = 'linkedin_url' ORDER BY value") == sorted(
        [(value,) for value in LISTED.values()]
    )


async def test_upgrade__joins_entries_of_one_profile_to_the_one_in_force_longest(old_url: str, make_client: MakeClient) -> None:
    page, mobile, profile = "linkedin.com/sales/lead/ann,a,b", "linkedin.com/mwlite/in/ann", "linkedin.com/in/ann"
    await run(old_url, entry(9_001, page))
    await run(old_url, cause(page, "", 5))
    await run(old_url, entry(9_002, profile, removed_us=100, reason=None))
    await run(old_url, cause(profile, "", 50, reason="competitor"))
    await run(old_url, cause(profile, "event", 60, reason="unsubscribed"))
    await run(old_url, entry(9_003, mobile, reason="other", until_us=AFTER))
    await run(old_url, cause(mobile, "later", 90, reason="other", until_us=AFTER))

    store = await upgraded(old_url)
    call = make_client(store)
    entries = await rows(call, "/public/v2/suppressions?kind=linkedin_url")
    causes = await read(old_url, "SELECT key, reason, at_us FROM suppression_cause WHERE kind = 'linkedin_url' ORDER BY key")
    added = await call.post("/public/v2/suppressions", {"entries": [{"value": f"https://{profile}", "reason": "legal"}]}, **ACME)
    again = await rows(call, "/public/v2/suppressions?kind=linkedin_url")
    await store.close()

    assert [(row["id"], row["value"], row["reason"], row["until"]) for row in entries] == [(9_001, profile, "legal", None)]
    assert causes == [("", "legal", 5), ("event", "unsubscribed", 0), ("later", "other", 90)]
    assert added.status == 200
    assert [(item["id"], item["reason"]) for item in again] == [(9_001, "legal")]


async def test_upgrade__gives_contacts_the_key_of_the_profile_in_their_text(old_url: str) -> None:
    texts = {
        "https://www.LinkedIn.com/comm/in/Ann?trk=x": "linkedin.com/in/ann",
        "linkedin.com/m/in/ann/": None,  # the first has it
        "https://www.linkedin.com/talent/profile/AEMx#top": "linkedin.com/in/aemx",
        "https://www.linkedin.com/company/acme": None,
        "jane on the network": None,
    }
    numbers = [number for (number,) in await read(old_url, "SELECT id FROM contact WHERE client = 1 ORDER BY id")]
    for number, text in zip(numbers, texts, strict=True):
        await run(old_url, f"UPDATE contact SET linkedin_url = '{text}', linkedin_key = NULL WHERE id = {number}")

    await (await upgraded(old_url)).close()

    assert await read(old_url, "SELECT linkedin_key FROM contact WHERE client = 1 ORDER BY id") == [(key,) for key in texts.values()]


async def test_upgrade__gives_contacts_with_addresses_a_first_one(old_url: str, make_client: MakeClient) -> None:
    at, key = 1_795_990_000_000_000, "api:803c8235f21f9382:9"
    unset = f'email = NULL, email_key = NULL, updated_us = {at}, stamps = \'{{"email":[1,{at},"{key}"]}}\''
    await run(old_url, f"UPDATE contact SET {unset} WHERE client = 1 AND id = {CID}")
    columns = "client, record_kind, record_id, occurred_us, key, event, effect, status, tool, channel, received_us, via, detail"
    values = f"1, 1, {CID}, {at}, '{key}', 'contact.updated', '', NULL, 'api', 'api', {at}, 0, '{{\"fields\":{{\"email\":null}}}}'"
    await run(old_url, f"INSERT INTO event ({columns}) VALUES ({values})")

    store = await upgraded(old_url)
    call = make_client(store)
    cid = (await call.get(f"/public/v2/contacts/{CID}", **ACME)).json()
    named = [[row["id"] for row in await rows(call, f"/public/v2/contacts?email={email}")] for email in cid["emails"]]
    no_differences = await differences(store)
    replaced = await call.patch(f"/public/v2/contacts/{CID}", {"email": "cid@new.example.org"}, **ACME)
    no_differences += await differences(store)
    await store.close()

    assert (cid["email"], cid["emails"]) == ("cid@example.org", ["cid@example.org", "cid@other.example.org"])
    assert named == [[CID], [CID]]
    assert (replaced.status, replaced.json()["email"]) == (200, "cid@new.example.org")
    assert no_differences == []


async def test_upgraded_store__recognises_erased_people_by_the_hash_of_a_former_key(old_url: str, make_client: MakeClient) -> None:
    former, url = ("", LINKEDIN, "linkedin.com/sales/lead/acwzz,name_search,x1"), "https://linkedin.com/sales/lead/ACwZZ,NAME_SEARCH,x1?a=b"
    [(secret,)] = await read(old_url, "SELECT value FROM server_secret WHERE name = 'erasure'")
    mark, hashed = digest(bytes(secret), 1, former).hex(), f"hmac-sha256:{digest(bytes(secret), 1, former).hex()}"
    as_bytes = f"x'{mark}'" if old_url.startswith("sqlite") else rf"'\x{mark}'"
    await run(old_url, f"INSERT INTO erased (client, digest, erasure, derived, erased_us) VALUES (1, {as_bytes}, 77, 0, 5)")
    await run(old_url, entry(9_001, hashed, hashed=1))

    store = await upgraded(old_url)
    call = make_client(store)
    created = await call.post("/public/v2/contacts", {"linkedin_url": url}, **ACME)
    await call.post("/public/crm-webhook/acme", {"of": "zed"})
    event = Event("contact_changed", AFTER, None, key="z", linkedin_url=url)
    await store.work(1, 10, lambda delivery: Translation("hubspot", [event]), AFTER)
    newest = (await rows(call, "/admin/v1/deliveries"))[0]
    checked = await call.post("/public/v2/suppressions/check", {"items": [{"linkedin_url": url}]}, **ACME)
    matched = await call.post("/public/v2/contacts/match", {"items": [{"linkedin_url": url}]}, **ACME)
    restored = await call.post("/public/v2/contacts?restore_erased=true", {"linkedin_url": url}, **ACME)
    await store.close()

    assert (created.status, created.json()["code"]) == (409, "person_erased")
    assert newest["state"] == "ignored"
    assert [item["reason"] for item in checked.json()["data"]] == ["legal"]
    assert [item["suppressed"] for item in matched.json()["data"]] == ["legal"]
    assert (restored.status, restored.headers["touchbase-suppressed"]) == (201, "legal")


async def test_upgrade__keeps_what_surrounds_records(old_url: str, make_client: MakeClient) -> None:
    store = await upgraded(old_url)
    call = make_client(store)

    clients = {row["name"]: row for row in await rows(call, "/admin/v1/clients")}
    [key] = await rows(call, "/admin/v1/keys")
    deliveries = await rows(call, "/admin/v1/deliveries")
    refusals = await rows(call, "/admin/v1/refusals")
    connections = await rows(call, "/admin/v1/clients/acme/connections")
    suppressions = await rows(call, "/public/v2/suppressions")
    [installation] = await rows(call, "/admin/v1/suppressions")
    [endpoint] = await rows(call, "/public/v2/webhook-endpoints")
    jobs = await rows(call, "/public/v2/jobs")
    messages = await rows(call, "/public/v2/messages")
    fields = await rows(call, "/public/v2/custom-fields/contacts")
    encryption = await store.read(check_encryption())
    await store.close()

    assert sorted(clients) == ["Acme", "Beta"]
    assert (key["name"], key["scopes"]) == ("reader", ["records:read"])
    assert [delivery["state"] for delivery in deliveries] == ["parked", "unrecognised", "unrecognised", *["applied"] * 4]
    assert [refusal["cause"] for refusal in refusals] == ["unknown_client", "not_verified"]
    assert [(connection["tool"], connection["secret"]) for connection in connections] == [("hubspot", "not set"), ("instantly", "set")]
    assert [(suppression["value"], suppression["reason"]) for suppression in suppressions] == [
        ("bob@example.com", "unsubscribed"),
        ("competitor.example", "other"),
    ]
    assert installation["value"] == "never@example.net"
    assert (endpoint["url"], endpoint["state"]) == ("https://hooks.example.com/touchbase", "disabled")
    assert [(job["kind"], job["state"]) for job in jobs] == [("contacts.import", "succeeded"), ("contacts.link_companies", "succeeded")]
    assert [message["subject"] for message in messages] == ["By hand", "Re: Hello", "Hello"]
    assert [field["name"] for field in fields] == ["seat", "shoe", "size"]
    assert (sum(encryption.by_key.values()) > 0, encryption.lost, encryption.clear) == (True, [], 0)


async def test_upgraded_store__takes_writes_and_remembers_erasures_and_answered_requests(old_url: str, make_client: MakeClient) -> None:
    store = await upgraded(old_url)
    call = make_client(store)

    created = await call.post("/public/v2/contacts", {"email": "new@example.org"}, **ACME)
    body = {"email": "Ann@example.com", "first_name": "Ann", "contact_status": "new", "external_id": "c-1"}
    body |= {"contact_custom_fields": [{"field_name": "shoe", "field_value": "39"}]}
    repeated = await call.post("/public/v2/contacts", body, **ACME, idempotency_key="create-ann")
    restored = await call.post(f"/public/v2/contacts/{EVE}/restore", **ACME)
    undone = await call.post(f"/public/v2/contacts/{CID}/merge/1/undo", **ACME)
    received = await call.post("/public/crm-webhook/acme", {"of": "zed"})
    await store.work(1, 10, lambda delivery: Translation("hubspot", [Event("contact_changed", AFTER, ZED, key="z")]), AFTER)
    newest = (await rows(call, "/admin/v1/deliveries"))[0]
    emails = [row["email"] for row in await rows(call, "/public/v2/contacts")]
    no_differences = await differences(store)
    await store.close()

    assert (created.status, created.json()["id"] > 9) == (201, True)
    assert (repeated.status, repeated.json()["id"]) == (201, ANN)
    assert (restored.status, undone.status) == (200, 200)
    assert (received.status, newest["state"]) == (200, "ignored")
    assert ("eve@example.org" in emails, "cid@other.example.org" in emails, ZED in emails) == (True, True, False)
    assert no_differences == []


async def test_sqlite_server__upgrades_an_old_store_as_it_opens_it_and_copies_it_before(tmp_path: Path) -> None:
    url = make_old_sqlite(tmp_path / "touchbase.db")

    store = await open_store(url, encryption_keys=KEYS)
    [warning] = store.warnings
    await store.close()

    [copy] = tmp_path.glob(f"touchbase.db.before-{LATER[-1][:4]}-*Z")  # noqa: ASYNC240
    assert str(copy) in warning
    assert read_backup(copy).schema == "0018_moves"
    assert read_backup(tmp_path / "touchbase.db").schema == LATER[-1]


async def test_postgres_server__refuses_an_old_database_until_migrate_is_run(empty_postgres_url: str) -> None:
    url = await make_old_postgres(empty_postgres_url)

    with pytest.raises(UnusableStore, match=rf"has pending migrations: {LATER[0]}.*; run touchbase migrate"):
        await open_store(url, encryption_keys=KEYS)
    await (await upgraded(url)).close()


def test_sqlite_upgrade__happens_once_when_several_processes_start(tmp_path: Path) -> None:
    url = make_old_sqlite(tmp_path / "touchbase.db")
    copies: list[str] = []
    failures: list[BaseException] = []

    async def open_and_close() -> None:
        store = await open_store(url, encryption_keys=KEYS)
        copies.extend(store.warnings)
        await store.close()

    _at_once(lambda: asyncio.run(open_and_close()), failures)

    assert (failures, len(copies)) == ([], 1)
    assert read_backup(tmp_path / "touchbase.db").schema == LATER[-1]


def _at_once(start: Callable[[], None], failures: list[BaseException]) -> None:
    def watched() -> None:
        try:
            start()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=watched) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def test_postgres_upgrade__happens_once_when_several_processes_migrate(empty_postgres_url: str) -> None:
    url = await make_old_postgres(empty_postgres_url)
    stores = [await open_store(url, as_is=True, encryption_keys=KEYS) for _ in range(4)]

    ran = await asyncio.gather(*(store.migrate() for store in stores))

    assert sorted(name for names in ran for name in names) == LATER
    for store in stores:
        assert len(await store.read(list_clients())) == 2
        await store.close()


TOO_OLD = (
    r"the store is too old for this version: its last migration is {}\. "
    r"Install revision 81a25171, run its `touchbase migrate`, then that of this version \(docs/how-to/upgrade\.md\)"
)


@pytest.mark.parametrize(
    ("sql", "last"),
    [
        ("DELETE FROM migration WHERE name > '0017_cells'", "0017_cells"),
        ("UPDATE migration SET name = '0021_order_of_creation' WHERE name = '0018_moves'", "0021_order_of_creation"),
        ("UPDATE migration SET digest = 'another' WHERE name = '0013_messages'", "0018_moves"),
    ],
    ids=["part", "earlier names", "another text"],
)
async def test_older_store__is_refused_with_the_revision_that_upgrades_it(old_url: str, tmp_path: Path, sql: str, last: str) -> None:
    await run(old_url, sql)
    refusal = TOO_OLD.format(last)

    with pytest.raises(UnusableStore, match=refusal):
        await open_store(old_url, encryption_keys=KEYS)
    with pytest.raises(UnusableStore, match=refusal):
        await copy_store(old_url, f"sqlite:///{tmp_path}/copy.db", KEYS, lambda step, table, done, total: None)
    with pytest.raises(UnusableStore, match=refusal):
        await schema_state(old_url)
    store = await open_store(old_url, as_is=True, encryption_keys=KEYS)
    with pytest.raises(UnusableStore, match=refusal):
        await store.migrate()
    await store.close()


async def test_restore__refuses_a_backup_of_an_older_store(tmp_path: Path) -> None:
    await run(make_old_sqlite(tmp_path / "touchbase.db"), "DELETE FROM migration WHERE name > '0017_cells'")
    back_up(tmp_path / "touchbase.db", tmp_path / "b.db", "0", 5, lambda done, total: None)

    with pytest.raises(UnusableStore, match=TOO_OLD.format("0017_cells")), staged_backup(tmp_path / "b.db", tmp_path / "c.db"):
        pass


async def test_upgrade__suppresses_everybody_who_has_opted_out(old_url: str, make_client: MakeClient) -> None:
    """By a status that made no entry then, by a former address, and by that of a merged contact."""
    numbers = [number for (number,) in await read(old_url, "SELECT id FROM contact WHERE client = 1 ORDER BY id")]
    status, former, free = numbers[0], numbers[1], numbers[2]
    await run(old_url, "UPDATE contact SET status = NULL WHERE client = 1")
    await run(old_url, f"UPDATE contact SET status = 'Do Not Contact' WHERE id = {status}")
    await run(old_url, "DELETE FROM suppression_cause")
    await run(old_url, "DELETE FROM suppression")
    await run(
        old_url,
        "INSERT INTO suppression (client, kind, value, id, hashed, created_us, updated_us, removed_us, reason, source, note, since_us) "
        "VALUES (1, 'email', 'former@example.org', 900, 0, 1, 1, 0, 'unsubscribed', 'event', '', 1)",
    )
    link = f"(1, '', 'email', 'former@example.org', 901, 1, {former})"
    await run(old_url, f"INSERT INTO link (client, tool, object_type, object_id, id, record_kind, record_id) VALUES {link}")

    store = await upgraded(old_url)
    call = make_client(store)
    results = [(await call.get(f"/public/v2/contacts/{number}/suppression", **ACME)).json() for number in (status, former, free)]
    entries = await rows(call, "/public/v2/suppressions?reason=status")
    await call("PATCH", f"/public/v2/contacts/{status}", {"contact_status": "new"}, **ACME)
    after = (await call.get(f"/public/v2/contacts/{status}/suppression", **ACME)).json()
    saved = await call.post("/public/v2/suppressions", {"value": "new@example.org"}, **ACME)
    await store.close()

    assert [(item["suppressed"], item["reason"]) for item in results] == [(True, "status"), (True, "unsubscribed"), (False, None)]
    assert [(row["source"], row["note"]) for row in entries] == [("api", "status 'Do Not Contact'")]
    assert (after["suppressed"], saved.status) == (True, 201)
