"""POST .../batch: many commands in one transaction, each with its own result."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, Clock, MakeClient
from tests.conftest import ExecuteSql
from tests.examples import examples

from touchbase.http.dependencies import RequestLimits
from touchbase.merging.sql.write_batch import MAX_COMMANDS
from touchbase.sql.store import Store
from touchbase.stores import open_store
from touchbase.web import Dependencies

CONTACTS, COMPANIES = "/public/v2/contacts", "/public/v2/companies"
TABLES = ("contact", "company", "custom_field", "event", "link", "idempotency_key", "id_block")


async def batch(call: ApiClient, *commands: object, path: str = CONTACTS, query: str = "", atomic: bool = False, **headers: str) -> Any:
    return await call.post(f"{path}/batch{query}", {"commands": list(commands), "atomic": atomic}, **headers)


def create(**body: object) -> dict[str, object]:
    return {"op": "create", "body": body}


def upsert(match: str = "email", **body: object) -> dict[str, object]:
    return {"op": "upsert", "match": match, "body": body}


def update(number: int, **body: object) -> dict[str, object]:
    return {"op": "update", "id": number, "body": body}


def delete(number: int) -> dict[str, object]:
    return {"op": "delete", "id": number}


async def everything(execute_sql: ExecuteSql) -> dict[str, list[Any]]:
    return {table: sorted(map(repr, await execute_sql(f"SELECT * FROM {table}"))) for table in TABLES}


async def test_batch__answers_each_command_in_order_and_one_bad_one_harms_no_other(call: ApiClient) -> None:
    await call.post(CONTACTS, {"email": "jane@example.com"})

    reply = await batch(
        call,
        create(email="a@example.com", title="CEO"),
        create(email="JANE@example.com"),
        create(email="nonsense", first_name=3),
        upsert(email="a@example.com", first_name="Ann"),
        update(1, contact_status="won"),
        update(99, contact_status="won"),
        {"op": "delete", "id": 99},
        {"op": "destroy", "body": {}},
        create(status="x"),
        7,
        update(1, contact_status="lost"),
    )

    results = reply.json()["results"]
    assert (reply.status, reply.json()["succeeded"], reply.json()["failed"]) == (200, 4, 7)
    assert [result["status"] for result in results] == [201, 409, 422, 200, 200, 404, 404, 422, 422, 422, 200]
    assert [result.get("id") for result in results if result["status"] < 300] == [2, 2, 1, 1]
    assert results[0]["ignored"] == ["title"]
    assert results[1]["problem"]["existing_id"] == 1
    assert {fault["pointer"] for fault in results[2]["problem"]["errors"]} == {"/body/email", "/body/first_name"}
    assert results[6]["problem"]["code"] == "not_found"
    assert results[8]["problem"]["errors"][0]["pointer"] == "/body/status"
    jane, ann = (await call.get(CONTACTS)).json()["data"]
    assert (jane["contact_status"], jane["previous_status"], ann["first_name"]) == ("lost", "won", "Ann")


async def test_batch__changes_only_records_in_the_state_that_it_names(call: ApiClient) -> None:
    etags = [(await call.post(CONTACTS, {"email": f"{name}@example.com"})).headers["etag"] for name in "abcd"]
    call.clock.move(1)
    await call.patch(f"{CONTACTS}/2", {"first_name": "Theirs"})

    commands = [{**update(number, first_name="Mine"), "if_match": etags[number - 1]} for number in (1, 2)]
    commands += [{**delete(2), "if_match": etags[1]}, {**delete(3), "if_match": etags[2]}, {**update(4, first_name="Any"), "if_match": "*"}]
    results = (await batch(call, *commands)).json()["results"]

    assert [result["status"] for result in results] == [200, 412, 412, 200, 200]
    assert (await call.get(f"{CONTACTS}/2")).json()["first_name"] == "Theirs"
    for wrong in ("", "W/" + etags[0], "x", f"{etags[0]}, {etags[1]}"):
        [result] = (await batch(call, {**update(1, first_name="X"), "if_match": wrong})).json()["results"]
        assert (result["status"], result["problem"]["errors"][0]["pointer"]) == (422, "/if_match")
    [result] = (await batch(call, {**create(email="e@example.com"), "if_match": "*"})).json()["results"]
    assert result["problem"]["errors"][0]["pointer"] == "/if_match"


async def test_batch__of_companies_and_with_the_records_on_request(call: ApiClient) -> None:
    custom = [{"field_name": "Seats", "field_value": "4"}]
    reply = await batch(
        call,
        {"op": "upsert", "body": {"domain": "www.example.com", "name": "Example", "company_custom_fields": custom}},
        {"op": "upsert", "match": "domain", "body": {"domain": "example.com", "company_status": "won"}},
        path=COMPANIES, query="?structure=FLAT", prefer="return=representation, handling=strict",
    )  # fmt: skip

    first, second = reply.json()["results"]
    assert reply.headers["preference-applied"] == "handling=strict, return=representation"
    assert (first["status"], second["status"], first["record"]["id"]) == (201, 200, 1)
    assert "company_status" not in first["record"]
    assert second["record"] == (await call.get(f"{COMPANIES}/1?structure=FLAT")).json()
    assert second["record"]["company_custom_fields"] == {"Seats": "4"}


async def test_batch__that_is_atomic_does_all_or_nothing(call: ApiClient, execute_sql: ExecuteSql) -> None:
    await call.post(CONTACTS, {"email": "jane@example.com"})
    before = await everything(execute_sql)

    late = await batch(call, create(email="a@example.com"), update(1, first_name="Jane"), create(email="jane@example.com"), atomic=True)
    early = await batch(call, create(email="a@example.com"), create(email="nonsense"), atomic=True)
    unchanged = await everything(execute_sql)
    good = await batch(call, create(email="a@example.com"), update(1, first_name="Jane"), atomic=True)

    assert [(reply.status, reply.problem["code"]) for reply in (late, early)] == [(422, "batch_failed")] * 2
    assert [(error["pointer"], error["code"]) for error in late.problem["errors"]] == [("/commands/2", "duplicate")]
    assert [(error["pointer"], error["code"]) for error in early.problem["errors"]] == [("/commands/1/body/email", "email")]
    assert {**unchanged, "id_block": []} == {**before, "id_block": []}
    assert (good.status, good.json()["failed"]) == (200, 0)


async def test_batch__with_an_idempotency_key_is_done_once_and_stores_no_values(call: ApiClient, execute_sql: ExecuteSql) -> None:
    commands = [create(email="a@example.com", first_name="Secretive"), create(email="wrong-value"), create(email="a@example.com")]
    key = {"idempotency_key": "k1", "prefer": "return=representation"}

    first = await batch(call, *commands, **key)
    again = await batch(call, *commands, **key)
    other_batch = await batch(call, *commands[:1], **key)

    assert again.headers["idempotency-replayed"] == "true"
    assert [(result["status"], result.get("id")) for result in again.json()["results"]] == [(201, 1), (422, None), (409, None)]
    assert first.json()["results"][0]["record"]["first_name"] == "Secretive"
    assert again.json()["results"][2]["problem"]["existing_id"] == 1
    assert (other_batch.status, other_batch.problem["code"]) == (422, "idempotency_key_reused")
    stored = b"".join(bytes(row[0]) for row in await execute_sql("SELECT response FROM idempotency_key"))
    assert [word for word in (b"Secretive", b"example.com", b"wrong-value") if word in stored] == []
    assert len((await call.get(CONTACTS)).json()["data"]) == 1


async def test_batch__names_companies_by_their_domain(call: ApiClient) -> None:
    await call.post(COMPANIES, {"domain": "example.com"})

    reply = await batch(
        call, create(email="a@example.com", company_id="example.com"), upsert(email="a@example.com", company_id="other.example"),
        upsert(email="b@example.com", company_id="www.example.com"), update(1, company_id=" "),
    )  # fmt: skip

    assert [result["status"] for result in reply.json()["results"]] == [201, 404, 201, 200]
    assert [contact.get("company_id") for contact in (await call.get(CONTACTS)).json()["data"]] == [None, 1]


async def test_batch__follows_the_clients_setting_for_duplicates(call: ApiClient) -> None:
    await call.settings(on_duplicate="update")

    reply = await batch(
        call, create(email="a@example.com", first_name="Ann"), create(email="a@example.com", last_name="Lee"),
        {"op": "create", "on_duplicate": "return", "body": {"email": "a@example.com", "first_name": "X"}},
        {"op": "create", "on_duplicate": "error", "body": {"email": "a@example.com"}},
    )  # fmt: skip

    assert [result["status"] for result in reply.json()["results"]] == [201, 200, 200, 409]
    [contact] = (await call.get(CONTACTS)).json()["data"]
    assert (contact["first_name"], contact["last_name"]) == ("Ann", "Lee")


async def test_batch__deletes_into_the_bin_and_frees_keys_in_order(call: ApiClient, execute_sql: ExecuteSql) -> None:
    await batch(call, *(create(email=f"{name}@example.com", first_name=name) for name in "abc"))
    before = await everything(execute_sql)

    tried = await batch(call, update(1, first_name="Ann"), delete(1), update(1, first_name="x"), query="?dry_run=true")
    refused = await batch(call, delete(1), delete(99), atomic=True)
    unchanged = await everything(execute_sql)
    done = await batch(
        call, create(email="a@example.com"), delete(1), delete(1), delete(2), create(email="a@example.com"), update(2, first_name="x"),
        prefer="return=representation", idempotency_key="k",
    )  # fmt: skip

    first, second, third = tried.json()["results"]
    assert [item["status"] for item in (first, second, third)] == [200, 200, 404]
    assert {item["field"]: (item["previous"], item["value"]) for item in second["changed"]} == {
        "email": ("a@example.com", None), "first_name": ("Ann", None)
    }  # fmt: skip
    assert (refused.status, [error["pointer"] for error in refused.problem["errors"]]) == (422, ["/commands/1"])
    assert {**unchanged, "id_block": []} == {**before, "id_block": []}
    results = done.json()["results"]
    assert [result["status"] for result in results] == [409, 200, 404, 200, 201, 404]
    assert [results[1]["id"], results[1]["record"]["first_name"], results[3]["record"]["email"]] == [1, "a", "b@example.com"]
    assert [item["id"] for item in (await call.get(f"{CONTACTS}/deleted")).json()["data"]] == [2, 1]
    assert [contact["email"] for contact in (await call.get(CONTACTS)).json()["data"]] == ["c@example.com", "a@example.com"]
    assert (await call.post(f"{CONTACTS}/2/restore")).status == 200


async def test_batch__deletes_companies_from_their_contacts(call: ApiClient) -> None:
    await call.post(COMPANIES, {"domain": "example.com"})
    await call.post(CONTACTS, {"email": "a@example.com", "company_id": 1})

    reply = await batch(call, delete(1), {"op": "create", "body": {"domain": "example.com"}}, path=COMPANIES)

    assert [result["status"] for result in reply.json()["results"]] == [200, 201]
    assert "company_id" not in (await call.get(f"{CONTACTS}/1")).json()


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "/commands", "required"),
        ({"commands": []}, "/commands", "too_short"),
        ({"commands": [{}] * (MAX_COMMANDS + 1)}, "/commands", "too_long"),
        ({"commands": [{}], "Atomic": True}, "/Atomic", "unknown"),
        ({"commands": [{}], "atomic": 1}, "/atomic", "type"),
    ],
)
async def test_batch__that_is_no_batch_is_refused(sqlite_call: ApiClient, body: object, pointer: str, code: str) -> None:
    reply = await sqlite_call.post(f"{CONTACTS}/batch", body)

    assert (reply.status, [(error["pointer"], error["code"]) for error in reply.problem["errors"]]) == (422, [(pointer, code)])


async def test_batch__with_too_many_custom_fields_in_all_is_refused(sqlite_call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.merging.api.batch_commands.MOST_FIELDS", 4)
    fields = [{"field_name": name, "field_value": "x"} for name in "ab"]
    commands = [create(email=f"{n}@example.com", contact_custom_fields_input=fields) for n in range(2)]
    more = upsert(email="2@example.com", contact_custom_fields_input=fields[:1])

    refused = await batch(sqlite_call, *commands, more)
    stored = await batch(sqlite_call, *commands)

    assert (refused.status, [(error["pointer"], error["code"]) for error in refused.problem["errors"]]) == (
        422,
        [("/commands", "too_many")],
    )
    assert (stored.status, stored.json()["succeeded"]) == (200, 2)
    assert (await sqlite_call.get(f"{CONTACTS}?email=2@example.com")).json()["data"] == []


async def test_batch__counts_the_custom_fields_of_invalid_commands(sqlite_call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.merging.api.batch_commands.MOST_FIELDS", 5)
    twice = create(contact_custom_fields_input=[{"field_name": "a", "field_value": "x"}] * 2)

    few, many = await batch(sqlite_call, twice, twice), await batch(sqlite_call, twice, twice, twice)

    assert (few.status, few.json()["failed"]) == (200, 2)
    assert (many.status, many.problem["errors"][0]["code"]) == (422, "too_many")


async def test_batch__lists_one_fault_of_each_command_after_many_invalid_ones(
    sqlite_call: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touchbase.merging.api.batch_commands.REFUSED_BYTES", 300)
    twice = create(contact_custom_fields_input=[{"field_name": "a", "field_value": "x"}] * 4)
    unknown = create(colour="red", height=3)

    results = (await batch(sqlite_call, twice, twice, twice, unknown, create(first_name="Jane"), prefer="handling=strict")).json()[
        "results"
    ]

    assert [len(result["problem"]["errors"]) for result in results[:4]] == [3, 3, 1, 1]
    assert results[2]["problem"]["errors"] == results[0]["problem"]["errors"][:1]
    assert results[3]["problem"]["errors"][0]["pointer"] == "/body/colour"
    assert "3 faults" in results[2]["problem"]["detail"]
    assert results[4]["status"] == 201


async def test_batch__leaves_out_records_after_the_bytes_of_a_page(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limits=RequestLimits(page_bytes=1_000))

    reply = (await batch(call, *(create(origin="x" * 190) for _ in range(9)), create(email="x"), prefer="return=representation")).json()

    records = [result["record"] for result in reply["results"] if "record" in result]
    assert [result["status"] for result in reply["results"]] == [201] * 9 + [422]
    assert [record["id"] for record in records] == [result["id"] for result in reply["results"][: len(records)]]
    assert 0 < len(records) == 9 - reply["records_left_out"] < 9
    assert "records_left_out" not in (await batch(call, create(), prefer="return=representation")).json()


async def test_batch__stops_at_records_with_very_many_custom_fields(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.merging.sql.write_batch.MOST_READ_FIELDS", 6)
    monkeypatch.setattr("touchbase.merging.sql.write_batch.FIRST_PART", 1)
    fields = [{"field_name": name, "field_value": "x"} for name in "ab"]
    await batch(call, *(create(email=f"{n}@example.com", contact_custom_fields_input=fields) for n in range(8)))
    changes = [update(1 + n, first_name="Ann") for n in range(6)]

    undone = await batch(call, *changes, delete(7), atomic=True)
    before = [contact["first_name"] for contact in (await call.get(CONTACTS)).json()["data"]]
    preview = (await batch(call, *changes, delete(7), query="?dry_run=true")).json()
    done = (await batch(call, *changes, delete(7))).json()
    again = (await batch(call, *changes[3:6])).json()

    assert (undone.status, undone.problem["errors"][0]["pointer"], undone.problem["errors"][0]["code"]) == (422, "/commands/3", "too_large")
    assert set(before) == {""}
    assert [result["status"] for result in done["results"]] == [200] * 3 + [422] * 4
    assert [result["status"] for result in preview["results"]] == [200] * 3 + [422] * 4
    assert done["results"][3]["problem"]["errors"][0]["code"] == "too_large"
    assert "send it in another batch" in done["results"][3]["problem"]["detail"]
    assert again["succeeded"] == 3
    assert [contact["first_name"] for contact in (await call.get(CONTACTS)).json()["data"]] == ["Ann"] * 6 + [""] * 2


async def test_batch__counts_the_characters_of_the_records_fields(sqlite_call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.merging.sql.write_batch.MOST_READ_CHARACTERS", 15_000)
    monkeypatch.setattr("touchbase.merging.sql.write_batch.FIRST_PART", 1)
    await sqlite_call.post(CONTACTS, {"contact_custom_fields_input": [{"field_name": "notes", "field_value": "x" * 9_000}]})

    results = (await batch(sqlite_call, *[update(1, first_name="Ann")] * 3)).json()["results"]

    assert [result["status"] for result in results] == [200, 200, 422]


@pytest.mark.parametrize(
    ("command", "pointer"),
    [
        ({"op": "update", "body": {}}, "/id"),
        ({"op": "create", "id": 1, "body": {}}, "/id"),
        ({"op": "create", "match": "email", "body": {}}, "/match"),
        ({"op": "upsert", "on_duplicate": "error", "body": {"email": "a@example.com"}}, "/on_duplicate"),
        ({"op": "upsert", "match": "phone", "body": {}}, "/body"),
        ({"op": "create"}, "/body"),
        ({"op": "delete"}, "/id"),
        ({"op": "delete", "id": 1, "body": {}}, "/body"),
        ({"op": "create", "body": {}, "Match": 1}, "/Match"),
        ({"op": "create", "body": [1]}, "/body"),
    ],
)
async def test_batch__names_what_is_wrong_with_a_command(sqlite_call: ApiClient, command: object, pointer: str) -> None:
    [result] = (await batch(sqlite_call, command)).json()["results"]

    assert (result["status"], [error["pointer"] for error in result["problem"]["errors"]]) == (422, [pointer])


async def test_batch__may_be_longer_than_other_bodies(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limits=RequestLimits(api_body_bytes=200, batch_body_bytes=2_000))
    commands = [create(first_name="x" * 100) for _ in range(4)]

    replies = [
        await batch(call, *commands), await batch(call, *commands, idempotency_key="k"), await batch(call, *commands * 10),
        await call.post(CONTACTS, {"first_name": "x" * 200}),
    ]  # fmt: skip

    assert [reply.status for reply in replies] == [200, 200, 413, 413]


async def test_batch__of_many_at_once_makes_each_record_once(call: ApiClient) -> None:
    commands = [upsert(email=f"{n}@example.com", first_name="Ann") for n in range(40)]

    replies = await asyncio.gather(*(batch(call, *commands[n:], *commands[:n]) for n in range(8)))

    assert [reply.json()["failed"] for reply in replies] == [0] * 8
    assert sum(result["status"] == 201 for reply in replies for result in reply.json()["results"]) == 40


async def test_batch__frees_and_takes_keys_in_order(call: ApiClient) -> None:
    """What a command frees, a later one may take; an earlier one may not."""
    await batch(call, create(email="a@example.com", linkedin_url="linkedin.com/in/aaa"), create(email="b@example.com"))

    reply = await batch(
        call, update(2, linkedin_url="linkedin.com/in/aaa"), update(1, linkedin_url=None), update(2, linkedin_url="linkedin.com/in/aaa"),
        upsert(email="a@example.com", linkedin_url="linkedin.com/in/bbb"),
        upsert(email="c@example.com", linkedin_url="linkedin.com/in/bbb"),
    )  # fmt: skip

    assert [result["status"] for result in reply.json()["results"]] == [409, 200, 200, 200, 409]


@pytest.mark.parametrize("later", [create, upsert])
async def test_batch__of_contacts_with_several_addresses_is_carried_out_in_order(call: ApiClient, later: Callable[..., Any]) -> None:
    """Also if a later command has a single address: it meets those of the earlier ones."""
    reply = await batch(
        call, create(emails=["a@example.com", "b@example.com"]), later(email="b@example.com"), create(email="c@example.com")
    )

    results = reply.json()["results"]
    assert [result["status"] for result in results] == [201, 409 if later is create else 200, 201]
    assert (await call.get(f"{CONTACTS}/{results[0]['id']}")).json()["emails"] == ["a@example.com", "b@example.com"]


EMAILS = st.sampled_from(["a@example.com", "b@example.com", "c@example.com", "not an address", None])
PEOPLE = st.fixed_dictionaries(
    {},
    optional={
        "email": EMAILS,
        "emails": st.lists(st.sampled_from(["a@example.com", "b@example.com", "d@example.com"]), min_size=1, max_size=3),
        "linkedin_url": st.sampled_from(["linkedin.com/in/aaa", "linkedin.com/in/bbb", "linkedin.com/in/ccc", None]),
        "external_id": st.sampled_from(["x", "X", "y", " ", None]),
        "first_name": st.sampled_from(["Ann", "Bob"]),
        "contact_status": st.sampled_from(["new", "won"]),
        "contact_custom_fields": st.just([{"field_name": "Seats", "field_value": "4"}]),
        "Email": st.just("x"),
    },
)
COMMANDS = st.one_of(
    st.builds(lambda body: {"op": "create", "body": body}, PEOPLE),
    st.builds(
        lambda match, body: {"op": "upsert", "match": match, "body": body},
        st.sampled_from(["email", "linkedin_url", "external_id"]),
        PEOPLE,
    ),
    st.builds(lambda number, body: {"op": "update", "id": number, "body": body}, st.integers(1, 5), PEOPLE),
)
DELETIONS = st.builds(delete, st.integers(1, 3))
SINGLE = {"create": ("POST", CONTACTS), "update": ("PATCH", CONTACTS), "upsert": ("PUT", CONTACTS), "delete": ("DELETE", CONTACTS)}


async def alone(call: ApiClient, command: dict[str, Any]) -> Any:
    """The same command as a request of its own."""
    method, path = SINGLE[command["op"]]
    target = f"{path}/{command['id']}" if "id" in command else f"{path}?match={command['match']}" if "match" in command else path
    return await call(method, target, command.get("body"))


@pytest.mark.slow
@given(st.lists(COMMANDS | DELETIONS, min_size=1, max_size=12))
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_batch__gives_what_its_commands_give_one_by_one(commands: list[dict[str, Any]]) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            stores = [await open_store(f"sqlite:///{folder}/{name}.db") for name in ("one", "many", "atomic")]
            try:
                api_client, many, atomic = (ApiClient(Dependencies(store=store, clock=Clock()), Clock()) for store in stores)
                singles = [await alone(api_client, command) for command in commands]
                together = (await batch(many, *commands)).json()["results"]
                expected = [_without_times((await api_client.get(f"{CONTACTS}/{n}")).json()) for n in range(1, 6)]
                without_times = [_without_times((await many.get(f"{CONTACTS}/{n}")).json()) for n in range(1, 6)]
                full_batch = await batch(atomic, *commands, atomic=True)
                left = (await atomic.get(CONTACTS)).json()["data"]
            finally:
                for store in stores:
                    await store.close()
        assert [item["status"] for item in together] == [reply.status for reply in singles]
        ids = {reply.json()["id"]: None for reply in singles if reply.status == 201}
        assert len(ids) == sum(item["status"] == 201 for item in together)
        assert sorted(map(repr, without_times)) == sorted(map(repr, expected))
        if any(reply.status >= 400 for reply in singles):
            assert (full_batch.status, full_batch.problem["code"], left) == (422, "batch_failed", [])
        else:
            assert full_batch.status == 200

    asyncio.run(run())


def _without_times(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what depends on the clock, or on ids of requests and custom fields."""
    if "id" not in record:
        return {}
    fields = [(custom_field["field_name"], custom_field["field_value"]) for custom_field in record["contact_custom_fields"]]
    dropped = ("updated_time", "status_changed_at", "contact_custom_fields")
    return {**{name: value for name, value in sorted(record.items()) if name not in dropped}, "custom": fields}
