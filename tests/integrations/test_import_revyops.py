"""The import script of RevyOps, as a process without any package, against a fake of their server and a real one of ours."""

from __future__ import annotations

import csv
import importlib.util
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.test_serve import Server
from tests.conftest import ENGINES
from tests.integrations.fake_revyops import KEY, FakeRevyOps, company, contact, email

SCRIPT = Path(__file__).parents[2] / "integrations" / "revyops" / "import_revyops.py"
NUMBERS = itertools.count(1)
pytestmark = pytest.mark.slow


def loaded() -> Any:
    """The script as a module, for what needs no process."""
    spec = importlib.util.spec_from_file_location("import_revyops", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@dataclass
class Ours:
    """Our server, one client of it, and the script."""

    server: Server
    key: str
    client: str
    folder: Path
    theirs: str = ""
    script: Path = SCRIPT

    def call(self, method: str, path: str, body: object = None, client: str = "", **headers: str) -> Any:
        """The body of a response that is a success."""
        sent = {"Authorization": f"Bearer {self.key}", "X-Client-Id": client or self.client, **headers}
        status, result = self.server.post(path, body, **sent) if body is not None else self._without_body(method, path, sent)
        assert status < 300, result
        return result

    def _without_body(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, Any]:
        status, text = self.server.get(path, method, **headers)
        return status, json.loads(text or "null")

    def records(self, kind: str = "contacts", client: str = "") -> list[Any]:
        """Records of a client, oldest first."""
        record: list[Any] = self.call("GET", f"/public/v2/{kind}?structure=FLAT&limit=200", client=client)["data"]
        return record

    def messages(self) -> list[Any]:
        """Messages of the client, oldest first."""
        result: list[Any] = self.call("GET", "/public/v2/messages?limit=200")["data"]
        return result[::-1]

    def state(self) -> Any:
        """What the client has, without ids and times of ours."""
        own = {"id", "contact_id", "company_id", "updated_time", "status_changed_at"}
        lists = (self.records(), self.records("companies"), self.messages())
        return [[{name: value for name, value in item.items() if name not in own} for item in result] for result in lists]

    def start(self, *arguments: str, key: str = KEY) -> subprocess.Popen[str]:
        """Start the script: isolated, so that it sees no package of ours."""
        program = [
            sys.executable,
            "-I",
            "-S",
            str(self.script),
            "--revyops",
            self.theirs,
            "--touchbase",
            f"http://127.0.0.1:{self.server.port}",
        ]
        environment = {"PATH": os.environ["PATH"], "TOUCHBASE_KEY": self.key, "TOUCHBASE_REVYOPS_KEY": key}
        return subprocess.Popen(
            [*program, *arguments], cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *arguments: str, status: int = 0, key: str = KEY) -> Any:
        """The result of an import, with `errors`."""
        process = self.start("--json", *arguments, key=key)
        out, errors = process.communicate(timeout=120)
        assert process.returncode == status, out + errors
        assert key not in out + errors
        return {**json.loads(out or "{}"), "errors": errors}

    def refused(self) -> dict[tuple[str, str], str]:
        """The reasons of the report, by list and id."""
        with (self.folder / "revyops-refused.csv").open(newline="") as file:
            return {(row["list"], row["id"]): row["reason"] for row in csv.DictReader(file)}


def counts(result: Any, name: str = "contacts") -> dict[str, dict[str, int]]:
    """The counts of each client that are not 0, by their id of the client."""
    without = ("theirs", "list", "client", "read")
    return {
        row["theirs"]: {word: count for word, count in row.items() if word not in without and count}
        for row in result["clients"]
        if row["list"] == name
    }


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    database = f"sqlite:///{folder / 'touchbase.db'}"
    if getattr(request, "param", "sqlite") == "sqlite":
        shutil.copyfile(sqlite_template, folder / "touchbase.db")
    else:
        databases = request.getfixturevalue("databases")
        databases.clean()
        database = databases.migrated
    started = Server(folder, ("--auth", "api-key", "--database", database))
    yield started
    started.clean_up()


@pytest.fixture
def fake() -> FakeRevyOps:
    return FakeRevyOps()


@pytest.fixture
def ours(server: Server, fake: FakeRevyOps, tmp_path: Path) -> Iterator[Ours]:
    key = re.search(r"Bearer (\S+?)\"", server.banner)
    assert key, server.banner
    created = Ours(server, key[1], f"acme-{next(NUMBERS)}", tmp_path)
    created.call("POST", "/admin/v1/clients", {"client_id": created.client, "name": created.client})
    with fake.served() as created.theirs:
        yield created


on_both_engines = pytest.mark.parametrize("server", ENGINES, indirect=True)


@on_both_engines
def test_import__brings_records_and_emails_and_twice_changes_nothing(ours: Ours, fake: FakeRevyOps) -> None:
    fake.workspace = True
    fake.companies.append(company(7, custom={"Industry": "Banking"}))
    fake.contacts += [contact(number) for number in range(2, 6)]
    fake.contacts.append(
        contact(
            1, company_id=7, contact_status="interested", custom={"Segment": "A", "Score": 12, "Blank": "", "email": "=1+1"},
            first_campaign_email_sent="2026-05-01T08:00:00Z", last_campaign_email_sent="2026-06-01T08:00:00Z",
            last_reply_received="2026-06-02T09:30:00.123456+02:00",
        )
    )  # fmt: skip
    fake.emails += [
        email(1, custom={"Tone": "warm"}), email(2, email_type="OUT_MAIL", interested=True), email(3, email_timestamp=None),
    ]  # fmt: skip

    first = ours.run("--workspace", ours.client, "--page-size", "2", "--email-type", "Out-Mail=reply")
    before, record = ours.state(), ours.records()[-1]
    again = ours.run("--workspace", ours.client)

    (owner,) = ours.records("companies")
    assert (owner["domain"], owner["name"], owner["company_status"]) == ("company7.example", "Company 7", "target")
    assert owner["company_custom_fields"] == {"Industry": "Banking"}
    assert (record["email"], record["first_name"], record["origin"]) == ("person1@example.com", "First 1", "list")
    assert (record["company_id"], record["contact_status"]) == (owner["id"], "interested")
    assert record["contact_custom_fields"] == {"Segment": "A", "Score": "12", "email": "=1+1"}
    assert record["first_campaign_email_sent"] == "2026-05-01T08:00:00Z"
    assert record["last_campaign_email_sent"] == "2026-06-01T08:00:00Z"
    assert record["last_reply_received"] == "2026-06-02T07:30:00.123456Z"
    messages = [
        (message["subject"], message["direction"], message["occurred_at"], message["interested"], message["tool"])
        for message in ours.messages()
    ]
    assert messages == [
        ("Subject 1", "sent", "2026-06-01T08:01:00Z", False, "smartlead"),
        ("Subject 2", "received", "2026-06-01T08:02:00Z", True, "smartlead"),
        ("Subject 3", "sent", "2026-11-01T10:00:00Z", False, "smartlead"),
    ]
    assert ours.messages()[0]["custom_fields"] == {"Tone": "warm"}
    assert ours.messages()[0]["mailbox"] == "sam@agency.example"
    assert (counts(first), counts(first, "emails")) == ({ours.client: {"created": 5}}, {ours.client: {"created": 3}})
    assert (counts(again), counts(again, "emails")) == ({ours.client: {"unchanged": 5}}, {ours.client: {"unchanged": 3}})
    assert counts(again, "companies") == {ours.client: {"unchanged": 1}}
    assert ours.state() == before


@on_both_engines
def test_import__stopped_before_any_request_and_started_again_ends_with_the_same_store(ours: Ours, fake: FakeRevyOps) -> None:
    fake.workspace = True
    fake.companies += [company(number) for number in (1, 2, 3)]
    fake.contacts += [contact(number, company_id=number % 3 + 1) for number in range(1, 5)]
    fake.emails += [email(number, f"person{number % 4 + 1}@example.com") for number in range(1, 5)]
    arguments = ("--workspace", ours.client, "--page-size", "2")
    process, killed = None, set[str]()

    def kill(path: str) -> None:
        if process is not None and path not in killed:
            killed.add(path)
            process.kill()

    fake.before = kill
    while process is None or process.returncode:
        process = ours.start("--json", *arguments)
        _, errors = process.communicate(timeout=60)
        assert process.returncode in (0, -9), errors
    stopped = ours.state()
    uninterrupted = f"{ours.client}-2"
    ours.call("POST", "/admin/v1/clients", {"client_id": uninterrupted, "name": uninterrupted})
    ours.client = uninterrupted
    ours.run("--workspace", uninterrupted, "--page-size", "2")

    assert len(killed) == 2 + 2 + 3
    assert [len(item) for item in stopped] == [4, 3, 4]
    assert stopped == ours.state()


def test_import__lists_refused_records_with_reasons_and_ends_with_1(ours: Ours, fake: FakeRevyOps) -> None:
    ours.call("POST", "/public/v2/contacts", {"email": "here@example.com"})
    fake.contacts += [
        contact(1), contact(2, email=None), contact(4, custom={"x" * 201: "a"}), contact(5, email="Person1@example.com"),
        contact(6, last_reply_received="soon"), contact(7, contact_custom_fields=[{"field_value": "x"}]), "a text", contact(8, None),
        contact(9, email="bad"), contact(10, custom={f"Field {number}": "x" for number in range(1001)}), contact(11, first_name="\ud800"),
        contact(12, custom={"Long": "x" * 500_000}),
    ]  # fmt: skip

    result = ours.run("--client", f"41={ours.client}", status=1)

    assert counts(result) == {"": {"refused": 2}, "41": {"created": 2, "duplicates": 1, "refused": 7, "cells_left_out": 1}}
    reasons = {number: reason for (_, number), reason in ours.refused().items()}
    assert "has no e-mail or LinkedIn address" in reasons["2"]
    assert reasons["4"] == f"the name of the custom field {'x' * 40!r} must have 1 to 200 characters"
    assert reasons["5"] == "has the email of the record 1"
    assert reasons["6"].startswith("last_reply_received 'soon' was left out: ")  # a bad time loses the time, not the person
    assert [record["email"] for record in ours.records()][-1] == "person6@example.com"
    assert reasons["7"] == "the name of the custom field '' must have 1 to 200 characters"
    assert (reasons[""], reasons["8"]) == ("is not a JSON object", "has no client_id")
    assert reasons["9"].startswith("email: is not an e-mail address")
    assert "columns" in reasons["10"]
    assert reasons["11"] == "has half of a surrogate pair, which is no text"
    assert reasons["12"] == "has more than 500000 characters"
    assert (ours.folder / "revyops-refused.csv").stat().st_mode & 0o077 == 0
    assert "see revyops-refused.csv" in result["errors"]


def test_clients__are_found_by_option_id_and_name_or_added_once(ours: Ours, fake: FakeRevyOps) -> None:
    by_name, new = f"name-{ours.client}", f"new-{ours.client}"
    ours.call("POST", "/admin/v1/clients", {"name": by_name})
    fake.contacts += [contact(number, client) for number, client in enumerate(("41", ours.client, by_name, new, "44"), 1)]
    arguments = ("--client", f"41={ours.client}", "--client", "44=", "--client", f"46={ours.client}")

    dry = ours.run(*arguments, "--dry-run")
    first = ours.run(*arguments)
    again = ours.run(*arguments)
    mapped = ours.run(*arguments[:2], "--only-mapped")

    assert (dry["added"], counts(dry)[new]) == ({new: ""}, {"created": 1})
    assert list(first["added"]) == [new]
    assert again["added"] == {}
    assert [record["email"] for record in ours.records(client=first["added"][new])] == ["person4@example.com"]
    assert {record["email"] for record in ours.records()} == {"person1@example.com", "person2@example.com"}
    assert counts(again) == {client: {"unchanged": 1} for client in ("41", ours.client, by_name, new)}
    assert first["notices"]["records of clients that are left out"] == 1
    assert list(counts(mapped)) == ["41"]
    assert "there is no client 'none' for '41'" in ours.run("--client", "41=none", status=1)["errors"]


def test_long_list__is_uploaded_in_parts(ours: Ours, fake: FakeRevyOps) -> None:
    source = SCRIPT.read_text(encoding="utf-8")
    assert "BUFFERED, MOST_CHARACTERS = 20_000" in source
    ours.script = ours.folder / "import.py"
    ours.script.write_text(source.replace("BUFFERED, MOST_CHARACTERS = 20_000", "BUFFERED, MOST_CHARACTERS = 3"), encoding="utf-8")
    fake.contacts += [*(contact(number, ours.client) for number in range(1, 8)), contact(8, ours.client, email="PERSON1@example.com ")]

    ours.run("--page-size", "2", status=1)

    assert [job["progress"]["rows"] for job in ours.call("GET", "/public/v2/jobs")["data"]] == [3, 4]
    assert ours.refused() == {("contacts", "8"): "has the email of the record 1"}
    assert len(ours.records()) == 7


def test_pages_that_move__are_read_without_repeats_and_again(ours: Ours, fake: FakeRevyOps) -> None:
    fake.contacts += [contact(number, ours.client) for number in range(1, 10)]

    def change(_: str) -> None:
        if len(fake.requests) == 3:  # the second page of contacts: all behind the first move up by one
            del fake.contacts[0]
            fake.contacts.append(contact(10, ours.client))

    fake.before = change
    ours.run("--page-size", "3")
    missed = ours.run("--dry-run")
    again = ours.run()

    assert counts(missed) == counts(again) == {ours.client: {"created": 1, "unchanged": 8}}
    assert {record["email"] for record in ours.records()} == {f"person{number}@example.com" for number in range(1, 11)}


def test_mode_create__leaves_existing_records(ours: Ours, fake: FakeRevyOps) -> None:
    ours.call("POST", "/public/v2/contacts", {"email": "person1@example.com", "first_name": "Ours"})
    fake.contacts += [contact(1, ours.client), contact(2, ours.client)]

    result = ours.run("--mode", "create")
    remaining = ours.records()[0]["first_name"]
    changed = ours.run()

    assert (counts(result), remaining) == ({ours.client: {"created": 1, "unchanged": 1}}, "Ours")
    assert (counts(changed), ours.records()[0]["first_name"]) == ({ours.client: {"updated": 1, "unchanged": 1}}, "First 1")


def test_dry_run__counts_and_writes_nothing(ours: Ours, fake: FakeRevyOps) -> None:
    fake.workspace = True
    fake.companies.append(company(7))
    fake.contacts += [contact(1, company_id=7), contact(2, email="bad")]
    fake.emails += [email(1), email(2, "lost@example.com"), email(3, "old@example.com", contact_id=1)]

    result = ours.run("--workspace", ours.client, "--dry-run", status=1)

    assert counts(result, "companies") == {ours.client: {"created": 1}}
    assert counts(result) == {ours.client: {"created": 1, "refused": 1}}
    assert counts(result, "emails") == {ours.client: {"created": 2, "refused": 1}}
    assert ours.state() == [[], [], []]


def test_import__names_what_has_no_place_here(ours: Ours, fake: FakeRevyOps) -> None:
    fake.contacts += [contact(1, ours.client, company_id=99, tags=["a"]), contact(2, ours.client, company_id=99, tags=[])]
    fake.contacts[0]["contact_custom_fields"] += [{"field_name": "Segment", "field_value": value} for value in ("A", "B")]

    assert ours.run()["notices"] == {
        "contacts without their company, which was not imported or is not in the list of companies": 2,
        "contacts with the member 'tags', which has no field here": 1,
        "custom fields that stood twice in a record; the last value was taken": 1,
    }
    assert ours.records()[0]["contact_custom_fields"] == {"Segment": "B"}


def tools_events(ours: Ours, number: int) -> list[Any]:
    """The timeline of a contact without the requests, which an import of equal values is too."""
    return [event for event in ours.call("GET", f"/public/v2/contacts/{number}/timeline")["data"] if event["tool"] != "api"]


def test_erased_people_and_deleted_messages__stay_away_and_are_in_no_file(ours: Ours, fake: FakeRevyOps) -> None:
    fake.workspace = True
    fake.contacts += [contact(1), contact(2)]
    fake.emails += [email(1, contact_id=1), email(2, "person2@example.com"), email(3, "person2@example.com")]
    ours.run("--workspace", ours.client)
    first_message, two, _ = ours.messages()
    ours.call("DELETE", f"/public/v2/contacts/{first_message['contact_id']}?erase=true")
    ours.call("DELETE", f"/public/v2/messages/{two['id']}")
    events = tools_events(ours, two["contact_id"])

    result = ours.run("--workspace", ours.client, status=1)

    assert counts(result) == {ours.client: {"unchanged": 1, "erased": 1}}
    assert counts(result, "emails") == {ours.client: {"unchanged": 1, "deleted": 1, "refused": 1}}
    assert "person1" not in (ours.folder / "revyops-refused.csv").read_text()
    assert [message["subject"] for message in ours.messages()] == ["Subject 3"]
    assert tools_events(ours, two["contact_id"]) == events


def test_email__finds_its_contact_by_id_when_the_address_changed(ours: Ours, fake: FakeRevyOps) -> None:
    fake.workspace = True
    fake.contacts += [contact(1), contact(2, email=None, linkedin_url="https://www.linkedin.com/in/ann")]
    fake.emails += [email(1, "old@example.com", contact_id=1), email(2, "", contact_id=2), email(3, "old@example.com", contact_id=1)]
    fake.emails.append(email(4, "lost@example.com", contact_id=77))

    result = ours.run("--workspace", ours.client, status=1)

    assert counts(result, "emails") == {ours.client: {"created": 3, "refused": 1}}
    assert [message["contact_email"] for message in ours.messages()] == ["person1@example.com", None, "person1@example.com"]
    assert fake.requests.count("/public/v2/contacts/1?structure=NESTED") == 1


def test_emails__that_cannot_be_stored_are_refused_and_the_others_arrive(ours: Ours, fake: FakeRevyOps) -> None:
    fake.workspace = True
    fake.contacts.append(contact(1))
    fake.emails += [
        email(1, "lost@example.com"), email(2, email_type="OUT_MAIL"), email(3, email_timestamp="soon"), "a text",
        email(5, campaign_name="x" * 201), email(6, interested="perhaps"), email(7, subject="nul \0"), email(8, subject="x" * 1_001),
        {**email(9), "id": None}, email(11, email_timestamp="2130-01-01T00:00:00Z"), email(12, None),
        email(15, email_timestamp=None, updated_time=None), email(17, email_type="Reply"), email(18, origin="x" * 201),
    ]  # fmt: skip

    result = ours.run("--workspace", ours.client, status=1)

    assert counts(result, "emails") == {ours.client: {"created": 2, "refused": 12}}
    reasons = ours.refused()
    words = {"1": "its contact", "2": "--email-type 'OUT_MAIL=sent'", "3": "/occurred_at", "5": "campaign_name", "6": "interested",
             "7": "subject", "11": "future", "12": "its contact", "15": "missing", "18": "tool"}  # fmt: skip
    assert {number for number, word in words.items() if word not in reasons["emails", number]} == set()
    assert [(message["subject"][:9], message["direction"]) for message in ours.messages()] == [("x" * 9, "sent"), ("Subject 1", "received")]
    assert result["notices"]["emails of whose subject only the first 1000 characters were stored"] == 1


def test_pages__that_the_server_does_not_give_make_the_import_incomplete(ours: Ours, fake: FakeRevyOps) -> None:
    fake.workspace = True
    fake.contacts.append(contact(1))
    fake.emails += [email(number) for number in range(1, 10)]
    arguments = ("--workspace", ours.client, "--page-size", "3", "--emails")
    fake.instead += [("emails?page=3", (422, {"detail": "page must be at most 2"}))]
    refused = ours.run(*arguments, "with", status=1)
    fake.instead += [("emails?page=2", (200, fake.emails[:3]))]
    ignored = ours.run(*arguments, "only", status=1)
    fake.instead += [("emails?page=4", (200, fake.emails[6:]))]
    repeated = ours.run(*arguments, "only")
    fake.instead += [("contacts?page=1", (200, {"results": fake.contacts, "count": 2, "total_pages": 1}))]
    short = ours.run(*arguments, "without", status=1)

    assert "page must be at most 2" in refused["faults"][0]
    assert "gives no second page" in ignored["faults"][0]
    assert counts(repeated, "emails") == {ours.client: {"created": 3, "unchanged": 6}}
    assert "counts 1 records more" in short["faults"][0]


def test_page__is_requested_again_after_a_busy_or_broken_answer(ours: Ours, fake: FakeRevyOps) -> None:
    fake.contacts += [contact(number, ours.client) for number in range(1, 8)]
    now = {"retry-after": "0"}
    fake.instead += [
        ("contacts-master-list?page=2", answer)
        for answer in ((429, {}, now), (500, b"<html>oops</html>", now), (200, b"<html>back soon</html>", now), (200, {"a": 1}, now))
    ]

    result = ours.run("--page-size", "3")

    assert counts(result) == {ours.client: {"created": 7}}
    for text in ("answered 429; next", "answered 500; next", "begins with '<html>back soon", "although the list has 3 pages"):
        assert text in result["errors"]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([(500, b"", {"retry-after": "0"})] * 8, "answered 500 (8 attempts); start the import again"),
        ([(429, b"", {"retry-after": "86400"})], "answered 429 (1 attempts); start the import again in 86400 s"),
        ([(403, {"detail": f"no {KEY}"})], "page 2 of /public/v2/contacts-master-list: the key is refused (403: "),
        ([(302, b"", {"location": "https://other.test"})], "answered (302: "),
        ([(200, b"[" + b" " * 40_000_000 + b"]")], "give a smaller --page-size"),
    ],
)
def test_failure__names_the_page_and_the_next_run_goes_on(ours: Ours, fake: FakeRevyOps, answers: list[Any], message: str) -> None:
    fake.contacts += [contact(number, ours.client) for number in range(1, 4)]
    fake.instead += [("contacts-master-list?page=2", answer) for answer in answers]

    failed = ours.run("--page-size", "2", status=1)
    result = ours.run("--page-size", "2")

    assert message in failed["errors"]
    assert counts(result)[ours.client] in ({"created": 3}, {"created": 1, "unchanged": 2})


def test_address__has_api_in_front_or_not(ours: Ours, fake: FakeRevyOps) -> None:
    fake.contacts.append(contact(1, ours.client))
    fake.prefix = "/api"
    assert counts(ours.run()) == {ours.client: {"created": 1}}
    fake.prefix, ours.theirs = "", f"{ours.theirs}/api/"
    assert counts(ours.run()) == {ours.client: {"unchanged": 1}}
    fake.workspace = True
    assert "--workspace CLIENT for the key of one workspace" in ours.run(status=1)["errors"]


def test_table__has_the_counts_that_are_not_0(ours: Ours, fake: FakeRevyOps) -> None:
    fake.contacts += [contact(1, ours.client), contact(2, ours.client)]
    out, errors = ours.start("--client", f"41={ours.client}").communicate(timeout=60)

    assert [line.split() for line in out.splitlines()] == [
        ["THEIRS", "LIST", "READ", "CREATED", "UPDATED", "UNCHANGED", "CLIENT"],
        [ours.client, "contacts", "2", "2", "0", "0", ours.client],
    ]
    assert errors.strip() == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--client", "acme"], "--client 'acme' must be THEIR=OURS"),
        (["--client", "1=a", "--client", "1=b"], "each of theirs once"),
        (["--workspace", "a", "--only-mapped"], "leave out --client and --only-mapped"),
        (["--emails", "only"], "--emails only needs --workspace CLIENT"),
        (["--email-type", "OUT=out"], "--email-type 'OUT=out' must be WORD=sent or WORD=reply"),
        (["--revyops", "app.example.com"], "--revyops 'app.example.com' is not an address"),
        (["--revyops", "https://user:pass@app.example.com"], "without user, query"),
        (["--revyops", "http://8.8.8.8"], "http would show the key to others on the way: give https://8.8.8.8"),
        (["--revyops", "http://127.0.0.1:9"], "127.0.0.1:9 cannot be reached"),
        (["--touchbase", "http://127.0.0.1:9"], "127.0.0.1:9 cannot be reached"),
        (["--workspace", "no-such-client"], "no-such-client"),
    ],
)
def test_options__that_are_wrong_are_named(ours: Ours, fake: FakeRevyOps, options: list[str], message: str) -> None:
    fake.workspace = "--workspace" in options
    fake.contacts.append(contact(1))
    process = ours.start(*options)
    _, errors = process.communicate(timeout=60)

    assert process.returncode in (1, 2)
    assert message in " ".join(errors.split())


@pytest.mark.parametrize("key", ["", "two words"])
def test_key__must_be_one_word(ours: Ours, key: str) -> None:
    process = ours.start(key=key)

    assert "set TOUCHBASE_REVYOPS_KEY" in process.communicate(timeout=60)[1]
    assert process.returncode == 2


ONE, TWO, THREE = (contact(number) for number in (1, 2, 3))


class Pages:
    """An `Api` that answers with these pages, which the script reads as bodies."""

    path = ""

    def __init__(self, pages: list[Any]) -> None:
        self.pages = pages

    def send(self, *_: Any, read: Any) -> tuple[int, Any]:
        page = self.pages.pop(0)
        return (404, "") if page is None else (200, read(200, json.dumps(page).encode()))


@pytest.mark.parametrize(
    ("pages", "ids"),
    [
        pytest.param([[ONE, TWO], [THREE], []], {1, 2, 3}, id="bare arrays until an empty one"),
        pytest.param([[ONE, TWO], [ONE, TWO]], {1, 2}, id="a bare array that ignores the page"),
        pytest.param([{"results": [ONE, TWO]}, {"results": [TWO, THREE]}, {"results": []}], {1, 2, 3}, id="envelopes without numbers"),
        pytest.param([[ONE], {"detail": "No contacts found."}], {1}, id="an object after the last page"),
        pytest.param([ONE, []], {1}, id="one record in place of a list"),
        pytest.param([{"results": ONE}, []], {1}, id="one record in place of results"),
        pytest.param([{"message": "No contacts found."}], set(), id="an object on no hit"),
        pytest.param([{"results": {}, "count": 0, "total_pages": 0}], set(), id="an empty object in place of results"),
        pytest.param([{"results": [ONE, TWO], "total_pages": 2}, None], {1, 2}, id="a list that became shorter"),
    ],
)
def test_list__of_any_form_is_read_to_its_end(pages: list[Any], ids: set[int]) -> None:
    module, api = loaded(), Pages(list(pages))

    read = module.RevyOps(api, Namespace(workspace="", page_size=2, theirs_key=KEY)).pages("contacts")

    assert {record["id"] for page in read for record in page} == ids
    assert api.pages == []


LEAVES = st.none() | st.integers() | st.sampled_from(["", "text"])
MEMBERS = st.sampled_from(["results", "id", "count", "total_pages", "x"])
VALUES = LEAVES | st.lists(LEAVES | st.dictionaries(MEMBERS, LEAVES, max_size=2), max_size=2)


@given(VALUES | st.dictionaries(MEMBERS, VALUES | st.dictionaries(MEMBERS, LEAVES, max_size=2), max_size=3))
def test_any_body__is_a_page_or_busy(body: Any) -> None:
    module = MODULE

    def send(*_: Any, read: Any) -> tuple[int, Any]:
        return 200, read(200, json.dumps(body).encode())

    api = Namespace(path="", send=send)
    reader = module.RevyOps(api, Namespace(workspace="", page_size=2, theirs_key=KEY))
    try:
        pages = list(itertools.islice(reader.pages("contacts"), 3))
    except module.Busy:
        return
    assert all(isinstance(page, list) for page in pages)


MODULE = loaded()
