"""Reverts of changes over HTTP: what goes back, what stays and why, and what a revert refuses."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from tests.asgi_client import ApiClient
from tests.imports.jobs import upload, worker

from touchbase.changes.job import KINDS as CHANGE_KINDS
from touchbase.changes.job import RevertKind
from touchbase.common.timestamps import DAY, SECOND
from touchbase.custom_fields import job as field_job
from touchbase.custom_fields.job import KINDS as FIELD_KINDS
from touchbase.imports.job import KINDS as IMPORT_KINDS
from touchbase.jobs.runner import LEASE, JobRun
from touchbase.statuses.job import KINDS as STATUS_KINDS
from touchbase.statuses.models import SETTLED

CONTACTS = "/public/v2/contacts"
CHANGES = "/team/v1/changes"
Json = dict[str, Any]


@pytest.fixture(autouse=True)
def _settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that do not wait for other processes, as there are none."""
    monkeypatch.setattr(field_job, "SETTLING_SECONDS", 0.0)


async def drained(call: ApiClient) -> None:
    kinds = (*IMPORT_KINDS, *CHANGE_KINDS, *STATUS_KINDS, *FIELD_KINDS)
    await worker(call, kinds).drain()
    call.clock.now += SETTLED
    await worker(call, kinds).drain()


async def newest(call: ApiClient, query: str = "") -> Json:
    """The newest change."""
    reply = await call.get(f"{CHANGES}?limit=1{query}")
    assert reply.status == 200, reply
    change: Json = reply.json()["data"][0]
    return change


def path_of(change: Json) -> str:
    return f"{CHANGES}/{change['client_id']}/{change['id']}"


async def reverted(call: ApiClient, change: Json, query: str = "") -> Json:
    """Revert a change; return the job at its end."""
    reply = await call.post(f"{path_of(change)}/revert{query}")
    assert reply.status == 202, reply
    await drained(call)
    job: Json = (await call.get(f"/public/v2/jobs/{reply.json()['id']}")).json()
    assert job["state"] == "succeeded", job
    return job


def counts(job: Json) -> dict[str, int]:
    return {name: count for name, count in job["progress"].items() if isinstance(count, int) and count and name != "percent"}


async def state(call: ApiClient, change: Json) -> str:
    return str((await call.get(path_of(change))).json()["state"])


async def create(call: ApiClient, **members: object) -> int:
    reply = await call.post(CONTACTS, members)
    assert reply.status == 201, reply
    return int(reply.json()["id"])


async def get(call: ApiClient, number: int, path: str = CONTACTS) -> Json:
    reply = await call.get(f"{path}/{number}?structure=FLAT")
    contact: Json = reply.json() if reply.status == 200 else {"status": reply.status}
    return contact


async def import_file(call: ApiClient, data: bytes) -> Json:
    await upload(call, data, start="true", file_name="leads.csv")
    await drained(call)
    return await newest(call)


async def test_an_import__is_reverted_but_for_what_somebody_changed_since(call: ApiClient) -> None:
    known = await create(call, email="known@example.com", first_name="Kim", last_name="Old")
    other = await create(call, email="other@example.com", first_name="Lee", last_name="Old")
    lines = "".join(f"p{n}@example.com,P{n},New\n" for n in range(60))
    data = f"email,first_name,last_name\n{lines}known@example.com,Kim,New\nother@example.com,Li,New\n".encode()
    change = await import_file(call, data)
    assert (change["kind"], change["job_kind"], change["state"], change["revertible"]) == ("import", "contacts.import", "open", True)
    assert change["file_name"] == "leads.csv"
    assert (change["counts"]["created"], change["counts"]["updated"]) == (60, 2)
    page = (await call.get(f"{CONTACTS}?structure=FLAT&email=p7@example.com")).json()["data"]
    call.clock.move(3600)
    await call.patch(f"{CONTACTS}/{page[0]['id']}", {"last_name": "Edited"})
    await call.patch(f"{CONTACTS}/{other}", {"last_name": "Edited"})
    call.clock.move(24 * 3600)

    tried = await reverted(call, change, "?dry_run=true")

    assert counts(tried) == {"changed": 1, "deleted": 59, "kept": 2}
    assert await state(call, change) == "open"
    assert (await get(call, known))["last_name"] == "New"

    job = await reverted(call, change)

    assert counts(job) == counts(tried)
    assert {(line["id"], line["reason"].partition(" at ")[0]) for line in job["progress"]["listed"]} == {
        (page[0]["id"], "it has changed since: contact.updated"),
        (other, "changed since: last_name"),
    }
    assert (await get(call, known))["last_name"] == "Old"
    assert [(await get(call, other))[name] for name in ("first_name", "last_name")] == ["Lee", "Edited"]
    listed = (await call.get(f"{CONTACTS}?structure=FLAT")).json()["data"]
    assert {contact["email"] for contact in listed} == {"known@example.com", "other@example.com", "p7@example.com"}
    assert await state(call, change) == "partly"
    report = await call.get(f"/public/v2/jobs/{job['id']}/report")
    lines = list(csv.DictReader(io.StringIO(report.body.decode())))
    assert len(lines) == 62
    assert sum(line["outcome"] == "deleted" for line in lines) == 59


async def test_a_company_of_an_import__stays_while_a_contact_of_it_stays(call: ApiClient) -> None:
    data = b"email,company_domain\na@one.example,one.example\nb@one.example,one.example\nc@two.example,two.example\n"
    change = await import_file(call, data)
    contact = (await call.get(f"{CONTACTS}?structure=FLAT&email=a@one.example")).json()["data"][0]
    call.clock.move(60)
    await call.patch(f"{CONTACTS}/{contact['id']}", {"first_name": "Ann"})

    tried = counts(await reverted(call, change, "?dry_run=true"))
    job = await reverted(call, change)

    assert tried == counts(job) == {"deleted": 3, "kept": 2}
    domains = [company["domain"] for company in (await call.get("/public/v2/companies?structure=FLAT")).json()["data"]]
    assert domains == ["one.example"]
    assert [line["reason"] for line in job["progress"]["listed"]][1] == "contacts that stay belong to it: 1"


async def test_a_revert__is_a_change_that_can_be_reverted(call: ApiClient) -> None:
    known = await create(call, email="known@example.com", last_name="Old")
    change = await import_file(call, b"email,last_name\nnew@example.com,Doe\nknown@example.com,New\n")
    await reverted(call, change)
    assert await state(call, change) == "reverted"
    back = await newest(call)
    assert (back["kind"], back["reverts"], back["counts"]) == ("revert", change["id"], {"deleted": 1, "changed": 1})
    again = await call.post(f"{path_of(change)}/revert")
    assert (again.status, "to have it again, revert that change" in again.problem["detail"]) == (409, True)
    call.clock.move(60)

    job = await reverted(call, back)

    assert counts(job) == {"restored": 1, "changed": 1}
    assert (await get(call, known))["last_name"] == "New"
    assert len((await call.get(f"{CONTACTS}?email=new@example.com")).json()["data"]) == 1
    assert await state(call, back) == "reverted"
    assert await state(call, change) == "open"


async def test_a_change_by_filter__gives_values_and_custom_fields_back(call: ApiClient) -> None:
    ids = [await create(call, email=f"p{n}@example.com", contact_status=("new", "contacted")[n % 2]) for n in range(4)]
    field = {"contact_custom_fields_input": [{"field_name": "Segment", "field_value": "A"}]}
    await call.patch(f"{CONTACTS}/{ids[0]}", field)
    body = {"contact_status": "replied", "contact_custom_fields_input": [{"field_name": "Segment", "field_value": "B"}]}
    assert (await call.patch(f"{CONTACTS}?contact_status%5Bin%5D=new,contacted", body)).json()["changed"] == 4
    change = await newest(call)
    assert (change["kind"], change["counts"]) == ("bulk", {"records": 4})
    call.clock.move(60)
    await call.patch(f"{CONTACTS}/{ids[3]}", {"contact_status": "won"})

    job = await reverted(call, change)

    assert counts(job) == {"changed": 3, "kept": 1}
    assert job["progress"]["listed"] == [{"record": "contact", "id": ids[3], "reason": "changed since: contact_status"}]
    contacts = [await get(call, number) for number in ids]
    assert [contact["contact_status"] for contact in contacts] == ["new", "contacted", "new", "won"]
    assert [contact.get("contact_custom_fields", {}).get("Segment") for contact in contacts] == ["A", None, None, None]


async def test_a_status__goes_back_although_no_transition_leads_there(call: ApiClient) -> None:
    await call.settings(contact_statuses={"statuses": ["new", "won", "lost"], "transitions": {"won": [], "lost": []}})
    ids = [await create(call, email=f"p{n}@example.com", contact_status="new") for n in range(2)]
    assert (await call.patch(f"{CONTACTS}?contact_status=new", {"contact_status": "won"})).json()["changed"] == 2
    change = await newest(call)
    await call.settings(contact_statuses={"statuses": ["new", "won"], "transitions": {"won": []}})

    assert counts(await reverted(call, change)) == {"changed": 2}
    assert [(await get(call, number))["contact_status"] for number in ids] == ["new", "new"]
    back = await newest(call)
    await call.settings(contact_statuses={"statuses": ["new"]})
    job = await reverted(call, back)
    assert counts(job) == {"kept": 2}
    assert "contact_status" in job["progress"]["listed"][0]["reason"]


async def test_a_batch__is_one_change_whatever_its_commands(call: ApiClient) -> None:
    first, second, third = [await create(call, email=f"p{n}@example.com", first_name="Old") for n in range(3)]
    commands = [
        {"op": "update", "id": first, "body": {"first_name": "New", "emails": ["p0@example.com", "more@example.com"]}},
        {"op": "delete", "id": second},
        {"op": "create", "body": {"email": "fresh@example.com"}},
        {"op": "update", "id": third, "body": {"email": "moved@example.com"}},
    ]
    assert (await call.post(f"{CONTACTS}/batch", {"commands": commands})).json()["failed"] == 0
    change = await newest(call)
    assert change["counts"] == {"records": 4}
    call.clock.move(60)

    job = await reverted(call, change)

    assert counts(job) == {"changed": 2, "deleted": 1, "restored": 1}
    contact = await get(call, first)
    assert (contact["first_name"], contact.get("emails", ["p0@example.com"])) == ("Old", ["p0@example.com"])
    assert (await get(call, second))["email"] == "p1@example.com"
    assert (await get(call, third))["email"] == "p2@example.com"
    assert (await call.get(f"{CONTACTS}?email=fresh@example.com")).json()["data"] == []


async def test_requests_with_one_request_id__are_one_change_for_a_while(call: ApiClient) -> None:
    ids = [await create(call, email=f"p{n}@example.com", first_name="Old") for n in range(3)]
    for number in ids[:2]:
        command = {"op": "update", "id": number, "body": {"first_name": "New"}}
        await call.post(f"{CONTACTS}/batch", {"commands": [command]}, x_request_id="parts-of-one")
    call.clock.move(3600)
    last = {"op": "update", "id": ids[2], "body": {"first_name": "New"}}
    await call.post(f"{CONTACTS}/batch", {"commands": [last]}, x_request_id="parts-of-one")

    later, earlier = (await call.get(CHANGES)).json()["data"]
    assert [later["counts"], earlier["counts"]] == [{"records": 1}, {"records": 2}]
    await reverted(call, earlier)

    assert [(await get(call, number))["first_name"] for number in ids] == ["Old", "Old", "New"]


async def test_a_single_edit__is_reverted_by_its_request(call: ApiClient) -> None:
    contact = await create(call, email="a@example.com", first_name="Old", last_name="Old")
    edit = await call.patch(f"{CONTACTS}/{contact}", {"first_name": "New", "last_name": "New"})
    assert (await call.get(CHANGES)).json()["data"] == []
    change = (await call.get(f"{CHANGES}/default/{edit.headers['x-request-id']}")).json()
    assert (change["kind"], change["counts"], change["state"]) == ("edit", {"records": 1}, "open")
    await call.patch(f"{CONTACTS}/{contact}", {"last_name": "Newer"})

    job = await reverted(call, change)

    assert job["progress"]["listed"] == [{"record": "contact", "id": contact, "reason": "changed since: last_name"}]
    assert [(await get(call, contact))[name] for name in ("first_name", "last_name")] == ["Old", "Newer"]
    assert await state(call, change) == "partly"
    for unknown in ("unknown-request", "%00", "%25", "%F0%9F%98%80", "a%22b", "%ED%A0%80"):
        assert (await call.get(f"{CHANGES}/default/{unknown}")).status == 404


async def test_a_deletion__is_reverted_unless_the_address_is_taken(call: ApiClient) -> None:
    ids = [await create(call, email=f"p{n}@example.com") for n in range(2)]
    await call("DELETE", f"{CONTACTS}/{ids[0]}")
    change = await newest(call)
    assert (change["kind"], change["counts"]) == ("delete", {"records": 1})
    await reverted(call, change)
    assert (await get(call, ids[0]))["email"] == "p0@example.com"
    await call("DELETE", f"{CONTACTS}/{ids[1]}")
    taken = await newest(call)
    other = await create(call, email="p1@example.com")

    job = await reverted(call, taken)

    assert counts(job) == {"kept": 1}
    assert f"id {other} has the email" in job["progress"]["listed"][0]["reason"]


async def test_a_deleted_company__comes_back_with_its_contacts(call: ApiClient) -> None:
    company = (await call.post("/public/v2/companies", {"domain": "one.example"})).json()["id"]
    ids = [await create(call, email=f"p{n}@one.example", company_id=company) for n in range(3)]
    await call("DELETE", f"/public/v2/companies/{company}")

    change = await newest(call)
    assert counts(await reverted(call, change, "?dry_run=true")) == {"restored": 1, "unchanged": 3}
    assert counts(await reverted(call, change)) == {"restored": 1, "unchanged": 3}
    assert [(await get(call, number))["company_id"] for number in ids] == [company] * 3


async def test_a_batch_that_creates_and_deletes__leaves_nothing_to_revert(call: ApiClient) -> None:
    first = await create(call, email="a@example.com")
    commands = [{"op": "create", "body": {"email": "b@example.com"}}, {"op": "delete", "id": first + 1}]
    assert (await call.post(f"{CONTACTS}/batch", {"commands": commands})).json()["failed"] == 0

    assert counts(await reverted(call, await newest(call))) == {"unchanged": 1}
    assert [contact["id"] for contact in (await call.get(CONTACTS)).json()["data"]] == [first]


async def test_a_merge__is_divided_by_the_same_route(call: ApiClient) -> None:
    first, second = await create(call, email="a@example.com"), await create(call, email="b@example.com", last_name="Bee")
    assert (await call.post(f"{CONTACTS}/{first}/merge", {"with": [second]})).status == 200
    change = await newest(call)
    assert (change["kind"], change["counts"]) == ("merge", {"records": 2})
    call.clock.move(60)

    tried = await reverted(call, change, "?dry_run=true")
    assert (await get(call, second))["status"] == 404
    job = await reverted(call, change)

    assert counts(tried) == counts(job) == {"divided": 1}
    assert [(await get(call, number)).get("last_name") for number in (first, second)] == ["", "Bee"]
    back = await newest(call)
    job = await reverted(call, back)
    assert set(counts(job)) == {"kept"}
    assert (await get(call, second))["last_name"] == "Bee"


async def test_an_old_change__is_refused_with_the_reason(call: ApiClient) -> None:
    contact = await create(call, email="a@example.com")
    await call("DELETE", f"{CONTACTS}/{contact}")
    change = await newest(call)
    call.clock.now += 30 * DAY

    reply = await call.post(f"{path_of(change)}/revert")

    assert (reply.status, reply.problem["detail"].partition(" until ")[0]) == (409, "the change could be reverted")
    assert (await newest(call))["revertible"] is False


async def test_a_revert_that_is_cancelled__can_be_started_again(call: ApiClient) -> None:
    change = await import_file(call, b"email\n" + b"".join(b"p%d@example.com\n" % n for n in range(5)))
    job = (await call.post(f"{path_of(change)}/revert")).json()
    assert await state(call, change) == "reverting"
    assert (await call.post(f"{path_of(change)}/revert")).status == 409
    await call.post(f"/public/v2/jobs/{job['id']}/cancel")
    assert await state(call, change) == "partly"

    assert counts(await reverted(call, change)) == {"deleted": 5}
    assert await state(call, change) == "reverted"


class Killed(BaseException):
    """The process of the worker ends."""


class KilledAfterAStep(RevertKind):
    """A revert whose worker is killed after its first step."""

    async def run(self, run: JobRun) -> None:
        step = run.step

        async def stepped(*value: Any) -> list[Any]:
            await step(*value)
            raise Killed

        run.step = stepped  # type: ignore[method-assign]
        await super().run(run)


async def test_a_revert__continues_after_a_kill_and_repeats_nothing(call: ApiClient) -> None:
    ids = [await create(call, email=f"k{n}@example.com", contact_status="new") for n in range(2)]
    await import_file(call, b"email\n" + b"".join(b"p%d@example.com\n" % n for n in range(120)))
    change = await newest(call)
    job = (await call.post(f"{path_of(change)}/revert")).json()

    with pytest.raises(Killed):
        await worker(call, [KilledAfterAStep()]).drain()
    killed = (await call.get(f"/public/v2/jobs/{job['id']}")).json()
    left = len((await call.get(f"{CONTACTS}?limit=200")).json()["data"])
    call.clock.now += LEASE + SECOND
    await drained(call)

    assert (killed["state"], 0 < killed["progress"]["deleted"] < 120) == ("running", True)
    assert left == 122 - killed["progress"]["deleted"]
    done = (await call.get(f"/public/v2/jobs/{job['id']}")).json()
    assert (done["state"], counts(done)) == ("succeeded", {"deleted": 120})
    report = (await call.get(f"/public/v2/jobs/{job['id']}/report")).body.decode()
    assert len({line["id"] for line in csv.DictReader(io.StringIO(report))}) == len(report.splitlines()) - 1 == 120
    assert [contact["id"] for contact in (await call.get(f"{CONTACTS}?limit=200")).json()["data"]] == ids
    assert (await newest(call))["counts"] == {"deleted": 120}
    assert await state(call, change) == "reverted"
    await call.patch("/public/v2/statuses/contacts/new", {"name": "Fresh"})
    await drained(call)
    rename = await newest(call)
    job = (await call.post(f"{path_of(rename)}/revert")).json()
    with pytest.raises(Killed):
        await worker(call, [KilledAfterAStep()]).drain()
    call.clock.now += LEASE + SECOND
    await drained(call)
    assert counts((await call.get(f"/public/v2/jobs/{job['id']}")).json()) == {"renamed": 1}
    assert [(await get(call, number))["contact_status"] for number in ids] == ["new", "new"]


async def test_list__is_filtered_and_paged(call: ApiClient) -> None:
    ids = [await create(call, email=f"p{n}@example.com") for n in range(3)]
    for number in ids:
        await call("DELETE", f"{CONTACTS}/{number}")
        call.clock.move(60)
    await import_file(call, b"email\nx@example.com\n")

    first = (await call.get(f"{CHANGES}?kind=delete&limit=2")).json()
    second = (await call.get(f"{CHANGES}?kind=delete&limit=2&cursor={first['next_cursor']}")).json()

    times = [change["at"] for change in first["data"] + second["data"]]
    assert (len(times), times) == (3, sorted(times, reverse=True))
    assert second["next_cursor"] is None
    assert [change["kind"] for change in (await call.get(f"{CHANGES}?since={times[0]}")).json()["data"]] == ["import", "delete"]
    assert (await call.get(f"{CHANGES}?state=reverted")).json()["data"] == []
    assert (await call.get(f"{CHANGES}?client_id=nobody")).status == 404
    assert (await call.get(f"{CHANGES}?kind=nonsense")).status == 422
    assert (await call.get(f"{CHANGES}/{(await newest(call))['client_id']}/nothing")).status == 404
    assert (await call.get(f"{CHANGES}?kind=delete&since=yesterday")).status == 422


@pytest.mark.slow
async def test_an_import_of_10000_rows__is_reverted_the_next_day_but_for_three(call: ApiClient) -> None:
    change = await import_file(call, b"email\n" + b"".join(b"p%d@example.com\n" % n for n in range(10_000)))
    edited = [contact["id"] for contact in (await call.get(f"{CONTACTS}?limit=3")).json()["data"]]
    for number in edited:
        await call.patch(f"{CONTACTS}/{number}", {"first_name": "Edited"})
    call.clock.now += DAY

    job = await reverted(call, change)

    assert counts(job) == {"deleted": 9_997, "kept": 3}
    assert sorted(line["id"] for line in job["progress"]["listed"]) == sorted(edited)
    assert [contact["id"] for contact in (await call.get(f"{CONTACTS}?limit=5")).json()["data"]] == edited


async def test_a_renamed_status__gets_its_former_name_back_and_its_records_follow(call: ApiClient) -> None:
    ids = [await create(call, email=f"p{n}@example.com", contact_status=("warm", "cold")[n % 2]) for n in range(4)]
    assert (await call.patch("/public/v2/statuses/contacts/warm", {"name": "Hot"})).status == 202
    assert (await call.post(f"{path_of(await newest(call))}/revert")).status == 409  # its records have yet to follow
    await drained(call)
    change = await newest(call)
    assert (change["kind"], change["renamed"], change["counts"]) == ("rename", ["warm", "Hot"], {"records": 2})
    assert [(await get(call, number))["contact_status"] for number in ids] == ["Hot", "cold"] * 2
    call.clock.move(60)

    assert counts(await reverted(call, change, "?dry_run=true")) == {"renamed": 1}
    assert [(await get(call, number))["contact_status"] for number in ids] == ["Hot", "cold"] * 2
    assert counts(await reverted(call, change)) == {"renamed": 1}

    assert [(await get(call, number))["contact_status"] for number in ids] == ["warm", "cold"] * 2
    back = await newest(call)
    assert (back["kind"], back["reverts"], await state(call, change)) == ("revert", change["id"], "reverted")
    await reverted(call, back)
    assert [(await get(call, number))["contact_status"] for number in ids] == ["Hot", "cold"] * 2
    assert await state(call, change) == "open"
    await call.patch("/public/v2/statuses/contacts/Hot", {"name": "Hottest"})
    await drained(call)
    job = await reverted(call, change)
    assert job["progress"]["listed"] == [
        {"record": "status", "id": None, "reason": "'Hot' is called 'Hottest' now; name that one"},
    ]  # fmt: skip


async def test_a_merge_of_statuses_or_fields__says_before_and_after_that_it_stays(call: ApiClient) -> None:
    for name in ("warm", "cold"):
        field = {"field_name": name, "field_value": "1"}
        await create(call, email=f"{name}@example.com", contact_status=name, contact_custom_fields_input=[field])
    merge = "/public/v2/statuses/contacts/warm/merge"
    [note] = (await call.post(f"{merge}?dry_run=true", {"into": "cold"})).json()["notes"]
    assert note.startswith("a merge cannot be reverted")
    assert (await call.post(merge, {"into": "cold"})).status == 202
    await drained(call)
    assert (await call.post("/public/v2/custom-fields/contacts/warm/merge", {"into": "cold"})).status == 202
    await drained(call)

    for change in (await call.get(CHANGES)).json()["data"]:
        assert (change["kind"], change["renamed"], change["revertible"]) == ("merge", ["warm", "cold"], False)
        reply = await call.post(f"{path_of(change)}/revert")
        assert (reply.status, "which cannot be reverted" in reply.problem["detail"]) == (409, True)


async def test_changes_of_custom_fields__are_reverted(call: ApiClient) -> None:
    async def set_field(number: int, name: str, value: str) -> None:
        body = {"contact_custom_fields_input": [{"field_name": name, "field_value": value}]}
        assert (await call.patch(f"{CONTACTS}/{number}", body)).status == 200

    async def values() -> list[dict[str, str]]:
        return [(await get(call, number))["contact_custom_fields"] for number in ids]

    ids = [await create(call, email=f"p{n}@example.com") for n in range(3)]
    for number, value in zip(ids, ("A", "a", "B"), strict=True):
        await set_field(number, "Tier", value)
    path = "/public/v2/custom-fields/contacts"
    assert (await call.patch(f"{path}/Tier", {"name": "Level"})).status == 202
    await drained(call)
    assert await values() == [{"Level": "A"}, {"Level": "a"}, {"Level": "B"}]
    change = await newest(call)
    assert (change["kind"], change["renamed"], change["counts"]) == ("rename", ["Tier", "Level"], {"records": 3})
    call.clock.move(60)
    assert counts(await reverted(call, change)) == {"renamed": 1}
    assert await values() == [{"Tier": "A"}, {"Tier": "a"}, {"Tier": "B"}]

    assert (await call.post(f"{path}/Tier/merge-values", {"values": ["a"], "into": "A"})).status == 202
    await drained(call)
    respelled = await newest(call)
    assert (respelled["kind"], respelled["job_kind"], respelled["counts"]) == ("bulk", "contacts.custom_fields", {"records": 1})
    assert (await call("DELETE", f"{path}/Tier?values=delete")).status == 202
    await drained(call)
    assert await values() == [{}] * 3
    call.clock.move(60)

    assert counts(await reverted(call, await newest(call))) == {"changed": 3}
    assert counts(await reverted(call, respelled)) == {"changed": 1}
    assert await values() == [{"Tier": "A"}, {"Tier": "a"}, {"Tier": "B"}]


async def listed_addresses(call: ApiClient) -> set[str]:
    return {entry["value"] for entry in (await call.get("/public/v2/suppressions")).json()["data"]}


async def test_a_block__is_reverted_with_its_entries_and_its_status(call: ApiClient) -> None:
    ids = [await create(call, email=f"p{n}@acme{n}.com", contact_status="replied") for n in range(2)]
    for number in ids:
        assert (await call.post(f"{CONTACTS}/{number}/block", {"company": True})).status == 200
    second, first = (await call.get(CHANGES)).json()["data"]
    assert (first["kind"], first["counts"]) == ("block", {"records": 1})
    call.clock.move(7200)
    await call.post("/public/v2/suppressions", {"kind": "email", "value": "p1@acme1.com", "reason": "legal"})
    await call.patch(f"{CONTACTS}/{ids[1]}", {"contact_status": "won"})

    tried = counts(await reverted(call, first, "?dry_run=true"))
    job = await reverted(call, first)

    assert tried == counts(job) == {"changed": 1, "unblocked": 2}
    assert (await get(call, ids[0]))["contact_status"] == "replied"
    assert await listed_addresses(call) == {"p1@acme1.com", "acme1.com"}
    assert await state(call, first) == "reverted"
    again = await reverted(call, await newest(call))
    assert counts(again) == {"changed": 1, "unchanged": 1, "kept": 1}
    assert again["progress"]["listed"][0]["reason"] == "it was taken off the do-not-contact list: add it there again"
    assert "p0@acme0.com" in await listed_addresses(call)
    job = await reverted(call, second)
    assert counts(job) == {"unblocked": 1, "kept": 2}
    assert {line["reason"] for line in job["progress"]["listed"]} == {
        "changed since: contact_status", "there is another reason on the do-not-contact list",
    }  # fmt: skip
    assert await listed_addresses(call) == {"p0@acme0.com", "p1@acme1.com"}


async def test_an_import_with_opt_outs__takes_its_entries_back_unless_confirmed_since(call: ApiClient) -> None:
    await create(call, email="known@example.com", contact_status="new")
    names = ("p0", "p1", "p2", "known")
    change = await import_file(
        call, "\n".join(["email,contact_status", *(f"{name}@example.com,do_not_contact" for name in names)]).encode()
    )
    assert await listed_addresses(call) == {f"{name}@example.com" for name in names}
    call.clock.move(7200)
    await call.post("/public/v2/suppressions", {"kind": "email", "value": "p0@example.com", "reason": "requested"})

    job = await reverted(call, change)

    assert counts(job) == {"changed": 1, "deleted": 3, "unblocked": 3, "kept": 1}
    assert await listed_addresses(call) == {"p0@example.com"}


async def test_a_change_by_filter__says_what_it_did_to_which_records(call: ApiClient) -> None:
    statuses = ("new", "contacted", "new")
    ids = [await create(call, email=f"p{n}@example.com", first_name=f"P{n}", contact_status=status) for n, status in enumerate(statuses)]
    body = {"contact_status": "replied", "contact_custom_fields_input": [{"field_name": "Tier", "field_value": "A"}]}
    assert (await call.patch(f"{CONTACTS}?contact_status%5Bin%5D=new,contacted", body)).json()["changed"] == 3
    change = await newest(call)
    call.clock.move(60)
    await call.patch(f"{CONTACTS}/{ids[0]}", {"contact_status": "won"})

    summary = (await call.get(f"{path_of(change)}/summary")).json()
    first = (await call.get(f"{path_of(change)}/records?limit=2")).json()
    second = (await call.get(f"{path_of(change)}/records?limit=2&cursor={first['next_cursor']}")).json()

    assert [(line["field"], line["before"], line["after"], line["records"]) for line in summary["fields"]] == [
        ("cf.Tier", None, "A", 3), ("contact_status", "new", "replied", 2), ("contact_status", "contacted", "replied", 1),
    ]  # fmt: skip
    assert (summary["acts"], summary["complete"]) == ({}, True)
    lines = first["data"] + second["data"]
    assert sorted((line["id"], line["name"]) for line in lines) == [(number, f"P{n}") for n, number in enumerate(ids)]
    assert {line["id"]: line["changed"]["contact_status"] for line in lines} == {
        number: [status, "replied"] for number, status in zip(ids, statuses, strict=True)
    }
    assert [len(first["data"]), len(second["data"]), second["next_cursor"]] == [2, 1, None]
    imported = await import_file(call, b"email,last_name\n" + b"".join(b"q%d@example.com,L%d\n" % (n, n) for n in range(9)))
    assert (await call.get(f"{path_of(imported)}/summary")).json()["acts"] == {"contact.created": 9}
    edited = await call.patch(f"{CONTACTS}?email%5Bstarts_with%5D=q", {"last_name": "Same"})
    fields = (await call.get(f"{path_of(await newest(call))}/summary")).json()["fields"]
    assert (edited.json()["changed"], [line["records"] for line in fields]) == (9, [1, 1, 1, 1, 1, 4])
    assert [line["several"] for line in fields] == [False] * 5 + [True]
    assert (await call.get(f"{path_of(change)}/records?cursor=nonsense")).status == 422
