"""dry_run=true on creates, changes, upserts and batches: what would change, and no row does."""

from __future__ import annotations

import asyncio
import tempfile
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, Clock
from tests.conftest import ExecuteSql
from tests.records.test_batch import COMMANDS, SINGLE, alone, create, upsert

from touchbase.http.app import Dependencies
from touchbase.storage import open_store

CONTACTS, COMPANIES = "/public/v2/contacts", "/public/v2/companies"
SEATS = [{"field_name": "Seats", "field_value": "4"}]


async def rows(execute_sql: ExecuteSql, sqlite: bool) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    listing = (
        "SELECT name FROM sqlite_schema WHERE type = 'table'" if sqlite else "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    )
    tables = [row[0] for row in await execute_sql(listing)]
    return {table: sorted(repr(row) for row in await execute_sql(f"SELECT * FROM {table}")) for table in tables}


def changes(reply: Any) -> dict[str, tuple[Any, Any]]:
    return {each["field"]: (each["previous"], each["value"]) for each in reply.json()["changed"]}


async def test_dry_run__answers_what_would_change_and_stores_nothing(call: ApiClient, execute_sql: ExecuteSql, engine_url: str) -> None:
    sqlite = engine_url.startswith("sqlite")
    await call.post(COMPANIES, {"domain": "example.com"})
    await call.post(CONTACTS, {"email": "jane@example.com", "first_name": "Jane", "contact_status": "new", "contact_custom_fields": SEATS})
    before = await rows(execute_sql, sqlite)
    later = call.clock.move(5)

    made = await call.post(
        f"{CONTACTS}?dry_run=true", {"email": "new@example.com", "contact_status": "new", "contact_custom_fields": SEATS}
    )
    more = [{"field_name": "Seats", "field_value": None}, {"field_name": "Team", "field_value": "A"}]
    body = {"contact_status": "won", "company_id": "example.com", "first_name": "Jane", "contact_custom_fields": more}
    changed = await call.patch(f"{CONTACTS}/1?dry_run=true", body)
    merged = await call.post(f"{CONTACTS}?dry_run=true&on_duplicate=update", {"email": "jane@example.com", "last_name": "Doe"})
    returned = await call.post(f"{CONTACTS}?dry_run=true&on_duplicate=return", {"email": "jane@example.com", "last_name": "Doe"})
    put = [await call("PUT", f"{path}?dry_run=true", body) for path, body in (
        (CONTACTS, {"email": "jane@example.com", "first_name": None}), (COMPANIES, {"domain": "other.example", "name": "Other"}),
    )]  # fmt: skip
    refused = [
        await call.post(f"{CONTACTS}?dry_run=true", {"email": "JANE@example.com"}),
        await call.post(f"{CONTACTS}?dry_run=true", {"email": "nonsense"}),
        await call.patch(f"{CONTACTS}/9?dry_run=true", {"first_name": "x"}),
        await call.post(f"{CONTACTS}?dryrun=true", {"email": "real@example.com"}),
    ]

    assert (made.status, made.json()["status"], made.json()["id"]) == (200, 201, None)
    assert changes(made) == {"email": (None, "new@example.com"), "contact_status": (None, "new"), "cf.Seats": (None, "4")}
    assert (changed.json()["status"], changed.json()["id"]) == (200, 1)
    assert changes(changed) == {
        "contact_status": ("new", "won"), "previous_status": (None, "new"), "status_changed_at": (None, later), "company_id": (None, 1),
        "cf.Seats": ("4", None), "cf.Team": (None, "A"),
    }  # fmt: skip
    assert (merged.json()["status"], changes(merged)) == (200, {"last_name": ("", "Doe")})
    assert (returned.json()["status"], returned.json()["id"], changes(returned)) == (200, 1, {})
    assert [(reply.json()["status"], changes(reply)) for reply in put] == [
        (200, {"first_name": ("Jane", "")}), (201, {"domain": (None, "other.example"), "name": (None, "Other")}),
    ]  # fmt: skip
    assert [reply.status for reply in refused] == [409, 422, 404, 422]
    assert await rows(execute_sql, sqlite) == before


async def test_dry_run__says_that_a_blank_custom_field_comes_and_goes(call: ApiClient) -> None:
    blank = {"contact_custom_fields": [{"field_name": "Team", "field_value": ""}]}
    made = await call.post(f"{CONTACTS}?dry_run=true", blank)
    await call.post(CONTACTS, blank)
    gone = await call.patch(f"{CONTACTS}/1?dry_run=true", {"contact_custom_fields": [{"field_name": "Team", "field_value": None}]})

    assert [changes(reply) for reply in (made, gone)] == [{"cf.Team": (None, "")}, {"cf.Team": ("", None)}]


async def test_dry_run__of_a_batch_shows_each_step(call: ApiClient, execute_sql: ExecuteSql, engine_url: str) -> None:
    sqlite = engine_url.startswith("sqlite")
    await call.post(CONTACTS, {"email": "jane@example.com"})
    before = await rows(execute_sql, sqlite)
    commands = [
        upsert(email="jane@example.com", first_name="Jane"), upsert(email="jane@example.com", first_name="Janet"),
        create(email="new@example.com"), create(email="new@example.com"), create(email="nonsense"),
    ]  # fmt: skip

    reply = await call.post(f"{CONTACTS}/batch?dry_run=true", {"commands": commands}, idempotency_key="k")
    atomic = await call.post(f"{CONTACTS}/batch?dry_run=true", {"commands": commands[:4], "atomic": True})

    results = reply.json()["results"]
    assert [each["status"] for each in results] == [200, 200, 201, 409, 422]
    assert [each["changed"] for each in results[:3]] == [
        [{"field": "first_name", "value": "Jane", "previous": ""}], [{"field": "first_name", "value": "Janet", "previous": "Jane"}],
        [{"field": "email", "value": "new@example.com", "previous": None}],
    ]  # fmt: skip
    assert [each.get("id") for each in results[:3]] == [1, 1, None]
    assert (atomic.status, atomic.problem["code"]) == (422, "batch_failed")
    assert await rows(execute_sql, sqlite) == before


async def test_dry_run__leaves_an_idempotency_key_free(call: ApiClient) -> None:
    key = {"idempotency_key": "k"}
    for target, body in ((CONTACTS, {"first_name": "Ann"}), (f"{CONTACTS}/batch", {"commands": [create(first_name="Ann")]})):
        tried = await call.post(f"{target}?dry_run=true", body, **key)
        done = await call.post(target, body, **key)
        assert (tried.status, done.status < 300, "idempotency-replayed" in done.headers) == (200, True, False)
        key = {"idempotency_key": "k2"}


async def test_dry_run__of_an_erased_person_is_refused_and_lifts_nothing(call: ApiClient) -> None:
    await call.post(CONTACTS, {"email": "jane@example.com"})
    await call("DELETE", f"{CONTACTS}/1?erase=true")

    refused = await call.post(f"{CONTACTS}?dry_run=true", {"email": "jane@example.com"})
    allowed = await call.post(f"{CONTACTS}?dry_run=true&restore_erased=true", {"email": "jane@example.com"})
    still = await call.post(CONTACTS, {"email": "jane@example.com"})

    assert [reply.status for reply in (refused, allowed, still)] == [409, 200, 409]
    assert {refused.problem["code"], still.problem["code"]} == {"person_erased"}


@given(st.lists(COMMANDS, max_size=6), COMMANDS)
@settings(max_examples=40, deadline=None)
def test_any_dry_run_says_what_the_write_then_does(before: list[dict[str, Any]], command: dict[str, Any]) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = await open_store(f"sqlite:///{folder}/s.db")
            try:
                call = ApiClient(Dependencies(store=store, clock=Clock()), Clock())
                for each in before:
                    await alone(call, each)
                listed = (await call.get(f"{CONTACTS}?structure=FLAT")).body
                method, path = SINGLE[command["op"]]
                target = (
                    f"{path}/{command['id']}?"
                    if "id" in command
                    else f"{path}?match={command['match']}&"
                    if "match" in command
                    else f"{path}?"
                )
                tried = await call(method, f"{target}dry_run=true", command["body"])
                assert (await call.get(f"{CONTACTS}?structure=FLAT")).body == listed
                done = await alone(call, command)
            finally:
                await store.close()
        assert done.status == (tried.json()["status"] if tried.status == 200 else tried.status)
        if tried.status == 200:
            after = done.json()
            fields = {each["field_name"]: each["field_value"] for each in after["contact_custom_fields"]}
            for each in tried.json()["changed"]:
                name, value = each["field"], each["value"]
                shown = fields.get(name[3:]) if name.startswith("cf.") else after.get(name)
                assert (shown or None) == (value or None)

    asyncio.run(run())
