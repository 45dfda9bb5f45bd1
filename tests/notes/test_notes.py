"""Notes: who writes, reads, changes and deletes them, whom they name, and that they go where their record goes."""

from __future__ import annotations

from typing import Any

from tests.asgi_client import Response
from tests.auth.test_people import Browser, Office, PersonalKey, grants, office, quick_passwords
from tests.conversations.test_conversations import PATH
from tests.conversations.test_people import reply_to
from tests.notifying.test_notifications import Team, team

__all__ = ["office", "quick_passwords", "team"]
CONTACTS, COMPANIES = "/public/v2/contacts", "/public/v2/companies"


def path_of(record: int, client_id: str = "ours", kind: str = "contacts") -> str:
    return f"/team/v1/notes/{client_id}/{kind}/{record}"


async def sure(reply: Response, status: int = 200) -> Any:
    assert reply.status == status, reply.body
    return reply.json() if reply.body else None


async def write(by: Browser | PersonalKey | Office, record: int, text: str, *mentions: str, **place: str) -> Any:
    return await sure(await by("POST", path_of(record, **place), {"text": text, "mentions": list(mentions)}), 201)


async def texts(by: Browser | PersonalKey | Office, record: int, **place: str) -> list[str]:
    return [note["text"] for note in (await sure(await by("GET", path_of(record, **place))))["data"]]


async def timeline(office: Office, record: int, kind: str = "contacts") -> list[tuple[str, str]]:
    events = (await sure(await office("GET", f"/public/v2/{kind}/{record}/timeline", x_client_id="ours")))["data"]
    return [(event["note"]["text"], event["actor"]["name"]) for event in events if "note" in event]


async def test_note__is_written_changed_and_deleted_by_its_author(office: Office) -> None:
    contact = await reply_to(office, "ours")
    mira, ben = [await office.join(f"{name}@example.com", role="operator") for name in ("mira", "ben")]

    first = await write(mira, contact, " Wants the sheet\r\n")
    assert (first["text"], first["author"]["id"], first["edited_at"]) == ("Wants the sheet", mira.user["id"], None)
    await write(await PersonalKey.of(ben, name="agent"), contact, "It is sent")
    assert await texts(ben, contact) == ["It is sent", "Wants the sheet"]
    note = f"{path_of(contact)}/{first['id']}"
    assert ((await ben("PATCH", note, {"text": "x"})).status, (await ben("DELETE", note)).status) == (403, 403)
    office.call.clock.move(60)
    changed = await sure(await mira("PATCH", note, {"text": "Has the sheet"}, if_match=f'"{first["version"]}"'))
    assert (changed["text"], changed["edited_at"] is not None, changed["version"] != first["version"]) == ("Has the sheet", True, True)
    old = await mira("PATCH", note, {"text": "late"}, if_match=f'"{first["version"]}"')
    assert (old.status, (await mira("DELETE", note, if_match='"none"')).status) == (412, 412)
    shown = (await ben("GET", f"{PATH}/ours/{contact}")).json()["notes"]
    assert [(each["text"], each["author"]["name"]) for each in shown] == [("It is sent", "Ben"), ("Has the sheet", "Mir")]
    assert await timeline(office, contact) == [("It is sent", "Ben"), ("Has the sheet", "Mir")]

    assert (await office("DELETE", note)).status == 204, "an administrator may delete what others wrote"

    assert (await timeline(office, contact), (await mira("DELETE", note)).status) == ([("It is sent", "Ben")], 404)


async def test_note__is_for_people_who_may_see_and_write_for_the_client(office: Office) -> None:
    contacts = {client_id: await reply_to(office, client_id) for client_id in ("ours", "theirs")}
    mira = await office.join("mira@example.com", grants=grants(ours="operator"))
    eve = await office.join("eve@example.com", role="viewer")
    note = await write(office, contacts["theirs"], "Theirs", client_id="theirs")
    theirs = path_of(contacts["theirs"], client_id="theirs")

    assert [(await mira(method, theirs, {"text": "x"})).status for method in ("GET", "POST")] == [404, 404]
    assert (await mira("DELETE", f"{path_of(contacts['ours'])}/{note['id']}")).status == 404
    assert await texts(eve, contacts["theirs"], client_id="theirs") == ["Theirs"]
    assert (await eve("POST", theirs, {"text": "x"})).status == 403


async def test_note__names_what_is_wrong_with_it(office: Office) -> None:
    contact = await reply_to(office, "ours")
    far = await office.join("far@example.com", grants=grants(theirs="operator"))

    for body, pointer in (
        ({"text": " \n "}, "/text"), ({"text": "a\0"}, "/text"), ({"text": "a" * 10_001}, "/text"), ({"mentions": []}, "/text"),
        ({"text": "a", "mentions": ["nobody"]}, "/mentions/0"), ({"text": "a", "mentions": [far.user["id"]]}, "/mentions/0"),
    ):  # fmt: skip
        reply = await office("POST", path_of(contact), body)
        assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, pointer), body
    assert (await office("POST", path_of(contact + 1), {"text": "a"})).status == 404
    note = await write(office, contact, "a")
    assert (await office("PATCH", f"{path_of(contact)}/{note['id']}", {})).status == 422
    assert (await office("PATCH", f"{path_of(contact)}/none", {"text": "a"})).status == 404


async def test_notes__are_listed_in_pages_and_by_company(office: Office) -> None:
    company = (await sure(await office("POST", COMPANIES, {"domain": "acme.example"}, x_client_id="ours"), 201))["id"]
    for number in range(3):
        office.call.clock.move(1)
        await write(office, company, f"{number}", kind="companies")

    first = await sure(await office("GET", f"{path_of(company, kind='companies')}?limit=2"))
    second = await sure(await office("GET", f"{path_of(company, kind='companies')}?limit=2&cursor={first['next_cursor']}"))

    assert ([note["text"] for note in first["data"]], [note["text"] for note in second["data"]]) == (["2", "1"], ["0"])
    assert second["next_cursor"] is None
    assert [text for text, _ in await timeline(office, company, "companies")] == ["2", "1", "0"]


async def test_notes__go_with_a_merge_and_come_back_with_its_undo(office: Office) -> None:
    keeps, goes = [
        (await sure(await office("POST", CONTACTS, {"email": f"{name}@x.example"}, x_client_id="ours"), 201))["id"]
        for name in ("ann", "ben")
    ]
    await write(office, keeps, "first")
    note = await write(office, goes, "second")

    merge = await sure(await office("POST", f"{CONTACTS}/{keeps}/merge", {"with": [goes]}, x_client_id="ours"))
    await sure(await office("PATCH", f"{path_of(keeps)}/{note['id']}", {"text": "second, changed"}))
    assert {*await texts(office, keeps)} == {"first", "second, changed"}
    await sure(await office("POST", f"{CONTACTS}/{keeps}/merge/{merge['merge_id']}/undo", x_client_id="ours"))

    assert (await texts(office, keeps), await texts(office, goes)) == (["first"], ["second, changed"])


async def test_notes__are_exported_and_erased_with_the_person(office: Office) -> None:
    contact = await reply_to(office, "ours")
    await write(office, contact, "Call her mobile")
    other = (await sure(await office("POST", CONTACTS, {"email": "b@x.example"}, x_client_id="ours"), 201))["id"]
    sender = (await sure(await office("GET", f"{CONTACTS}/{contact}", x_client_id="ours")))["email"]
    await write(office, other, f"Ask {sender} first")

    export = await sure(await office("GET", f"{CONTACTS}/{contact}/export", x_client_id="ours"))
    assert [event["note"]["text"] for event in export["timeline"] if "note" in event] == ["Call her mobile"]
    erased = await sure(await office("DELETE", f"{CONTACTS}/{contact}?erase=true", x_client_id="ours"))

    assert erased["removed"]["notes"] == 1
    assert (await office("GET", path_of(contact))).json()["data"] == []
    assert sender not in (await texts(office, other))[0]


async def test_mention__is_told_once_to_each_new_name(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    company = (await sure(await team.office("POST", COMPANIES, {"domain": "acme.example"}, x_client_id="ours"), 201))["id"]
    mira = await team.person("mira", {"mention": ["browser", "email"]})
    ben = await team.person("ben", {"mention": ["browser"]})

    note = await write(team.office, contact, "See this @Mira", mira.user["id"])
    await write(team.office, company, "And this @Ben", ben.user["id"], kind="companies")
    await team.pass_time()
    both = {"mentions": [mira.user["id"], ben.user["id"]]}
    await sure(await team.office("PATCH", f"{path_of(contact)}/{note['id']}", both))
    await team.pass_time(600)

    assert [text.partition(" names")[0] for text, _ in await team.told(mira)] == ["A note on ann@ours.example"]
    assert [text.partition(" names")[0] for text, _ in await team.told(ben)] == ["A note on ann@ours.example", "A note on a company"]
    listed = (await ben("GET", "/team/v1/notifications")).json()["data"]
    assert [(each["contact_id"], each["company_id"]) for each in listed] == [(contact, None), (None, company)]
    assert [to for to, _ in team.mails] == ["mailto:mira@example.com"]
