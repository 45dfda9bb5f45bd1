"""Imports of e-mails from RevyOps: what becomes of each, what a second run and an interrupted one change, and what is named."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from tests.asgi_client import ApiClient
from tests.revyops_import.fake_revyops import FakeRevyOps, Import, OldAccount, contact, counts, email

from touchbase.revyops_import.journal import Journal
from touchbase.revyops_import.models import Entry
from touchbase.revyops_import.results import Result

OURS = {"acme": "acme"}


@pytest.fixture
async def fake(call: ApiClient) -> FakeRevyOps:
    await call.settings("acme")
    return FakeRevyOps(workspace=True)


@pytest.fixture
def run(call: ApiClient, fake: FakeRevyOps, tmp_path: Path) -> Import:
    return Import(call, fake, tmp_path / "work")


async def imported(run: Import, **options: Any) -> Result:
    return await run(OURS, only_given=True, workspace="acme", **options)


async def stored(call: ApiClient, client: str = "acme") -> list[Any]:
    """A client's messages, oldest first."""
    reply = await call.get("/public/v2/messages?limit=200", x_client_id=client)
    assert reply.status == 200, reply
    found: list[Any] = reply.json()["data"]
    return found[::-1]


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


class Killed(BaseException):
    """The process ended."""


async def test_emails__of_our_own_server_arrive_as_they_are_there(call: ApiClient, tmp_path: Path) -> None:
    for client in ("old", "acme"):
        await call.settings(client)
    for each in ({"email": "jane@example.com"}, {"linkedin_url": "https://linkedin.com/in/ann"}):
        made = await call.post("/public/v2/contacts", each, x_client_id="old")
        assert made.status == 201
    sent = {"contact_email": "jane@example.com", "email_type": "sent", "subject": "Hello", "body_html": "<p>Hi &amp; bye</p>"}
    reply = {
        "contact_id": made.json()["id"], "email_type": "reply", "subject": "Re: Hello", "body_text": "Yes",
        "agent_email": "sam@our.example",
        "campaign_id": "77", "campaign_name": "Autumn", "interested": True, "origin": "smartlead",
        "email_timestamp": "2026-07-01T08:00:00Z", "custom_fields": [{"field_name": "Tone", "field_value": "warm"}],
    }  # fmt: skip
    for body in (sent, reply, *({**sent, "email_timestamp": f"2026-06-0{day}T08:00:00Z"} for day in range(1, 6))):
        assert (await call.post("/public/emails", body, x_client_id="old")).status == 201

    result = await imported(Import(call, OldAccount(call), tmp_path / "work"))

    assert counts(result, "emails") == {"acme": {"created": 7}}
    assert (result.is_complete, result.files) == (True, [])
    there, here = [(await call.get("/public/emails", x_client_id=client)).json() for client in ("old", "acme")]
    assert [without_ids(each) for each in here] == [without_ids(each) for each in there]
    [one] = [each for each in here if each["interested"]]
    timeline = (await call.get(f"/public/v2/contacts/{one['contact_id']}/timeline", x_client_id="acme")).json()["data"]
    assert ("message.received", one["id"]) in [(each["event"], each["message_id"]) for each in timeline]


def without_ids(email: dict[str, Any]) -> dict[str, Any]:
    fields = [(each["field_name"], each["field_value"]) for each in email["custom_fields"]]
    return {name: value for name, value in email.items() if name not in ("id", "contact_id", "updated_time")} | {"custom_fields": fields}


async def test_emails__twice_are_stored_once(run: Import, fake: FakeRevyOps) -> None:
    fake.contacts.append(contact(1))
    fake.emails += [email(number) for number in range(1, 8)]
    fake.emails[3]["email_timestamp"] = None
    first = await imported(run)
    before = await stored(run.call)
    fake.emails.insert(0, email(8))
    fake.emails[4]["updated_time"] = "2026-11-02T10:00:00Z"
    run.call.clock.move(60)

    again = await imported(run)

    assert counts(first, "emails") == {"acme": {"created": 7}}
    assert counts(again, "emails") == {"acme": {"created": 1, "unchanged": 7}}
    assert first.notices["emails: without email_timestamp; updated_time was taken in its place"] == 1
    assert len(before) == 7
    assert [each for each in await stored(run.call) if each["subject"] != "Subject 8"] == before
    events = (await run.call.get("/public/v2/events?types=message.sent&limit=100", x_client_id="acme")).json()["data"]
    assert len(events) == 8


async def test_emails__killed_before_any_request_and_after_any_page_arrive_once(run: Import, fake: FakeRevyOps) -> None:
    fake.contacts.append(contact(1))
    fake.emails += [email(number) for number in range(1, 12)]
    killed: list[object] = []

    def kill(path: str) -> None:
        if "emails" in path and fake.requests.count(path) in (1, 5):  # at least once in each reading
            killed.append(path)
            raise Killed

    def kill_after(entry: Entry) -> None:
        if entry.name == "emails" and (entry.stage, entry.page) not in killed:
            killed.append((entry.stage, entry.page))
            raise Killed

    fake.before, run.on_page = kill, kill_after
    result = None
    while result is None:
        try:
            result = await imported(run)
        except Killed:
            assert len(killed) < 100

    assert {each for each in killed if isinstance(each, tuple)} == {
        (stage, page) for stage in ("import", "compare") for page in range(1, 6)
    }
    assert counts(result, "emails") == {"acme": {"created": 11}}
    assert [each["subject"] for each in await stored(run.call)] == [f"Subject {number}" for number in range(1, 12)]


async def test_emails__killed_between_store_and_journal_are_stored_once(
    run: Import, fake: FakeRevyOps, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.contacts.append(contact(1))
    fake.emails += [email(number) for number in range(1, 6)]
    append = Journal.append

    def killed(journal: Journal, entry: Entry) -> None:
        if entry.name == "emails":
            raise Killed
        append(journal, entry)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", killed)
        with pytest.raises(Killed):
            await imported(run)

    result = await imported(run)

    assert counts(result, "emails") == {"acme": {"created": 2, "unchanged": 3}}
    assert len(await stored(run.call)) == 5


async def test_emails__resumed_after_many_new_ones_are_read_to_the_end(run: Import, fake: FakeRevyOps) -> None:
    fake.contacts.append(contact(1))
    fake.emails += [email(number) for number in range(1, 10)]

    def kill(path: str) -> None:
        if path == "/public/emails?page=3&page_size=3" and fake.requests.count(path) == 1:
            fake.emails[:0] = [email(number) for number in range(21, 27)]
            raise Killed

    fake.before = kill
    with pytest.raises(Killed):
        await imported(run)
    result = await imported(run)

    assert len(await stored(run.call)) == 15
    assert counts(result, "emails") == {"acme": {"created": 9, "late": 6}}


async def test_emails__that_cannot_be_stored_are_named_and_the_others_arrive(run: Import, fake: FakeRevyOps) -> None:
    fake.contacts.append(contact(1))
    fake.emails += [
        email(1, "lost@example.com"), email(2, email_type="OUT_MAIL"), email(3, email_timestamp="soon"), "a text",
        email(5, campaign_name="x" * 201), email(6, interested="perhaps"), email(7, subject="nul \0"), email(8, subject="x" * 1_001),
        {**email(9), "id": None}, email(10, "", contact_id=77), email(11, email_timestamp="2030-01-01T00:00:00Z"),
        email(12, None), email(13, custom_fields=[{"field_value": "x"}]), email(14, email_type="email_sent", folder="in"),
        email(15, email_timestamp=None, updated_time=None), email(16, custom={"x" * 201: "a"}), email(17, email_type="Reply"),
    ]  # fmt: skip

    result = await imported(run)

    assert counts(result, "emails") == {"acme": {"created": 3, "refused": 14}}
    assert not result.is_complete
    [file] = result.files
    reasons = {(each["row"], each["reason"].partition(":")[0]): each["reason"] for each in rows_of(file)}
    assert sorted(reasons) == sorted([
        ("0", "is not a JSON object"), ("0", "has no id of usual length, by which a second import knows it"),
        ("1", "its contact is not here"), ("2", "email_type"), ("3", "email_timestamp"), ("5", "campaign_name"), ("6", "interested"),
        ("7", "subject"), ("10", "its contact is not here"), ("11", "email_timestamp"), ("12", "its contact is not here"),
        ("13", "custom field 1 has no field_name"), ("15", "email_timestamp"), ("16", "custom_fields"),
    ])  # fmt: skip
    assert "--email-type 'OUT_MAIL=sent'" in reasons["2", "email_type"]
    assert [(each["subject"][:9], each["direction"]) for each in await stored(run.call)] == [
        ("x" * 9, "sent"), ("Subject 1", "sent"), ("Subject 1", "received"),
    ]  # fmt: skip
    assert result.notices["emails: of subject only the first 1,000 characters were stored"] == 1
    assert result.notices["emails: the member 'folder' has no field here"] == 1
    fixed = await imported(run, email_types={"out mail": "received"})
    assert counts(fixed, "emails") == {"acme": {"created": 1, "unchanged": 3, "refused": 13}}


async def test_email__finds_its_contact_by_id_when_the_address_changed(run: Import, fake: FakeRevyOps) -> None:
    fake.contacts += [contact(1), contact(2, email=None, linkedin_url="https://www.linkedin.com/in/ann")]
    fake.emails += [email(1, "old@example.com", contact_id=1), email(2, "", contact_id=2), email(3, "old@example.com", contact_id=1)]

    result = await imported(run, compare="none")

    assert counts(result, "emails") == {"acme": {"created": 3}}
    assert [each["contact_email"] for each in await stored(run.call)] == ["person1@example.com", None, "person1@example.com"]
    assert fake.requests.count("/public/v2/contacts/1?structure=NESTED") == 1


@pytest.mark.parametrize("status", [401, 403, 404, 422])
async def test_email__of_a_contact_that_the_key_cannot_read_is_refused(run: Import, fake: FakeRevyOps, status: int) -> None:
    fake.contacts.append(contact(1))
    fake.emails += [email(1, "old@example.com", contact_id=7), email(2)]
    fake.instead.append(("contacts/7?", (status, {"detail": "no"})))

    result = await imported(run, compare="none")

    assert counts(result, "emails") == {"acme": {"created": 1, "refused": 1}}


async def test_emails__of_erased_people_and_deleted_messages_stay_away_and_are_in_no_file(run: Import, fake: FakeRevyOps) -> None:
    fake.contacts += [contact(1), contact(2)]
    fake.emails += [email(1), email(2, "person2@example.com"), email(3, "person2@example.com")]
    await imported(run)
    one, two, _ = await stored(run.call)
    for path in (f"contacts/{one['contact_id']}?erase=true", f"messages/{two['id']}"):
        assert (await run.call("DELETE", f"/public/v2/{path}", x_client_id="acme")).status in (200, 204)

    result = await imported(run)

    assert counts(result, "emails") == {"acme": {"unchanged": 1, "erased": 1, "deleted": 1}}
    assert (result.files, result.is_complete) == ([], True)
    assert [each["subject"] for each in await stored(run.call)] == ["Subject 3"]


async def test_comparison__of_emails_names_what_differs_and_creates_what_was_missed(run: Import, fake: FakeRevyOps) -> None:
    fake.contacts.append(contact(1))
    fake.emails += [email(1), email(2), email(3)]
    await imported(run)
    first, _, third = await stored(run.call)
    await run.call.post(f"/public/v2/messages/{first['id']}/set-interested", {"interested": True}, x_client_id="acme")
    fake.emails[1]["body_text"] = "Else"
    fake.emails[2]["email_timestamp"] = "2026-06-02T08:00:00Z"

    def change(path: str) -> None:
        if path == "/public/emails?page=2&page_size=3" and len(fake.emails) == 3:
            fake.emails.insert(0, email(4))

    fake.before = change
    result = await imported(run)

    assert counts(result, "emails") == {"acme": {"unchanged": 2, "refused": 1, "late": 1, "different": 2}}
    refused, different = (rows_of(file) for file in result.files)
    assert [row["reason"] for row in refused] == [f"message {third['id']} here came from an e-mail with the same id and another time"]
    assert [(row["their_id"], row["address"], row["field"], row["theirs"], row["ours"]) for row in different] == [
        ("1", "person1@example.com", "interested", "false", "true"), ("2", "person1@example.com", "text", "Else", "Text 2"),
    ]  # fmt: skip


async def test_comparison__stores_emails_whose_contact_came_during_the_import(run: Import, fake: FakeRevyOps) -> None:
    fake.emails += [email(1), email(2, "lost@example.com")]

    def change(path: str) -> None:
        if path.startswith("/public/emails") and not fake.contacts:
            fake.contacts.append(contact(1))

    fake.before = change
    result = await imported(run)

    [emails] = [one for one in result.clients if one.list == "emails"]
    assert (emails.read, emails.late, emails.refused) == (2, 1, 1)
    assert [row["row"] for row in rows_of(result.files[0])] == ["2"]


async def test_emails__without_bodies_where_the_client_stores_none(run: Import, fake: FakeRevyOps) -> None:
    await run.call.settings("acme", store_message_bodies=False)
    fake.contacts.append(contact(1))
    fake.emails.append(email(1))

    result = await imported(run)

    [one] = await stored(run.call)
    assert (one["subject"], one["text"], one["html"], one["campaign_id"]) == (None, None, None, "77")
    assert result.is_complete


async def test_dry_run__counts_emails_of_contacts_that_would_be_imported(run: Import, fake: FakeRevyOps) -> None:
    fake.contacts.append(contact(1))
    fake.emails += [email(1), email(2, "lost@example.com"), email(3, "old@example.com", contact_id=1)]

    result = await imported(run, dry_run=True)

    assert counts(result, "emails") == {"acme": {"created": 2, "refused": 1}}
    assert await stored(run.call) == []


async def test_pages__that_the_server_does_not_give_make_the_import_incomplete(run: Import, fake: FakeRevyOps) -> None:
    fake.contacts.append(contact(1))
    fake.emails += [email(number) for number in range(1, 10)]
    fake.instead += [("emails?page=3", (422, {"detail": "page must be at most 2"}))]
    refused = await imported(run, compare="none")
    fake.instead += [("emails?page=2", (200, fake.emails[:3]))]
    ignored = await imported(run, compare="none")

    fake.instead += [("emails?page=4", (200, fake.emails[6:]))]
    repeated = await imported(run, compare="none")

    assert (repeated.cut, repeated.is_complete, counts(repeated, "emails")) == ([], True, {"acme": {"created": 3, "unchanged": 6}})
    assert (refused.cut, refused.is_complete, counts(refused, "emails")) == (["emails"], False, {"acme": {"created": 6}})
    assert "page must be at most 2" in "".join(refused.notices)
    assert (ignored.cut, ignored.is_complete, counts(ignored, "emails")) == (["emails"], False, {"acme": {"unchanged": 3}})
