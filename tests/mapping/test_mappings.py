"""Saved mappings over HTTP: what a save reads again, what its change says, and what a revert withdraws."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.imports.jobs import worker

from touchbase.adapters.registry import load_adapters
from touchbase.changes.job import KINDS as CHANGE_KINDS
from touchbase.changes.plans import revert_deliveries
from touchbase.common.timestamps import SECOND
from touchbase.connections.sql.connections import list_connections
from touchbase.consistency.service import Verified, verify
from touchbase.inbox.worker import translator
from touchbase.mapping.job import KINDS, SETTLED
from touchbase.sql.store import Store

ADAPTERS = load_adapters()
CONNECTION = "/admin/v1/clients/abc/connections/email_campaign/generic"
MAPPING = f"{CONNECTION}/mapping"
FIELDS = {"event": "kind", "email": "prospect.mail", "status": "outcome", "first_name": "prospect.first"}
Json = dict[str, Any]


@pytest.fixture
def call(store: Store, make_client: MakeClient) -> ApiClient:
    return make_client(store, read=ADAPTERS.translate, senders=ADAPTERS)


async def receive(call: ApiClient, *people: tuple[str, str]) -> None:
    for mail, outcome in people:
        body = {"kind": "call.finished", "prospect": {"mail": mail, "first": f"F {mail[0]}"}, "outcome": outcome}
        reply = await call("POST", "/public/emailcampaign-webhook/abc", raw=json.dumps(body).encode())
        assert reply.status == 200
    await work(call)


async def work(call: ApiClient) -> None:
    """Apply what waits, with the connections that are stored."""
    client = call.kept[0]
    while (await call.parts.store.work(client, 100, translator(ADAPTERS.translate, await stored(call)), call.clock.now)).taken:
        pass


async def stored(call: ApiClient) -> Any:
    return await call.parts.store.read(list_connections(call.kept[0]))


async def drained(call: ApiClient) -> None:
    """Run jobs and the inbox until nothing is left to do."""
    for _ in range(4):
        await worker(call, (*KINDS, *CHANGE_KINDS)).drain()
        await work(call)
        call.clock.now += SETTLED
    await worker(call, (*KINDS, *CHANGE_KINDS)).drain()


async def save(call: ApiClient, fields: Json = FIELDS, **members: Any) -> Json:
    """Save a mapping, run its job to the end; return its change."""
    reply = await call.post(MAPPING, {"settings": {"fields": fields, **members.pop("settings", {})}, **members})
    assert reply.status == 202, reply
    await drained(call)
    job = (await call.get(f"/public/v2/jobs/{reply.json()['id']}", x_client_id="abc")).json()
    assert job["state"] == "succeeded", job
    change: Json = (await call.get(f"/team/v1/changes?job_id={job['id']}")).json()["data"][0]
    assert (change["kind"], change["state"], change["revertible"]) == ("mapping", "open", True)
    return change


async def revert(call: ApiClient, change: Json, query: str = "") -> Json:
    reply = await call.post(f"/team/v1/changes/abc/{change['id']}/revert{query}")
    assert reply.status == 202, reply
    await drained(call)
    job: Json = (await call.get(f"/public/v2/jobs/{reply.json()['id']}", x_client_id="abc")).json()
    assert job["state"] == "succeeded", job
    return job


def counts(job: Json) -> dict[str, int]:
    return {name: count for name, count in job["progress"].items() if isinstance(count, int) and count and name != "percent"}


async def contacts(call: ApiClient) -> dict[str, Json]:
    page = (await call.get("/public/v2/contacts?structure=FLAT", x_client_id="abc")).json()["data"]
    return {contact["email"]: contact for contact in page}


async def states(call: ApiClient) -> list[str]:
    return [delivery["state"] for delivery in (await call.get("/admin/v1/deliveries?client=abc")).json()["data"]]


async def timeline(call: ApiClient, number: int) -> list[str]:
    return [event["event"] for event in (await call.get(f"/public/v2/contacts/{number}/timeline", x_client_id="abc")).json()["data"]]


async def known(call: ApiClient, **members: Any) -> int:
    reply = await call.post("/public/v2/contacts", members, x_client_id="abc")
    assert reply.status == 201, reply
    call.clock.move(60)
    return int(reply.json()["id"])


async def is_consistent(call: ApiClient) -> bool:
    return [fault async for fault in verify(call.parts.store, call.kept[0], Verified())] == []


async def test_mapping_without_effect__cannot_be_saved(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"))
    unseen = await call.post(MAPPING, {"settings": {"fields": {"email": "nowhere"}}})
    empty = await call.post(MAPPING, {"settings": {"fields": FIELDS}, "state": "failed"})

    assert [(reply.status, reply.json()["errors"][0]["code"]) for reply in (unseen, empty)] == [(422, "no_effect")] * 2
    assert "1 not recognised" in unseen.json()["errors"][0]["detail"]
    assert "none is stored" in empty.json()["errors"][0]["detail"]
    assert await stored(call) == []
    assert (await call.get("/team/v1/changes")).json()["data"] == []


async def test_saved_mapping__is_one_change_whose_counts_are_those_of_the_preview(call: ApiClient) -> None:
    number = await known(call, email="a@people.example", first_name="Ann")
    await receive(call, ("a@people.example", "talked"), ("b@people.example", "voicemail"), ("a@people.example", "met"))
    body = {"settings": {"fields": FIELDS}}
    tried = (await call.post(MAPPING, {**body, "dry_run": True})).json()["would"]
    assert await stored(call) == []

    change = await save(call)

    assert change["counts"] == {"webhooks": 3, "applied": 3}
    assert tried["effects"] == {"changes": 3}
    summary = (await call.get(f"/team/v1/changes/abc/{change['id']}/summary")).json()
    assert summary["acts"] == {"contact.created": tried["records_made"]}
    of_status = [field for field in summary["fields"] if field["field"] == "contact_status"]
    assert [field["records"] for field in of_status] == [tried["fields"]["contact_status"]]
    records = (await call.get(f"/team/v1/changes/abc/{change['id']}/records")).json()["data"]
    assert {record["id"] for record in records} == {contact["id"] for contact in (await contacts(call)).values()}
    assert (await timeline(call, number)).count("lead_status_changed") == 2


async def test_revert__restores_mapping_records_and_webhooks(call: ApiClient) -> None:
    number = await known(call, email="a@people.example", first_name="Ann", contact_status="new")
    before = (await contacts(call))["a@people.example"]
    await receive(call, ("a@people.example", "talked"), ("b@people.example", "voicemail"))
    change = await save(call)
    assert {contact["contact_status"] for contact in (await contacts(call)).values()} == {"talked", "voicemail"}

    tried = await revert(call, change, "?dry_run=true")

    assert counts(tried) == {"remapped": 1, "withdrawn": 1, "gone": 1, "reread": 2}
    assert len(await contacts(call)) == 2
    assert len(await stored(call)) == 1

    job = await revert(call, change)

    assert counts(job) == counts(tried)
    assert await stored(call) == []
    assert await states(call) == ["unrecognised"] * 2
    after = await contacts(call)
    assert after.keys() == {"a@people.example"}
    hidden = ("updated_time",)
    assert {name: value for name, value in after["a@people.example"].items() if name not in hidden} == {
        name: value for name, value in before.items() if name not in hidden
    }
    assert await timeline(call, number) == ["contact.created"]
    assert (await call.get(f"/team/v1/changes/abc/{change['id']}")).json()["state"] == "reverted"
    assert await is_consistent(call)


async def test_revert__keeps_and_lists_what_somebody_changed_since(call: ApiClient) -> None:
    number = await known(call, email="a@people.example", first_name="Ann", contact_status="new")
    await receive(call, ("a@people.example", "talked"), ("b@people.example", "voicemail"), ("c@people.example", "talked"))
    change = await save(call)
    call.clock.move(60)
    made = (await contacts(call))["b@people.example"]["id"]
    await call.patch(f"/public/v2/contacts/{number}", {"contact_status": "customer"}, x_client_id="abc")
    await call.patch(f"/public/v2/contacts/{made}", {"last_name": "Bee"}, x_client_id="abc")
    await call.patch(CONNECTION, {"settings": {"fields": {**FIELDS, "last_name": "prospect.last", "status": "result"}}})
    call.clock.move(60)
    tried = await revert(call, change, "?dry_run=true")

    job = await revert(call, change)

    assert counts(job) == counts(tried) == {"gone": 1, "kept": 3, "reread": 2}
    listed = {(line["record"], line["id"]): line["reason"].partition(" at ")[0] for line in job["progress"]["listed"]}
    assert listed == {
        ("connection", None): "changed since: fields.status",
        ("contact", number): "changed since: contact_status",
        ("contact", made): "it has changed since: contact.updated",
    }
    after = await contacts(call)
    assert [(after[mail]["contact_status"], after[mail]["last_name"]) for mail in sorted(after)] == [
        ("customer", ""),
        ("voicemail", "Bee"),
    ]
    assert after["a@people.example"]["first_name"] == "Ann"
    [connection] = await stored(call)
    assert connection.settings.fields == {"last_name": "prospect.last", "status": "result"}
    assert (await call.get(f"/team/v1/changes/abc/{change['id']}")).json()["state"] == "partly"
    assert await is_consistent(call)


async def test_revert__keeps_a_record_that_somebody_wrote_a_note_on(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"), ("b@people.example", "talked"))
    change = await save(call)
    number = (await contacts(call))["a@people.example"]["id"]
    note = await call.post(f"/team/v1/notes/abc/contacts/{number}", {"text": "Call on Monday"})
    assert note.status == 201, note

    job = await revert(call, change)

    assert counts(job) == {"remapped": 1, "gone": 1, "kept": 1, "reread": 1}
    assert job["progress"]["listed"][0]["reason"].startswith("it has changed since: note.created")
    assert sorted(await states(call)) == ["applied", "unrecognised"]
    assert (await contacts(call))["a@people.example"]["contact_status"] == "talked"


async def test_revert__takes_an_opt_out_along(call: ApiClient) -> None:
    await known(call, email="a@people.example")
    await receive(call, ("a@people.example", "stop"))
    change = await save(call, {"event": "kind", "email": "prospect.mail"}, settings={"events": {"call.finished": "email_unsubscribed"}})
    listed = (await call.get("/public/v2/suppressions", x_client_id="abc")).json()["data"]
    assert [entry["value"] for entry in listed] == ["a@people.example"]

    await revert(call, change)

    assert (await call.get("/public/v2/suppressions", x_client_id="abc")).json()["data"] == []
    assert "contact_status" not in (await contacts(call))["a@people.example"]
    assert await is_consistent(call)


async def test_same_webhook_after_a_revert__is_read_with_the_mapping_in_force(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"))
    change = await save(call)
    await revert(call, change)
    call.clock.move(7200)
    await receive(call, ("a@people.example", "talked"))
    assert await contacts(call) == {}
    assert await states(call) == ["unrecognised"] * 2

    again = await save(call)

    assert again["counts"] == {"webhooks": 2, "applied": 2}
    assert (await contacts(call))["a@people.example"]["contact_status"] == "talked"
    call.clock.move(7200)
    await receive(call, ("b@people.example", "met"))
    assert (await contacts(call)).keys() == {"a@people.example", "b@people.example"}
    await revert(call, again)
    assert (await contacts(call)).keys() == {"b@people.example"}
    assert await is_consistent(call)


async def test_revert_of_a_revert__brings_all_again(call: ApiClient) -> None:
    await known(call, email="a@people.example", contact_status="new")
    await receive(call, ("a@people.example", "talked"), ("b@people.example", "voicemail"))
    change = await save(call)
    shown = {mail: contact["contact_status"] for mail, contact in (await contacts(call)).items()}
    await revert(call, change)
    back = (await call.get("/team/v1/changes?kind=revert")).json()["data"][0]

    job = await revert(call, back)

    assert counts(job) == {"remapped": 1, "reread": 2}
    assert {mail: contact["contact_status"] for mail, contact in (await contacts(call)).items()} == shown
    [connection] = await stored(call)
    assert connection.settings.fields == FIELDS
    assert (await call.get(f"/team/v1/changes/abc/{change['id']}")).json()["state"] == "open"
    assert counts(await revert(call, change)) == {"remapped": 1, "withdrawn": 1, "gone": 1, "reread": 2}
    assert {contact["contact_status"] for contact in (await contacts(call)).values()} == {"new"}
    assert await is_consistent(call)


async def test_second_mapping__reverts_alone(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"), ("b@people.example", "met"))
    first = await save(call, {"event": "kind", "email": "prospect.mail", "status": "outcome"})
    opened = {"status_labels": {"talked": "replied"}, "events": {"call.finished": "email_opened"}}
    second = await save(call, FIELDS, state="applied", settings=opened)
    timelines = [len(await timeline(call, contact["id"])) for contact in (await contacts(call)).values()]
    assert timelines == [2, 2]

    await revert(call, second)

    assert [contact["contact_status"] for contact in (await contacts(call)).values()] == ["talked", "met"]
    assert [connection.settings.fields for connection in await stored(call)] == [
        {"event": "kind", "email": "prospect.mail", "status": "outcome"}
    ]
    await revert(call, first)
    assert await contacts(call) == {}
    assert await is_consistent(call)


async def test_interrupted_revert__goes_on(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    people = [(f"p{number}@people.example", "talked") for number in range(7)]
    await receive(call, *people)
    monkeypatch.setattr("touchbase.mapping.job.PAGE", 2)
    change = await save(call)
    assert change["counts"] == {"webhooks": 7, "applied": 7}
    monkeypatch.setattr("touchbase.changes.job.PAGE", 2)
    reply = await call.post(f"/team/v1/changes/abc/{change['id']}/revert")
    job = reply.json()["id"]

    class Killed(BaseException):
        pass

    steps: list[int] = []

    def dies(*args: Any, **members: Any) -> Any:
        steps.append(1)
        if len(steps) == 3:
            raise Killed
        return revert_deliveries(*args, **members)

    monkeypatch.setattr("touchbase.changes.job.revert_deliveries", dies)
    await worker(call, CHANGE_KINDS).drain()
    call.clock.now += SETTLED
    with pytest.raises(Killed):
        await worker(call, CHANGE_KINDS).drain()
    assert len(await contacts(call)) == 3
    call.clock.now += 60 * SECOND

    await drained(call)

    ended = (await call.get(f"/public/v2/jobs/{job}", x_client_id="abc")).json()
    assert counts(ended) == {"remapped": 1, "gone": 7, "reread": 7}
    assert await contacts(call) == {}
    assert await states(call) == ["unrecognised"] * 7


CRM = "/admin/v1/clients/abc/connections/crm/generic/mapping"
CRM_FIELDS = {"event": "kind", "email": "who", "status": "stage", "first_name": "first", "custom.Plan": "plan"}


@pytest.mark.parametrize(
    ("meaning", "changed"),
    [
        ("contact.updated", ("customer", "New", {"Plan": "Gold"})),
        ("status", ("customer", "Ann", {})),
        ("timeline", ("new", "Ann", {})),
        ("ignored", ("new", "Ann", {})),
    ],
)
async def test_event_of_a_crm__does_what_it_means(call: ApiClient, meaning: str, changed: tuple[str, str, Json]) -> None:
    number = await known(call, email="a@people.example", first_name="Ann", contact_status="new")
    body = {"kind": "zorp", "who": "a@people.example", "stage": "customer", "first": "New", "plan": "Gold", "riddle": {"x": 1}}
    assert (await call("POST", "/public/crm-webhook/abc", raw=json.dumps(body).encode())).status == 200
    await work(call)
    [state] = await states(call)

    saved = await call.post(CRM, {"settings": {"fields": CRM_FIELDS, "events": {"zorp": meaning}}, "state": state})

    assert saved.status == 202, saved
    await drained(call)
    contact = (await contacts(call))["a@people.example"]
    assert (contact["contact_status"], contact["first_name"], contact["contact_custom_fields"]) == changed
    assert len(await timeline(call, number)) == {"timeline": 2, "ignored": 1}.get(meaning, 3)


async def test_dry_run__names_the_places_of_values_that_the_mapping_leaves_out(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"))
    settings = {"fields": {"status": "outcome"}}
    tried = (await call.post(MAPPING, {"settings": settings, "dry_run": True})).json()["would"]
    assert [each["inferred"] for each in tried["deliveries"]] == [{"email": "prospect.mail"}]


async def test_explain__names_the_places_of_values_that_the_mapping_left_out(call: ApiClient) -> None:
    await receive(call, ("a@people.example", "talked"))
    await save(call, {"event": "kind", "status": "outcome"})
    (contact,) = (await contacts(call)).values()

    explained = (await call.get(f"/public/v2/contacts/{contact['id']}/explain", x_client_id="abc")).json()["data"]

    (status,) = [each for each in explained if each["field"] == "contact_status"]
    assert status["set_by"]["inferred"] == {"email": "prospect.mail"}
