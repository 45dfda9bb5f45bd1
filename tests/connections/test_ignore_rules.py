"""Rules that ignore webhooks: a name, an author, a count of what each ignored, and the way back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.mapping.test_mappings import CONNECTION, FIELDS, MAPPING, contacts, drained, receive, save, states, work

from touchbase.adapters.registry import load_adapters
from touchbase.sql.store import Store

ADAPTERS = load_adapters()
RULES = "/admin/v1/clients/abc/ignore-rules"
IGNORE = {"events": {"Call.Finished": "other"}}
Json = dict[str, Any]


@pytest.fixture
def call(store: Store, make_client: MakeClient) -> ApiClient:
    return make_client(store, read=ADAPTERS.translate, senders=ADAPTERS)


async def rules(call: ApiClient) -> list[Json]:
    listed: list[Json] = (await call.get(RULES)).json()["data"]
    return listed


async def counted(call: ApiClient) -> list[tuple[str, int, str | None]]:
    return [(rule["name"], rule["ignored"], rule["last_time"]) for rule in await rules(call)]


async def test_rule__has_name_author_and_count_of_what_it_ignored(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"), ("b@people.example", "met"))
    await save(call, settings=IGNORE, rule_name="Noise")
    made = call.clock.move(0)
    (rule,) = await rules(call)
    assert (rule["name"], rule["setting"], rule["key"], rule["ignored"]) == ("Noise", "events", "Call.Finished", 2)
    assert rule["actor"] is not None
    assert rule["created_time"] < made

    call.clock.move(60)
    await receive(call, ("c@people.example", "talked"))
    await call("POST", "/public/emailcampaign-webhook/abc", {"kind": "email_opened", "prospect": {"mail": "d@people.example"}})
    await work(call)

    (rule,) = await rules(call)
    assert (rule["ignored"], rule["last_time"]) == (3, call.clock.move(0))
    assert sorted(await states(call)) == ["applied", "ignored", "ignored", "ignored"]
    errors = {each["error"] for each in (await call.get("/admin/v1/deliveries?client=abc&state=ignored")).json()["data"]}
    assert errors == {"ignored by the rule events.Call.Finished"}


async def test_replay_of_ignored__is_not_counted_again(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"))
    await save(call, settings=IGNORE)
    before = await counted(call)
    assert [count for _, count, _ in before] == [1]

    call.clock.move(60)
    assert (await call.post("/admin/v1/deliveries/replay", {"client": "abc", "state": "ignored"})).json()["count"] == 1
    await work(call)

    assert await states(call) == ["ignored"]
    assert await counted(call) == before


async def test_rule_taken_away__replays_what_it_ignored_as_a_change_whose_revert_ignores_it_again(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"), ("b@people.example", "met"))
    await save(call, settings=IGNORE, rule_name="Noise")
    assert await contacts(call) == {}
    (rule,) = await rules(call)
    # What was ignored without the rule stays ignored.
    await call("POST", "/public/emailcampaign-webhook/abc", {"kind": "ping", "prospect": {"mail": "z@people.example"}})
    await work(call)

    reply = await call("DELETE", f"{RULES}/{rule['id']}?replay=true")
    assert reply.status == 202, reply
    await drained(call)

    assert await rules(call) == []
    assert set(await contacts(call)) >= {"a@people.example", "b@people.example"}
    (change,) = (await call.get(f"/team/v1/changes?job_id={reply.json()['id']}")).json()["data"]
    assert (change["kind"], change["counts"]["webhooks"]) == ("mapping", 2)

    call.clock.move(60)
    assert (await call.post(f"/team/v1/changes/abc/{change['id']}/revert")).status == 202
    await drained(call)

    assert await contacts(call) == {}
    # It gets its name back, and counts what it ignores from now on.
    assert [(name, count) for name, count, _ in await counted(call)] == [("Noise", 2)]


async def test_rule_taken_away_without_replay__leaves_what_it_ignored(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"))
    await save(call, settings=IGNORE)
    (rule,) = await rules(call)

    assert (await call("DELETE", f"{RULES}/{rule['id']}")).status == 204

    assert (await call.get(CONNECTION)).json()["settings"]["events"] == {}
    assert (await rules(call), await states(call)) == ([], ["ignored"])
    assert (await call("DELETE", f"{RULES}/{rule['id']}")).status == 404
    await receive(call, ("b@people.example", "met"))
    assert set(await contacts(call)) == {"b@people.example"}


async def test_rule_of_an_object__counts_rows_of_an_ignored_table(call: ApiClient) -> None:
    assert (await call("POST", "/public/crm-webhook/abc", {})).status == 200
    connection = {"channel": "crm", "tool": "nocodb", "settings": {"objects": {"Bills": "ignore"}}}
    assert (await call.post("/admin/v1/clients/abc/connections", connection)).status == 201
    row = {"type": "records.after.insert", "id": "x1", "version": "v3", "data": {
        "table_id": "m1", "table_name": "Bills", "rows": [{"Id": 7, "Email": "a@people.example"}]
    }}  # fmt: skip
    assert (await call("POST", "/public/crm-webhook/abc", row)).status == 200
    await work(call)

    assert (await states(call))[0] == "ignored"
    (rule,) = await rules(call)
    assert (rule["name"], rule["setting"], rule["key"], rule["ignored"]) == ("Bills", "objects", "Bills", 1)


async def test_renamed_rule__keeps_its_count_and_a_blank_name_is_refused(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"))
    await save(call, settings=IGNORE)
    (rule,) = await rules(call)

    renamed = await call.patch(f"{RULES}/{rule['id']}", {"name": "Dialler"})

    assert (renamed.status, renamed.json()) == (200, rule | {"name": "Dialler"})
    assert [name for name, _, _ in await counted(call)] == ["Dialler"]
    refused = await call.patch(f"{RULES}/{rule['id']}", {"name": " "})
    assert (refused.status, refused.json().get("errors", [{}])[0].get("pointer")) == (422, "/name"), refused


async def test_name_without_a_rule__is_refused(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"))
    refused = await call.post(MAPPING, {"settings": {"fields": FIELDS}, "rule_name": "Noise"})
    assert (refused.status, refused.json()["errors"][0]["pointer"]) == (422, "/rule_name")


async def test_other_settings__leave_author_and_count_of_a_rule(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"))
    await save(call, settings=IGNORE)
    before = await rules(call)
    call.clock.move(60)

    assert (await call.patch(CONNECTION, {"settings": {"time_zone": "Europe/Berlin"}})).status == 200

    assert await rules(call) == before
