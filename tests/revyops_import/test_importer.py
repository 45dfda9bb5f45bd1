"""Imports from RevyOps: what arrives, what a second run and an interrupted one change, and what the comparison finds."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from tests.asgi_client import ApiClient
from tests.revyops_import.fake_revyops import FakeRevyOps, Import, company, contact, counts

from touchbase.common.timestamps import SECOND
from touchbase.revyops_import.client_map import UnknownClient
from touchbase.revyops_import.journal import Journal, UnusableFolder
from touchbase.revyops_import.models import Entry


@pytest.fixture
def fake() -> FakeRevyOps:
    return FakeRevyOps()


@pytest.fixture
def run(call: ApiClient, fake: FakeRevyOps, tmp_path: Path) -> Import:
    return Import(call, fake, tmp_path / "work")


@pytest.fixture
def run_once(sqlite_call: ApiClient, fake: FakeRevyOps, tmp_path: Path) -> Import:
    """On SQLite only, for behaviour that does not depend on the engine."""
    return Import(sqlite_call, fake, tmp_path / "work")


async def listed(call: ApiClient, client: str, kind: str = "contacts") -> list[Any]:
    """A client's records, oldest first, with their custom fields as an object."""
    reply = await call.get(f"/public/v2/{kind}?structure=FLAT&limit=200", x_client_id=client)
    assert reply.status == 200, reply
    found: list[Any] = reply.json()["data"]
    return found


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def is_private(path: str | Path) -> bool:
    return Path(path).stat().st_mode & 0o077 == 0


async def test_import__brings_records_with_companies_custom_fields_and_dates(run: Import, fake: FakeRevyOps) -> None:
    await run.call.settings("acme")
    fake.companies += [company(7, custom={"Industry": "Banking"}), company(8, "42")]
    fake.contacts.append(
        contact(
            1,
            company_id=7,
            contact_status="interested",
            custom={"Segment": "A", "Score": 12, "Blank": ""},
            first_campaign_email_sent="2026-05-01T08:00:00Z",
            last_campaign_email_sent="2026-06-01T08:00:00Z",
            last_reply_received="2026-06-02T09:30:00.123456+02:00",
        )
    )
    fake.contacts.append(contact(2, "42", company_id=8))

    result = await run({"41": "acme"})

    (imported,) = await listed(run.call, "acme")
    (owner,) = await listed(run.call, "acme", "companies")
    assert (owner["domain"], owner["company_status"], owner["company_custom_fields"]) == (
        "company7.example",
        "target",
        {"Industry": "Banking"},
    )
    assert (imported["email"], imported["first_name"], imported["origin"]) == ("person1@example.com", "First 1", "list")
    assert (imported["company_id"], imported["contact_status"]) == (owner["id"], "interested")
    assert imported["contact_custom_fields"] == {"Segment": "A", "Score": "12"}
    assert imported["first_campaign_email_sent"] == "2026-05-01T08:00:00Z"
    assert imported["last_campaign_email_sent"] == "2026-06-01T08:00:00Z"
    assert imported["last_reply_received"] == "2026-06-02T07:30:00.123456Z"
    timeline = (await run.call.get(f"/public/v2/contacts/{imported['id']}/timeline", x_client_id="acme")).json()["data"]
    assert sorted(each["event"] for each in timeline if each["tool"] == "import") == ["email_replied", "email_sent", "email_sent"]
    assert counts(result) == {"41": {"created": 1, "here": 1}, "42": {"created": 1, "here": 1}}
    assert result.is_complete
    assert result.files == []
    (other,) = await listed(run.call, result.created_clients["42"])
    assert other["email"] == "person2@example.com"


async def test_import__twice_changes_nothing(run: Import, fake: FakeRevyOps) -> None:
    fake.companies += [company(number) for number in range(1, 6)]
    sent = "2026-05-01T08:00:00Z"
    fake.contacts += [contact(number, company_id=number % 5 + 1, last_campaign_email_sent=sent) for number in range(1, 9)]
    first = await run()
    (client,) = first.created_clients.values()
    before = await listed(run.call, client), await listed(run.call, client, "companies")
    run.call.clock.now += 60 * SECOND

    again = await run()

    assert (await listed(run.call, client), await listed(run.call, client, "companies")) == before
    assert counts(first) == {"41": {"created": 8, "here": 8}}
    assert counts(again) == {"41": {"unchanged": 8, "here": 8}}
    assert counts(again, "companies") == {"41": {"unchanged": 5, "here": 5}}
    assert (again.created_clients, again.is_complete) == ({}, True)


class Killed(BaseException):
    """The process ended."""


async def test_import__killed_before_any_request_continues_and_counts_each_record_once(run: Import, fake: FakeRevyOps) -> None:
    fake.companies += [company(number) for number in range(1, 5)]
    fake.contacts += [contact(number, str(41 + number % 2), company_id=number % 4 + 1) for number in range(1, 9)]
    fake.contacts.append(contact(9, email="not an address"))
    fake.contacts.append(contact(10, "42", email="PERSON1@example.com"))
    ended = 0

    def kill(path: str) -> None:
        nonlocal ended
        if fake.requests.count(path) in (1, 3):  # at least once in each reading
            ended += 1
            raise Killed

    fake.before = kill
    pages = 2 * (2 + 4)
    for _ in range(pages):
        with pytest.raises(Killed):
            await run()
    result = await run()

    assert ended == pages
    assert counts(result) == {"41": {"created": 4, "refused": 1, "here": 4}, "42": {"created": 4, "duplicates": 1, "here": 4}}
    assert counts(result, "companies") == {"41": {"created": 4, "here": 4}}
    assert [each["reason"] for file in result.files for each in rows_of(file)] == [
        "email: is not an e-mail address: An email address must have an @-sign.",
        "is the same contact as the record 1, which has this address",
    ]


async def test_import__killed_between_store_and_journal_repeats_only_that_page(
    run_once: Import, fake: FakeRevyOps, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.contacts += [contact(number) for number in range(1, 8)]
    append = Journal.append

    def killed(journal: Journal, entry: Entry) -> None:
        if entry.name == "contacts":
            raise Killed
        append(journal, entry)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", killed)
        with pytest.raises(Killed):
            await run_once()
    with (run_once.folder / "journal.ndjson").open("ab") as file:
        file.write(b'{"stage":"import","name":"conta')

    result = await run_once()

    assert counts(result) == {"41": {"created": 4, "unchanged": 3, "here": 7}}


async def test_import__lists_refused_records_with_reasons_in_a_file_that_can_be_imported(run: Import, fake: FakeRevyOps) -> None:
    await run.call.settings("acme", contact_statuses={"statuses": ["new", "won"]})
    long = "x" * 300
    fake.contacts += [
        contact(1), contact(2, email=None), contact(3, contact_status="gone"), contact(4, custom={long: "a"}),
        contact(5, email="Person1@example.com"), contact(6, last_reply_received="soon"),
        contact(7, contact_custom_fields=[{"field_value": "x"}]), "a text", contact(8, None),
    ]  # fmt: skip

    result = await run({"41": "acme"})

    assert counts(result) == {"": {"refused": 2}, "41": {"created": 1, "duplicates": 1, "refused": 5, "here": 1}}
    assert not result.is_complete
    rows = {each["row"]: each["reason"] for file in result.files for each in rows_of(file)}
    assert "has no e-mail or LinkedIn address" in rows["2"]
    assert rows["3"].startswith("contact_status: ")
    assert "at most 200 characters" in rows["4"]
    assert rows["5"] == "is the same contact as the record 1, which has this address"
    assert rows["6"].startswith("last_reply_received: ")
    assert rows["7"] == "custom field 1 has no field_name"
    assert rows["8"] == "has no client_id"
    assert rows["0"] == "is not a JSON object"
    assert all(is_private(file) for file in [*result.files, run.folder])


async def test_import__of_pages_that_move_misses_nothing(run: Import, fake: FakeRevyOps) -> None:
    fake.contacts += [contact(number) for number in range(1, 10)]

    def change(path: str) -> None:
        if len(fake.requests) == 3:  # the second page of contacts, after one of companies: all behind the first move up by one
            del fake.contacts[0]
            fake.contacts.append(contact(10))
            fake.contacts.append(contact(12, email="bad"))
        if len(fake.requests) == 4:  # and one moves down again
            fake.contacts.insert(0, contact(11))

    fake.before = change
    result = await run()

    (client,) = result.created_clients.values()
    assert {each["email"] for each in await listed(run.call, client)} == {f"person{number}@example.com" for number in range(1, 12)}
    assert counts(result) == {"41": {"created": 9, "refused": 1, "late": 2, "here": 11}}
    assert (result.repeated, len(rows_of(result.files[0]))) == (1, 1)


async def test_comparison__names_each_value_that_differs(run: Import, fake: FakeRevyOps) -> None:
    await run.call.settings("acme")
    fake.companies.append(company(7))
    fake.contacts += [contact(1, company_id=7, custom={"Segment": "A"}), contact(2, custom={"Segment": "B"}), contact(3)]
    await run({"41": "acme"})
    one, two, _ = await listed(run.call, "acme")
    await run.call.patch(f"/public/v2/contacts/{one['id']}", {"first_name": "Else", "company_id": None}, x_client_id="acme")
    custom = [{"field_name": "Segment", "field_value": "C"}]
    await run.call.patch(f"/public/v2/contacts/{two['id']}", {"contact_custom_fields_input": custom}, x_client_id="acme")

    result = await run({"41": "acme"}, mode="create")

    assert counts(result) == {"41": {"unchanged": 3, "different": 2, "here": 3}}
    (file,) = result.files
    found = [(each["their_id"], each["our_id"], each["address"], each["field"], each["theirs"], each["ours"]) for each in rows_of(file)]
    assert found == [
        ("1", str(one["id"]), "person1@example.com", "first_name", "First 1", "Else"),
        ("1", str(one["id"]), "person1@example.com", "company.domain", "company7.example", ""),
        ("2", str(two["id"]), "person2@example.com", "cf.Segment", "B", "C"),
    ]
    assert counts(await run({"41": "acme"})) == {"41": {"unchanged": 1, "updated": 2, "here": 3}}


async def test_comparison__reports_a_late_change_and_does_not_import_it(run_once: Import, fake: FakeRevyOps) -> None:
    fake.contacts.append(contact(1))

    def change(_: str) -> None:
        if len(fake.requests) == 3:  # after one page of companies and one of contacts
            fake.contacts[0]["first_name"] = "Late"

    fake.before = change
    result = await run_once()

    assert counts(result) == {"41": {"created": 1, "different": 1, "here": 1}}
    assert [(each["theirs"], each["ours"]) for each in rows_of(result.files[0])] == [("Late", "First 1")]


async def test_comparison__of_a_sample_reads_20_pages(run_once: Import, fake: FakeRevyOps) -> None:
    fake.contacts += [contact(number) for number in range(1, 100)]
    run_once.page_size = 1

    result = await run_once(compare="sample")

    pages = [path for path in fake.requests if "contacts" in path]
    assert len(pages) == 99 + 20
    assert pages[-20].endswith("page=1&page_size=1&structure=NESTED")
    assert pages[-1].endswith("page=99&page_size=1&structure=NESTED")
    assert sum(one.compared for one in result.clients) == 20
    assert len((await run_once(compare="none")).clients) == 1
    assert len([path for path in fake.requests if "contacts" in path]) == 99 + 20 + 99


async def test_dry_run__counts_and_writes_nothing(run: Import, fake: FakeRevyOps) -> None:
    fake.companies.append(company(7))
    fake.contacts += [contact(1, company_id=7), contact(2, email="bad")]

    result = await run(dry_run=True)

    assert counts(result) == {"41": {"created": 1, "refused": 1}}
    assert (await run.call.get("/admin/v1/clients")).json()["data"] == []
    assert counts(await run()) == {"41": {"created": 1, "refused": 1, "here": 1}}


async def test_clients__are_found_by_option_id_and_name(run_once: Import, fake: FakeRevyOps) -> None:
    for name in ("acme", "42"):
        await run_once.call.settings(name)
    fake.contacts += [contact(number, str(40 + number)) for number in range(1, 6)]

    first = await run_once({"41": "acme", "44": "", "46": "acme"})
    again = await run_once({"41": "acme", "44": ""}, only_given=True)

    assert sorted(first.created_clients) == ["43", "45"]
    assert {one.their_client: one.client_id for one in first.clients} == {"41": "acme", "42": "42", **first.created_clients}
    assert (first.left_out, first.unused_clients) == (1, ["46"])
    assert (again.left_out, list(counts(again))) == (4, ["41"])
    with pytest.raises(UnknownClient, match="there is no client 'other'"):
        await run_once({"41": "other"})


async def test_workspace__imports_lists_without_a_client_id_into_one_client(run: Import, fake: FakeRevyOps) -> None:
    await run.call.settings("acme")
    fake.workspace = True
    fake.contacts += [contact(1, company_id=7), contact(2)]
    fake.companies.append(company(7))
    for each in (*fake.contacts, *fake.companies):
        del each["client_id"]

    result = await run({"acme": "acme"}, only_given=True, workspace="acme")

    assert counts(result) == {"acme": {"created": 2, "here": 2}}
    assert (await listed(run.call, "acme"))[0]["company_id"] == (await listed(run.call, "acme", "companies"))[0]["id"]


async def test_import__tells_what_has_no_place_here(run_once: Import, fake: FakeRevyOps) -> None:
    fake.contacts += [contact(1, company_id=99, tags=["a"]), contact(2, company_id=99, tags=[])]
    fake.contacts[0]["contact_custom_fields"] += fake.contacts[0]["contact_custom_fields"] + [
        {"field_name": "Segment", "field_value": value} for value in ("A", "B")
    ]

    result = await run_once()

    assert result.notices == {
        "contacts: imported without a company, because theirs was not imported or is not in the list of companies": 2,
        "contacts: the member 'tags' has no field here": 1,
        "a custom field stood twice in a record, with two values; the last one was imported": 1,
    }
    (client,) = result.created_clients.values()
    assert (await listed(run_once.call, client))[0]["contact_custom_fields"] == {"Segment": "B"}


async def test_erased_person__stays_erased_and_is_in_no_file(run: Import, fake: FakeRevyOps) -> None:
    fake.contacts += [contact(1), contact(2)]
    (client,) = (await run()).created_clients.values()
    (first, _) = await listed(run.call, client)
    reply = await run.call("DELETE", f"/public/v2/contacts/{first['id']}?erase=true", x_client_id=client)
    assert reply.status == 200, reply

    result = await run()

    assert counts(result) == {"41": {"unchanged": 1, "erased": 1, "here": 1}}
    assert result.files == []


async def test_folder__belongs_to_one_import(run_once: Import, fake: FakeRevyOps) -> None:
    fake.contacts.append(contact(1))
    fake.instead.append(("contacts", (400, {"detail": "no"})))
    with pytest.raises(Exception, match="answered 400"):
        await run_once()

    await run_once.call.settings("acme")
    with pytest.raises(UnusableFolder, match=r"unfinished import of http://revyops\.test into the store with other options"):
        await run_once({"41": "acme"})
    assert counts(await run_once({"41": "acme"}, dry_run=True)) == {"41": {"created": 1}}
    await run_once()
    assert counts(await run_once({"41": "acme"})) == {"41": {"created": 1, "here": 1}}


async def test_two_clients_of_theirs__that_are_one_here_have_each_person_once(run_once: Import, fake: FakeRevyOps) -> None:
    await run_once.call.settings("acme")
    fake.companies += [company(7, name="First"), company(7, "42", domain="other.example")]
    fake.contacts += [contact(1, company_id=7), contact(2, "42", company_id=7), contact(3, "42", email="person1@example.com")]

    first = await run_once({"41": "acme", "42": "acme"})
    again = await run_once({"41": "acme", "42": "acme"})

    assert counts(first) == {"41": {"created": 1, "here": 2}, "42": {"created": 1, "duplicates": 1, "here": 2}}
    assert counts(again) == {"41": {"unchanged": 1, "here": 2}, "42": {"unchanged": 1, "duplicates": 1, "here": 2}}
    domains = {each["id"]: each["domain"] for each in await listed(run_once.call, "acme", "companies")}
    found = [domains[each["company_id"]] for each in await listed(run_once.call, "acme")]
    assert found == ["company7.example", "other.example"]
