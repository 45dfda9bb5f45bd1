"""The audit log: each act is recorded in its transaction, with who did it and without values; who sees it, and how it is exported."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from tests.auth.test_people import CONTACTS, INVITATIONS, PAGE, SECRET, USERS, Browser, Office, PersonalKey, grants, office, quick_passwords
from tests.changes.test_reverts import drained

from touchbase.audit import ACTIONS, list_audit_events
from touchbase.auth.authentication import ADMIN, READ, WRITE
from touchbase.common.timestamps import DAY, SECOND, to_text
from touchbase.maintenance import Maintenance
from touchbase.sql.operation import Command
from touchbase.sql.store import Store

from tests.operations import all_commands  # isort: skip

__all__ = ["office", "quick_passwords"]
EVENTS = "/team/v1/audit-events"
KEYS = "/admin/v1/keys"


async def acts(call: Any, query: str = "", **headers: str) -> list[dict[str, Any]]:
    """The entries of requests that somebody sees, oldest first."""
    reply = await call("GET", f"{EVENTS}?limit=200&{query}", **headers)
    assert reply.status == 200, reply.body
    data: list[dict[str, Any]] = reply.json()["data"]
    return [act for act in reversed(data) if act["actor"]["type"] != "touchbase"]  # the office's first key, at the time of the machine


async def test_act__has_its_actor_target_client_and_request(office: Office) -> None:
    mira = await office.join("mira@a.example", role="admin")

    await mira("POST", KEYS, {"name": "n8n", "client_id": "ours", "scopes": [READ]}, x_request_id="req-1")

    [created] = await acts(mira, "action=key.created&client_id=ours")
    assert created["actor"] == {"type": "user", "id": mira.user["id"], "name": "Mir", "via": "console"}
    assert (created["client_id"], created["request_id"], created["address"]) == ("ours", "req-1", "")
    assert (created["target"]["type"], created["target"]["name"]) == ("key", "n8n")
    assert created["at"] == to_text(office.call.clock.now)


async def test_joining_and_signing_in__are_acts_of_the_person(office: Office) -> None:
    ben = await office.join("ben@a.example", role="viewer")

    observed = [(act["action"], act["actor"]["type"], act["target"]["id"]) for act in await acts(office)][-3:]

    assert [(action, actor) for action, actor, _ in observed] == [
        ("user.invited", "key"),
        ("user.joined", "user"),
        ("session.began", "user"),
    ]
    assert observed[0][2] == observed[1][2] == ben.user["id"]


async def test_entries__have_no_addresses_names_or_secrets(office: Office, store: Store) -> None:
    ben = await office.join("ben@a.example", role="operator")
    contact = (await ben("POST", CONTACTS, {"email": "jane@doe.example"}, x_client_id="ours")).json()["id"]
    await ben("POST", f"{CONTACTS}/{contact}/block", {}, x_client_id="ours")
    await office("DELETE", f"{CONTACTS}/{contact}/block", x_client_id="ours")
    await office("GET", f"{CONTACTS}/{contact}/export", x_client_id="ours")
    assert (await office("DELETE", f"{CONTACTS}/{contact}?erase=true", x_client_id="ours")).status == 200

    stored = repr(await store.read(list_audit_events(200)))

    assert "block.removed" in stored
    assert "person.erased" in stored
    assert not [word for word in ("ben@", "Ben", "jane", "doe", SECRET) if word in stored]


async def test_operator__takes_back_an_own_block_and_no_other(office: Office) -> None:
    ben, eve = await office.join("ben@a.example", role="operator"), await office.join("eve@a.example", role="operator")
    contact = (await ben("POST", CONTACTS, {"email": "jane@doe.example"}, x_client_id="ours")).json()["id"]
    path = f"{CONTACTS}/{contact}/block"
    await ben("POST", path, {}, x_client_id="ours")

    refused = await eve("DELETE", path, x_client_id="ours")
    assert (refused.status, refused.problem["code"]) == (403, "forbidden")
    assert "only an administrator may unblock" in refused.problem["detail"]
    assert (await ben("DELETE", path, x_client_id="ours")).status == 200
    office.call.clock.move(1)
    await ben("POST", path, {}, x_client_id="ours")
    assert (await office("DELETE", path, x_client_id="ours")).status == 200


async def test_entry__is_removed_by_administrators_and_for_an_hour_by_who_made_it(office: Office) -> None:
    writes, second, admin = [await office.key_of("ours", scope) for scope in (WRITE, WRITE, ADMIN)]
    call, clock = office.call, office.call.clock

    async def listed() -> str:
        reply = await call("POST", "/public/v2/suppressions", {"value": f"p{clock.now}@doe.example"}, **writes)
        return f"/public/v2/suppressions/{reply.json()['data'][0]['entry']['id']}"

    own = await listed()
    assert (await call("DELETE", own, **second)).status == 403
    assert (await call("DELETE", own, **writes)).status == 204
    clock.move(1)
    late = await listed()
    clock.move(3_601)
    assert (await call("DELETE", late, **writes)).status == 403
    assert (await call("DELETE", late, **admin)).status == 204


async def test_longer_entry_of_somebody_else__is_neither_shortened_nor_taken_over(office: Office) -> None:
    writes, second, admin = [await office.key_of("ours", scope) for scope in (WRITE, WRITE, ADMIN)]
    call, path, soon = office.call, "/public/v2/suppressions", {"until": to_text(office.call.clock.now + SECOND)}
    entry = {"value": "jane@doe.example", "reason": "legal", "note": "by letter"}
    number = (await call("POST", path, {**entry, "until": to_text(office.call.clock.now + DAY)}, **writes)).json()["data"][0]["entry"]["id"]

    for query in ("", "?dry_run=true"):
        alone = await call("POST", path + query, {**entry, **soon}, **second)
        assert (alone.status, alone.problem["code"]) == (403, "forbidden")
        assert "only an administrator may end that earlier" in alone.problem["detail"]
        several = (await call("POST", path + query, {"entries": [{"value": "new.example"}, {**entry, **soon}]}, **second)).json()
        assert (several["created"] + several["unchanged"], several["invalid"]) == (1, 1)
        assert several["data"][1]["errors"][0]["pointer"] == "/entries/1/until"
    own = await call("POST", path, {**entry, "until": to_text(office.call.clock.now + DAY // 2)}, **writes)
    longer = (await call("POST", path, {**entry, "reason": "other", "note": "mine now", "since": "2020-01-01T00:00:00Z"}, **second)).json()
    assert (own.json()["updated"], longer["updated"]) == (1, 1)
    shown = longer["data"][0]["entry"]
    assert (shown["reason"], shown["note"], shown["until"], shown["since"][:4]) == ("legal", "by letter", None, "2026")
    assert (await call("POST", path, {**entry, "reason": "complained"}, **second)).json()["unchanged"] == 1
    assert [(await call("DELETE", f"{path}/{number}", **key)).status for key in (second, writes)] == [403, 403]
    assert (await call("POST", path, {**entry, **soon}, **admin)).status == 200
    office.call.clock.move(1)
    assert (await call("POST", path, entry, **second)).json()["data"][0]["entry"]["active"]
    assert (await call("DELETE", f"{path}/{number}", **second)).status == 204


async def test_act_that_changes_many__names_its_change(office: Office) -> None:
    mira = await office.join("mira@a.example", role="admin")
    people = "/public/v2/contacts"
    ids = [
        (await mira("POST", people, {"email": f"p{n}@doe.example", "last_name": "Doe"}, x_client_id="ours")).json()["id"] for n in range(4)
    ]
    two = [{"client_id": "ours", "contact_id": ids[0]}, {"client_id": "ours", "contact_id": ids[1]}]

    async def newest(action: str) -> dict[str, Any]:
        reply: dict[str, Any] = (await acts(mira, f"client_id=ours&action={action}"))[-1]
        return reply

    async def kind_of(act: dict[str, Any]) -> tuple[str, str, str]:
        change = (await mira("GET", f"/team/v1/changes/ours/{act['change_id']}")).json()
        return act["action"], change["kind"], change["actor"]["id"]

    async def done(method: str, path: str, body: Any = None, **headers: str) -> Any:
        office.call.clock.move(1)
        reply = await mira(method, path, body, x_client_id="ours", **headers)
        assert reply.status in (200, 201, 202), reply.body
        return reply.json()

    observed = []
    other = (await mira("POST", people, {"email": "ann@doe.example"}, x_client_id="theirs")).json()["id"]
    of_both = [*two, {"client_id": "theirs", "contact_id": other}]
    await done("POST", "/team/v1/conversations/bulk", {"conversations": of_both, "change": {"label": "later"}})
    observed.append(await kind_of(await newest("bulk.changed")))
    assert [act["target"]["id"] for act in await acts(mira, "action=bulk.changed&client_id=theirs")] == ["1"]
    await done("POST", "/team/v1/conversations/block", {"conversations": two, "block": {}})
    observed.append(await kind_of(await newest("bulk.changed")))
    await done("PATCH", f"{people}?last_name=Doe", {"contact_status": "warm"})
    act = await newest("bulk.changed")
    assert act["target"] == {"type": "contacts", "id": "4", "name": ""}
    observed.append(await kind_of(act))
    await done("POST", f"{people}/{ids[2]}/merge", {"with": [ids[3]]})
    observed.append(await kind_of(await newest("record.merged")))
    await done("PATCH", "/public/v2/statuses/contacts/warm", {"name": "Hot"})
    observed.append(await kind_of(await newest("status.renamed")))
    file = {"raw": b"email,last_name\nann@ours.example,Lee\n", "content_type": "text/csv"}
    await office.call("POST", f"{people}/imports?start=true", **file, **PAGE, cookie=mira.cookie, x_client_id="ours")  # type: ignore[arg-type]
    assert (await newest("import.started"))["change_id"] is None
    await drained(office.call)
    imported = await newest("import.started")
    observed.append(await kind_of(imported))
    await done("POST", f"/team/v1/changes/ours/{imported['change_id']}/revert")
    observed.append(await kind_of(await newest("change.reverted")))

    kinds = ("bulk", "block", "bulk", "merge", "rename", "import", "revert")
    assert [kind for _, kind, _ in observed] == [*kinds]
    assert {actor for *_, actor in observed} == {mira.user["id"]}
    assert (await newest("change.reverted"))["target"]["id"] == imported["change_id"]
    text = (await mira("GET", f"{EVENTS}/export?action=import.started")).body.decode()
    assert [row["change_id"] for row in csv.DictReader(io.StringIO(text))] == [imported["change_id"]]


async def test_refused_act__leaves_no_entry(office: Office) -> None:
    before = await acts(office)

    assert (await office("POST", "/admin/v1/clients", {"client_id": "ours"})).status == 409
    assert (await office("DELETE", f"{KEYS}/{'0' * 12}")).status == 404
    assert (await office("POST", INVITATIONS, {"email": "nobody"})).status == 422

    assert await acts(office) == before


async def test_repeat_with_an_idempotency_key__is_one_act(office: Office) -> None:
    for _ in range(2):
        reply = await office("POST", KEYS, {"name": "n8n", "client_id": "ours", "scopes": [READ]}, idempotency_key="once")
        assert reply.status == 201

    assert len(await acts(office, "action=key.created&client_id=ours")) == 1


async def test_administrator_of_some_clients__sees_acts_about_these_only(office: Office) -> None:
    both = await office.join("both@a.example", grants=grants(ours="admin", yours="admin", theirs="operator"))
    viewer = await office.join("viewer@a.example", role="viewer")
    for client_id in ("ours", "yours", "theirs"):
        await office.key_of(client_id, READ)
    key = await office.key_of("theirs", ADMIN)

    def of(entries: list[dict[str, Any]]) -> set[str | None]:
        return {entry["client_id"] for entry in entries}

    assert of(await acts(office)) == {None, "ours", "yours", "theirs"}
    assert of(await acts(both)) == {"ours", "yours"}
    assert of(await acts(office.call, **key)) == {"theirs"}
    assert await acts(both, "client_id=theirs") == await acts(both, "client_id=nobody") == []
    assert of(await acts(both, "client_id=ours")) == {"ours"}
    assert (await both("GET", f"{EVENTS}/export?format=ndjson&client_id=theirs")).body == b""
    assert (await viewer("GET", EVENTS)).status == (await viewer("GET", f"{EVENTS}/export")).status == 403


async def test_filter_by_person__includes_the_personal_keys(office: Office) -> None:
    mira = await office.join("mira@a.example", role="admin")
    program = await PersonalKey.of(mira)
    await program("POST", KEYS, {"name": "by the program", "client_id": "ours", "scopes": [READ]})
    await office.key_of("ours", WRITE)

    observed = await acts(office, f"actor_id={mira.user['id']}&action=key.*")

    assert [(act["actor"]["name"], act["actor"]["via"], act["target"]["name"]) for act in observed] == [
        ("Mir", "console", "program"),
        ("Mir", "api", "by the program"),
    ]


async def test_days_and_pages(office: Office) -> None:
    clock = office.call.clock
    for _ in range(3):
        clock.move(86_400)
        await office.key_of("ours", READ)
    since, until = to_text(clock.now - DAY), to_text(clock.now)

    first = (await office("GET", f"{EVENTS}?limit=2&action=key.created&client_id=ours")).json()
    remaining_body = (await office("GET", f"{EVENTS}?limit=2&action=key.created&client_id=ours&cursor={first['next_cursor']}")).json()

    assert [len(page["data"]) for page in (first, remaining_body)] == [2, 1]
    assert remaining_body["next_cursor"] is None
    assert [act["at"] for act in await acts(office, f"since={since}&until={until}")] == [since]


async def test_after__follows_the_log_oldest_first_and_leaves_out_the_last_moments(office: Office) -> None:
    mira = await office.join("mira@a.example", role="admin")
    [before] = await acts(mira, "action=session.began")
    office.call.clock.move(60)
    for name in ("one", "two", "three"):
        await mira("POST", KEYS, {"name": name, "client_id": "ours", "scopes": [READ]})
        office.call.clock.move(1)

    async def following(after: str, query: str = "") -> list[tuple[str, str]]:
        reply = await mira("GET", f"{EVENTS}?after={after}&{query}")
        assert (reply.status, reply.json()["next_cursor"]) == (200, None), reply.body
        return [(act["target"]["name"], act["id"]) for act in reply.json()["data"]]

    early = await following(before["id"])
    office.call.clock.move(10)
    [first] = await following(before["id"], "limit=1")
    rest = await following(first[1])

    assert early == []
    assert [first[0], *(name for name, _ in rest)] == ["one", "two", "three"]
    assert await following(rest[-1][1]) == []
    assert [name for name, _ in await following("oldest", "action=key.created&client_id=ours")] == ["one", "two", "three"]
    refused = await mira("GET", f"{EVENTS}?after=yesterday")
    assert (refused.status, refused.problem["errors"][0]["pointer"]) == (422, "?after")


async def test_export__is_a_file_and_an_act(office: Office) -> None:
    await office.key_of("ours", READ)

    as_csv = await office("GET", f"{EVENTS}/export?client_id=ours")
    as_ndjson = await office("GET", f"{EVENTS}/export?format=ndjson&client_id=ours")

    export, *rows = list(csv.DictReader(io.StringIO(as_csv.body.decode())))
    lines = [json.loads(line) for line in as_ndjson.body.splitlines()]
    assert (export["action"], export["target_id"]) == ("export.read", "audit-events")
    assert [row["action"] for row in rows] == ["key.created", "client.created"]
    assert rows[0]["actor_name"] == "first"
    assert [line["action"] for line in lines] == ["export.read", "export.read", "key.created", "client.created"]


async def test_refused_sign_ins__are_recorded_up_to_a_bound(office: Office) -> None:
    ben = await office.join("ben@a.example", role="viewer")
    for email in ("ben@a.example", "nobody@a.example"):
        reply = await Browser(office.call)("POST", "/console/session", {"email": email, "password": "not the right one"})
        assert reply.status == 401
    refused = await acts(office, "action=session.refused")
    assert [act["target"] and act["target"]["id"] for act in refused] == [ben.user["id"], None]
    assert {act["actor"]["type"] for act in refused} == {"anyone"}

    for number in range(100):
        await Browser(office.call)("POST", "/console/session", {"email": f"{number}@a.example", "password": "not the right one"})

    assert len(await acts(office, "action=session.refused")) <= 60


async def test_old_entries__are_removed(office: Office, store: Store) -> None:
    clock = office.call.clock
    await office.key_of("ours", READ)
    clock.move(300 * 86_400)
    await office.key_of("ours", WRITE)
    clock.move(100 * 86_400 + 1)

    await Maintenance(store, clock, audit_us=400 * DAY).round()

    assert len(await acts(office)) == 1


async def test_deleted_client__stays_in_the_log_without_its_id(office: Office) -> None:
    await office("DELETE", "/admin/v1/clients/theirs?confirm=theirs")

    [act] = await acts(office, "action=client.deleted")

    assert act["target"]["id"] == "theirs"


def test_actions_of_operations__are_documented() -> None:
    declared = [kind.operation.follow_up for kind in all_commands() if issubclass(kind, Command)]
    actions = {follow_up.action for follow_up in declared if isinstance(getattr(follow_up, "action", None), str)}  # type: ignore[union-attr]

    assert len(actions) > 20
    assert actions <= set(ACTIONS)


assert USERS
