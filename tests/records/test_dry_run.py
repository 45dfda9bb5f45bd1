"""dry_run=true on creates, changes, upserts and batches: what would change, and no row does."""

from __future__ import annotations

import asyncio
import tempfile
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, Clock
from tests.conftest import ExecuteSql
from tests.examples import examples
from tests.house import House
from tests.records.test_batch import COMMANDS, DELETIONS, SINGLE, alone, create, upsert

from touchbase.auth.authentication import READ
from touchbase.routes import ROUTES
from touchbase.stores import open_store
from touchbase.web import Dependencies

CONTACTS, COMPANIES = "/public/v2/contacts", "/public/v2/companies"
SEATS = [{"field_name": "Seats", "field_value": "4"}]


async def rows(execute_sql: ExecuteSql, sqlite: bool) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    listing = (
        "SELECT name FROM sqlite_schema WHERE type = 'table'"
        if sqlite
        else "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    )
    tables = [row[0] for row in await execute_sql(listing)]
    return {table: sorted(repr(row) for row in await execute_sql(f"SELECT * FROM {table}")) for table in tables}


def changes(reply: Any) -> dict[str, tuple[Any, Any]]:
    return {item["field"]: (item["previous"], item["value"]) for item in reply.json()["changed"]}


async def test_dry_run__answers_what_would_change_and_stores_nothing(call: ApiClient, execute_sql: ExecuteSql, engine_url: str) -> None:
    sqlite = engine_url.startswith("sqlite")
    await call.post(COMPANIES, {"domain": "example.com"})
    await call.post(CONTACTS, {"email": "jane@example.com", "first_name": "Jane", "contact_status": "new", "contact_custom_fields": SEATS})
    before = await rows(execute_sql, sqlite)
    later = call.clock.move(5)

    response = await call.post(
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

    assert (response.status, response.json()["status"], response.json()["id"]) == (200, 201, None)
    assert changes(response) == {"email": (None, "new@example.com"), "contact_status": (None, "new"), "cf.Seats": (None, "4")}
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
    response = await call.post(f"{CONTACTS}?dry_run=true", blank)
    await call.post(CONTACTS, blank)
    gone = await call.patch(f"{CONTACTS}/1?dry_run=true", {"contact_custom_fields": [{"field_name": "Team", "field_value": None}]})

    assert [changes(reply) for reply in (response, gone)] == [{"cf.Team": (None, "")}, {"cf.Team": ("", None)}]


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
    assert [item["status"] for item in results] == [200, 200, 201, 409, 422]
    assert [item["changed"] for item in results[:3]] == [
        [{"field": "first_name", "value": "Jane", "previous": ""}], [{"field": "first_name", "value": "Janet", "previous": "Jane"}],
        [{"field": "email", "value": "new@example.com", "previous": None}],
    ]  # fmt: skip
    assert [item.get("id") for item in results[:3]] == [1, 1, None]
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


WITHOUT = {
    "match_contacts_of_all_clients": "reads",
    "match_companies_of_all_clients": "reads",
    "check_installation_suppressions": "reads",
    "delete_contact_import_mapping": "changes no record; GET shows the mapping",
    "delete_company_import_mapping": "changes no record; GET shows the mapping",
    "read_import_again": "changes no record; reads an uploaded file again",
    "start_import": "has it in the body, as the import that it starts",
}


def test_dry_run__is_a_parameter_of_every_write() -> None:
    """Every route that changes contacts, companies or suppressions has it; the exceptions have a reason."""
    tags = {"Contacts", "Companies", "Suppressions"}
    writes = [
        route for route in ROUTES if route.method != "GET" and route.scope != READ and route.tag is not None and route.tag.name in tags
    ]

    assert {route.operation_id for route in writes if "dry_run" not in {item.name for item in route.query}} == WITHOUT.keys()
    assert len(writes) > 25


async def test_dry_run__of_deletions_merges_and_suppressions_stores_nothing(house: House, execute_sql: ExecuteSql, engine_url: str) -> None:
    call, sqlite = house.call, engine_url.startswith("sqlite")
    company = await house.company("example.com", name="Example")
    jane, john = await house.contact(email="jane@example.com", company_id=company), await house.contact(first_name="John")
    gone, ann = await house.contact(email="gone@example.com", contact_custom_fields=SEATS), await house.contact(email="ann@example.com")
    await house.delete(gone)
    merge = (await house.merge(ann, await house.contact(last_name="Lee")))["merge_id"]
    await call.post("/public/v2/suppressions", {"value": "old@example.com"})
    before = await rows(execute_sql, sqlite)
    key = {"idempotency_key": "k"}

    deleted = await call("DELETE", f"{CONTACTS}/{jane}?dry_run=true")
    firm = await call("DELETE", f"{COMPANIES}/{company}?dry_run=true")
    restored = await call.post(f"{CONTACTS}/{gone}/restore?dry_run=true", None, **key)
    merged = await call.post(f"{CONTACTS}/{jane}/merge?dry_run=true", {"with": [john]}, **key)
    in_body = await call.post(f"{CONTACTS}/{jane}/merge", {"with": [john], "dry_run": True}, **key)
    undone = await call.post(f"{CONTACTS}/{ann}/merge/{merge}/undo?dry_run=true", None, **key)
    entries = [{"value": "old@example.com", "reason": "legal"}, {"value": "new@example.com"}, {"value": "nonsense", "kind": "email"}]
    listed = await call.post("/public/v2/suppressions?dry_run=true", {"entries": entries}, **key)
    removed = await call("DELETE", "/public/v2/suppressions/1?dry_run=true")
    refused = [
        await call("DELETE", f"{CONTACTS}/99?dry_run=true"), await call.post(f"{CONTACTS}/{jane}/restore?dry_run=true", None),
        await call.post(f"{CONTACTS}/{ann}/merge/99/undo?dry_run=true", None),
        await call("DELETE", "/public/v2/suppressions/9?dry_run=true"), await call("DELETE", f"{CONTACTS}/{jane}?erase=true&dry_run=true"),
    ]  # fmt: skip

    assert (deleted.json()["status"], deleted.json()["id"], changes(deleted)) == (
        200, jane, {"email": ("jane@example.com", None), "company_id": (company, None)}
    )  # fmt: skip
    assert changes(firm) == {"domain": ("example.com", None), "name": ("Example", None)}
    assert changes(restored) == {"email": (None, "gone@example.com"), "cf.Seats": (None, "4")}
    assert (merged.json()["merge_id"], merged.json()["contact"]["first_name"]) == (None, "John")
    assert in_body.json() == merged.json()
    assert [(item["email"] if "email" in item else item["last_name"]) for item in undone.json()["data"]] == ["ann@example.com", "Lee"]
    assert (listed.status, [(item["outcome"], item["entry"] and item["entry"]["reason"]) for item in listed.json()["data"]]) == (
        200, [("updated", "legal"), ("created", None), ("invalid", None)]
    )  # fmt: skip
    assert (removed.status, removed.json()["value"]) == (200, "old@example.com")
    assert [reply.status for reply in refused] == [404, 404, 404, 404, 422]
    assert await rows(execute_sql, sqlite) == before


@given(st.lists(COMMANDS | DELETIONS, max_size=6), COMMANDS | DELETIONS)
@settings(max_examples=examples(40), deadline=None)
def test_any_dry_run__says_what_the_write_then_does(before: list[dict[str, Any]], command: dict[str, Any]) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = await open_store(f"sqlite:///{folder}/s.db")
            try:
                call = ApiClient(Dependencies(store=store, clock=Clock()), Clock())
                for item in before:
                    await alone(call, item)
                listed = (await call.get(f"{CONTACTS}?structure=FLAT")).body
                method, path = SINGLE[command["op"]]
                target = (
                    f"{path}/{command['id']}?"
                    if "id" in command
                    else f"{path}?match={command['match']}&"
                    if "match" in command
                    else f"{path}?"
                )
                tried = await call(method, f"{target}dry_run=true", command.get("body"))
                assert (await call.get(f"{CONTACTS}?structure=FLAT")).body == listed
                done = await alone(call, command)
                gone = command["op"] == "delete"
            finally:
                await store.close()
        assert done.status == (tried.json()["status"] if tried.status == 200 else tried.status)
        if tried.status == 200:
            after = {"contact_custom_fields": []} if gone else done.json()
            fields = {custom_field["field_name"]: custom_field["field_value"] for custom_field in after["contact_custom_fields"]}
            for item in tried.json()["changed"]:
                name, value = item["field"], item["value"]
                shown = fields.get(name[3:]) if name.startswith("cf.") else after.get(name)
                assert (shown or None) == (value or None)

    asyncio.run(run())


async def test_dry_run__lists_all_addresses_of_a_contact(house: House) -> None:
    tried = await house.call(
        "PUT", f"{CONTACTS}?match=email&dry_run=true", {"email": "a@twice.example", "emails": ["a@twice.example", "b@twice.example"]}
    )

    changed = {item["field"]: item["value"] for item in tried.json()["changed"]}
    assert changed["emails"] == ["a@twice.example", "b@twice.example"]
