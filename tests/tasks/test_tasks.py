"""Tasks: who writes, lists, changes, does and deletes them, who is told, and that they go where their record goes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.auth.test_people import Browser, Office, PersonalKey, grants, office, quick_passwords
from tests.conversations.test_people import reply_to
from tests.notes.test_notes import COMPANIES, CONTACTS, sure
from tests.notifying.test_notifications import Team, team

from touchbase.common.timestamps import to_text

__all__ = ["office", "quick_passwords", "team"]
TASKS = "/team/v1/tasks"


def path_of(record: int, client_id: str = "ours", kind: str = "contacts") -> str:
    return f"{TASKS}/{client_id}/{kind}/{record}"


def after(office: Office, seconds: int) -> str:
    return to_text(office.call.clock() + seconds * 1_000_000)


async def write(
    by: Browser | PersonalKey | Office, record: int, text: str, due_at: str, assignee_id: str | None = None, **place: str
) -> Any:
    return await sure(await by("POST", path_of(record, **place), {"text": text, "due_at": due_at, "assignee_id": assignee_id}), 201)


async def texts(by: Browser | PersonalKey | Office, query: str = "", path: str = TASKS) -> list[str]:
    return [task["text"] for task in (await sure(await by("GET", f"{path}?{query}")))["data"]]


async def contact_of(office: Office, name: str, client_id: str = "ours") -> int:
    body = {"email": f"{name}@x.example", "first_name": name.title()}
    return int((await sure(await office("POST", CONTACTS, body, x_client_id=client_id), 201))["id"])


async def test_task__is_written_assigned_done_and_opened_again(office: Office) -> None:
    contact = await contact_of(office, "ann")
    mira, ben = [await office.join(f"{name}@example.com", role="operator") for name in ("mira", "ben")]

    task = await write(mira, contact, " Call her\r\n", after(office, 60), "me")
    assert (task["text"], task["assignee_id"], task["author"]["id"]) == ("Call her", mira.user["id"], mira.user["id"])
    assert (task["client_id"], task["contact_id"], task["company_id"], task["name"]) == ("ours", contact, None, "Ann")
    place = f"{path_of(contact)}/{task['id']}"
    given = await sure(await ben("PATCH", place, {"assignee_id": "me", "due_at": after(office, 90)}, if_match=f'"{task["version"]}"'))
    assert (given["assignee_id"], given["due_at"]) == (ben.user["id"], after(office, 90))
    assert (await mira("PATCH", place, {"done": True}, if_match=f'"{task["version"]}"')).status == 412
    assert (await texts(mira, "assignee_id=me"), await texts(ben, "assignee_id=me")) == ([], ["Call her"])

    done = await sure(await mira("PATCH", place, {"done": True}))

    assert (done["done_at"], done["done_by"]["id"]) == (after(office, 0), mira.user["id"])
    assert (await texts(ben), await texts(ben, "state=done")) == ([], ["Call her"])
    opened = await sure(await ben("PATCH", place, {"done": False, "assignee_id": None}))
    assert (opened["done_at"], opened["done_by"], opened["assignee_id"]) == (None, None, None)
    assert await texts(ben, "assignee_id=none") == ["Call her"]
    [entry] = [event for event in (await timeline(office, contact)) if "task" in event]
    assert (entry["event"], entry["task"]["text"], entry["actor"]["id"]) == ("contact.tasked", "Call her", mira.user["id"])
    logged = (await sure(await office("GET", "/public/v2/events?limit=200", x_client_id="ours")))["data"]
    assert [event["type"] for event in logged if "task_id" in event["data"]] == [
        "task.created", "task.updated", "task.done", "task.updated",
    ]  # fmt: skip


async def timeline(office: Office, record: int) -> list[Any]:
    events: list[Any] = (await sure(await office("GET", f"{CONTACTS}/{record}/timeline", x_client_id="ours")))["data"]
    return events


async def test_task__is_deleted_by_its_author_or_an_administrator(office: Office) -> None:
    contact = await contact_of(office, "ann")
    mira, ben = [await office.join(f"{name}@example.com", role="operator") for name in ("mira", "ben")]
    first, second = [await write(mira, contact, text, after(office, 60)) for text in ("first", "second")]

    assert (await ben("DELETE", f"{path_of(contact)}/{first['id']}")).status == 403
    assert (await mira("DELETE", f"{path_of(contact)}/{first['id']}", if_match='"1"')).status == 412
    assert (await mira("DELETE", f"{path_of(contact)}/{first['id']}", if_match=f'"{first["version"]}"')).status == 204
    assert (await office("DELETE", f"{path_of(contact)}/{second['id']}")).status == 204

    assert await texts(office) == []
    assert [event for event in await timeline(office, contact) if "task" in event] == []


async def test_tasks__are_listed_over_the_clients_that_one_may_see(office: Office) -> None:
    contacts = {client_id: await contact_of(office, "ann", client_id) for client_id in ("ours", "theirs")}
    mira = await office.join("mira@example.com", grants=grants(ours="operator"))
    eve = await office.join("eve@example.com", role="viewer")
    for number, client_id in enumerate(("theirs", "ours", "theirs", "ours")):
        await write(office, contacts[client_id], f"{number}", after(office, 100 - number), client_id=client_id)

    assert await texts(eve) == ["3", "2", "1", "0"]
    assert await texts(mira) == ["3", "1"]
    assert await texts(eve, f"due_before={after(office, 98)}&client_id=theirs") == []
    assert await texts(eve, f"due_before={after(office, 99)}&client_id=theirs") == ["2"]
    seen, cursor = [], ""
    for _ in range(4):
        page = await sure(await eve("GET", f"{TASKS}?limit=1&cursor={cursor}"))
        seen += [task["text"] for task in page["data"]]
        cursor = page["next_cursor"]
    assert (seen, cursor) == (["3", "2", "1", "0"], None)
    assert (await mira("GET", f"{TASKS}?client_id=theirs")).status == 404
    assert (await mira("POST", path_of(contacts["theirs"], "theirs"), {"text": "x", "due_at": after(office, 0)})).status == 404
    assert (await eve("POST", path_of(contacts["ours"]), {"text": "x", "due_at": after(office, 0)})).status == 403


async def test_tasks_of_a_record__include_those_of_companies(office: Office) -> None:
    company = (await sure(await office("POST", COMPANIES, {"domain": "acme.example", "name": "Acme"}, x_client_id="ours"), 201))["id"]
    contact = await contact_of(office, "ann")
    task = await write(office, company, "of Acme", after(office, 60), kind="companies")
    await write(office, contact, "of Ann", after(office, 50))

    assert (task["contact_id"], task["company_id"], task["name"]) == (None, company, "Acme")
    assert await texts(office) == ["of Ann", "of Acme"]
    assert await texts(office, "state=any", path_of(company, kind="companies")) == ["of Acme"]
    assert await texts(office, "", path_of(contact)) == ["of Ann"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"text": " \n "}, "/text"), ({"text": "a\0"}, "/text"), ({"text": "a" * 10_001}, "/text"), ({"due_at": "soon"}, "/due_at"),
        ({"due_at": None}, "/due_at"), ({"assignee_id": "nobody"}, "/assignee_id"), ({"assignee_id": "me"}, "/assignee_id"),
        ({"done": True}, "/done"),
    ],
)  # fmt: skip
async def test_task__names_what_is_wrong_with_it(office: Office, body: dict[str, Any], pointer: str) -> None:
    contact = await contact_of(office, "ann")

    reply = await office("POST", path_of(contact), {"text": "a", "due_at": after(office, 0), **body})

    assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, pointer)


async def test_task__is_not_given_to_somebody_who_may_not_see_the_client(office: Office) -> None:
    contact = await contact_of(office, "ann")
    far = await office.join("far@example.com", grants=grants(theirs="operator"))
    task = await write(office, contact, "a", after(office, 60))

    for method, place, more in (("POST", "", {"text": "a", "due_at": after(office, 0)}), ("PATCH", f"/{task['id']}", {})):
        reply = await office(method, f"{path_of(contact)}{place}", {**more, "assignee_id": far.user["id"]})
        assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, "/assignee_id")
    assert (await office("PATCH", f"{path_of(contact)}/{task['id']}", {})).status == 422
    assert [(await office("PATCH", f"{path_of(contact)}/{wrong}", {"done": True})).status for wrong in ("none", 999)] == [404, 404]
    assert (await office("GET", f"{TASKS}?assignee_id=me")).status == 422


async def test_tasks__go_with_a_merge_and_come_back_with_its_undo(office: Office) -> None:
    keeps, goes = await contact_of(office, "ann"), await contact_of(office, "ben")
    await write(office, keeps, "first", after(office, 1))
    task = await write(office, goes, "second", after(office, 2))

    merge = await sure(await office("POST", f"{CONTACTS}/{keeps}/merge", {"with": [goes]}, x_client_id="ours"))
    assert await texts(office, "", path_of(keeps)) == ["first", "second"]
    await sure(await office("PATCH", f"{path_of(keeps)}/{task['id']}", {"done": True}))
    await sure(await office("POST", f"{CONTACTS}/{keeps}/merge/{merge['merge_id']}/undo", x_client_id="ours"))

    assert (await texts(office, "state=any", path_of(keeps)), await texts(office, "state=done", path_of(goes))) == (["first"], ["second"])


async def test_tasks__wait_in_the_bin_with_their_record(office: Office) -> None:
    contact = await contact_of(office, "ann")
    await write(office, contact, "Call", after(office, -60))

    await sure(await office("DELETE", f"{CONTACTS}/{contact}", x_client_id="ours"))
    assert (await texts(office), (await sure(await office("GET", "/team/v1/counters")))["tasks_due"]) == ([], 0)
    await sure(await office("POST", f"{CONTACTS}/{contact}/restore", x_client_id="ours"))

    assert (await texts(office), (await sure(await office("GET", "/team/v1/counters")))["tasks_due"]) == (["Call"], 1)


async def test_tasks__are_exported_and_erased_with_the_person(office: Office) -> None:
    contact, other = await contact_of(office, "ann"), await contact_of(office, "ben")
    await write(office, contact, "Call her mobile", after(office, 60))
    await write(office, other, "Ask ann@x.example first", after(office, 60))

    export = await sure(await office("GET", f"{CONTACTS}/{contact}/export", x_client_id="ours"))
    assert [event["task"]["text"] for event in export["timeline"] if "task" in event] == ["Call her mobile"]
    erased = await sure(await office("DELETE", f"{CONTACTS}/{contact}?erase=true", x_client_id="ours"))

    assert erased["removed"]["tasks"] == 1
    [left] = await texts(office)
    assert "ann@x.example" not in left


async def test_due_tasks__are_counted_by_the_day_of_their_person(office: Office) -> None:
    contact = await contact_of(office, "ann")
    mira = await office.join("mira@example.com", role="operator")
    await sure(await mira("PATCH", f"/team/v1/users/{mira.user['id']}", {"time_zone": "Asia/Tokyo"}))
    for text, due_at in (("late", "2026-11-01T00:00:00Z"), ("today", "2026-11-20T14:59:59Z"), ("tomorrow", "2026-11-20T15:00:00Z")):
        await write(mira, contact, text, due_at, "me")
    await write(mira, contact, "of nobody", "2026-11-01T00:00:00Z")

    assert after(office, 0).startswith("2026-11-20T")
    assert (await sure(await mira("GET", "/team/v1/counters")))["tasks_due"] == 2
    assert (await sure(await office("GET", "/team/v1/counters")))["tasks_due"] == 2, "a key counts what is due now, of everybody"


async def test_due_task__is_told_once_to_its_person(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    company = (await sure(await team.office("POST", COMPANIES, {"domain": "acme.example"}, x_client_id="ours"), 201))["id"]
    mira = await team.person("mira", {"task_due": ["browser", "email"]})
    ben = await team.person("ben", {"task_due": ["browser"]})
    task = await write(team.office, contact, "Call", after(team.office, 120), mira.user["id"])
    await write(team.office, company, "Look", after(team.office, 120), mira.user["id"], kind="companies")
    await write(team.office, contact, "Of nobody", after(team.office, 120))

    await team.pass_time(60)
    assert await team.told(mira) == []
    await team.pass_time(120)
    await team.pass_time(600)

    assert sorted(text.partition(" is due")[0] for text, _ in await team.told(mira)) == [
        "A task about a company", "A task about ann@ours.example",
    ]  # fmt: skip
    assert await team.told(ben) == []
    assert [to for to, _ in team.mails] == ["mailto:mira@example.com"]
    await sure(await team.office("PATCH", f"{path_of(contact)}/{task['id']}", {"due_at": after(team.office, 60)}))
    await team.pass_time(120)
    assert len(await team.told(mira)) == 3, "another time is due again"


async def test_daily_summary__counts_due_tasks(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    mira = await team.person("mira", {"daily_summary": ["browser"], "summary_at": "00:00"})
    await write(team.office, contact, "Call", after(team.office, 60), mira.user["id"])

    await team.pass_time(1)

    [(text, _)] = await team.told(mira)
    assert "1 task due" in text
