"""`touchbase import revyops`, as an operator uses it, against a local server with their lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.revyops_import.fake_revyops import KEY, FakeRevyOps, company, contact, email

ENV = {"TOUCHBASE_REVYOPS_KEY": KEY}


@pytest.fixture
def fake() -> FakeRevyOps:
    return FakeRevyOps([contact(1, company_id=7), contact(2), contact(3, "42")], [company(7)])


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_import__prints_counts_for_each_client_and_twice_changes_nothing(
    store: Run, fake: FakeRevyOps, engine: str, request: pytest.FixtureRequest
) -> None:
    url = "sqlite:///touchbase.db" if engine == "sqlite" else request.getfixturevalue("postgres_url")
    env = {**ENV, "TOUCHBASE_DATABASE": url}
    store("clients", "add", "acme", env=env)
    with fake.served() as base:
        first = store("import", "revyops", "--base-url", base, "--client", "41=acme", env=env)
        again = store("import", "revyops", "--base-url", base, "--client", "41=acme", "--json", env=env)

    assert (first.exit_code, again.exit_code) == (0, 0), first.output
    lines = [line.split() for line in first.stdout.splitlines()]
    assert lines[0] == ["THEIRS", "LIST", "READ", "CREATED", "UPDATED", "UNCHANGED", "HERE", "CLIENT"]
    assert ["41", "contacts", "2", "2", "0", "0", "2", "acme"] in lines
    assert "is added for 42" in first.stderr
    result = json.loads(again.stdout)
    assert [(one["list"], one["their_client"], one["unchanged"], one["here"]) for one in result["clients"]] == [
        ("companies", "41", 1, 1), ("contacts", "41", 2, 2), ("contacts", "42", 1, 1),
    ]  # fmt: skip
    assert store("contacts", "list", "--client", "acme", env=env).stdout.count("@example.com") == 2
    assert KEY not in first.output + again.output + Path("revyops-import/journal.ndjson").read_text()


def test_import__that_failed_continues_and_tells_so(store: Run, fake: FakeRevyOps) -> None:
    fake.instead.append(("contacts", (403, {"detail": "no"})))
    with fake.served() as base:
        failed = store("import", "revyops", "--base-url", base, "--page-size", "2", env=ENV)
        before = len(fake.requests)
        result = store("import", "revyops", "--base-url", base, "--page-size", "2", env=ENV)

    assert failed.exit_code == 1
    assert "Error: page 1 of /public/v2/contacts-master-list: the key is refused (403" in failed.output
    assert result.exit_code == 0, result.output
    assert "continuing the import in revyops-import" in result.stderr
    assert "contacts-master-list?page=1&page_size=2&" in fake.requests[before]


def test_import__with_refused_records_names_the_file_and_ends_with_1(store: Run, fake: FakeRevyOps) -> None:
    store("clients", "add", "acme")
    fake.contacts.append(contact(4, email="bad", custom={"Segment": "A"}, tags="x"))
    with fake.served() as base:
        result = store("import", "revyops", "--base-url", base, "--client", "41=acme", "--client", "42=", "--work-folder", "w", env=ENV)
    (file,) = Path("w").glob("refused-*.csv")
    file.write_text(file.read_text().replace("bad,", "good@example.com,"))
    corrected = store("contacts", "import", str(file), "--client", "acme")

    assert result.exit_code == 1
    assert f"see {file}" in result.stderr
    assert "1 records of other clients were left out" in result.stderr
    assert corrected.exit_code == 0, corrected.output
    shown = json.loads(store("contacts", "list", "--client", "acme", "--filter", "email=good@example.com", "--json").stdout)
    assert [(one["contact_status"], one["contact_custom_fields"][0]["field_value"]) for one in shown] == [("new", "A")]


def test_import__reads_the_key_from_a_file_and_one_workspace(store: Run, fake: FakeRevyOps) -> None:
    store("clients", "add", "acme")
    fake.workspace = True
    Path("key").write_text(f"{KEY}\n")
    with fake.served() as base:
        named = ("import", "revyops", "--base-url", base, "--master-key-file", "key")
        without = store(*named)
        result = store(*named, "--workspace", "acme", "--dry-run", "--json")

    assert "(404)" in without.output
    assert "--workspace CLIENT for a key of one workspace" in without.output
    assert [(one["list"], one["created"]) for one in json.loads(result.stdout)["clients"]] == [("companies", 1), ("contacts", 3)]


def test_import__of_a_workspace_brings_its_emails(store: Run, fake: FakeRevyOps) -> None:
    store("clients", "add", "acme")
    fake.workspace = True
    fake.emails += [email(1), email(2, email_type="OUT_MAIL"), email(3, "lost@example.com")]
    with fake.served() as base:
        named = ("import", "revyops", "--base-url", base, "--workspace", "acme")
        without = store(*named, "--emails", "without", "--json", env=ENV)
        result = store(*named, "--emails", "only", "--email-type", "Out-Mail=reply", env=ENV)

    assert (without.exit_code, [one["list"] for one in json.loads(without.stdout)["clients"]]) == (0, ["companies", "contacts"])
    assert result.exit_code == 1
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["THEIRS", "LIST", "READ", "CREATED", "UPDATED", "UNCHANGED", "REFUSED", "HERE", "CLIENT"]
    assert lines[1:] == [["acme", "emails", "3", "2", "0", "0", "1", "-", "acme"]]
    (file,) = Path("revyops-import").glob("refused-*.csv")
    assert "its contact is not here" in file.read_text()
    shown = json.loads(store("messages", "list", "--client", "acme", "--json").stdout)
    assert [(each["subject"], each["direction"]) for each in shown] == [("Subject 2", "received"), ("Subject 1", "sent")]


def test_import__with_a_master_key_says_that_emails_were_not_read(store: Run, fake: FakeRevyOps) -> None:
    with fake.served() as base:
        result, quiet = [store("import", "revyops", "--base-url", base, "--emails", each, env=ENV) for each in ("with", "without")]

    assert (result.exit_code, quiet.exit_code) == (0, 0)
    assert "e-mails were not read: import each workspace with its own key, --workspace CLIENT and --emails only" in result.stderr
    assert "e-mails were not read" not in quiet.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "the key is missing: set TOUCHBASE_REVYOPS_KEY, or give --master-key-file FILE"),
        (["--master-key", "two words"], "the key is not one word of ASCII characters"),
        (["--master-key", KEY, "--master-key-file", "key"], "give one of --master-key and --master-key-file"),
        (
            ["--master-key", KEY, "--client", "acme"],
            "--client 'acme' must be THEIR=OURS; for a key of one workspace it is --workspace CLIENT",
        ),
        (["--master-key", KEY, "--client", "1=a", "--client", "1=b"], "--client names '1' twice"),
        (["--master-key", KEY, "--workspace", "a", "--only-mapped"], "leave out --client and --only-mapped"),
        (["--master-key", KEY, "--emails", "only"], "--emails only needs --workspace CLIENT"),
        (["--master-key", KEY, "--email-type", "OUT=out"], "--email-type 'OUT=out' must be WORD=sent or WORD=reply"),
        (["--master-key", KEY, "--workspace", "none"], "there is no client 'none'"),
        (["--master-key", KEY, "--client", "1=none"], "there is no client 'none'"),
        (["--master-key", KEY], "127.0.0.1 cannot be reached"),
    ],
)
def test_import__says_what_is_wrong_with_options(store: Run, options: list[str], message: str) -> None:
    result = store("import", "revyops", "--base-url", "http://127.0.0.1:9", *options)

    assert result.exit_code in (1, 2)
    assert message in " ".join(result.output.split())
