"""Commands through the API of a server: `touchbase --url ... contacts list`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.client.conftest import Served

from touchbase.cli import cli
from touchbase_client import Follower, Touchbase

Run = Callable[..., Result]
MAIL = {
    "event_type": "email_sent", "timestamp": "2026-11-20T09:30:00.000Z", "workspace": "w1", "campaign_id": "c1", "campaign_name": "Autumn",
    "lead_email": "ann@example.com", "email_account": "you@example.net",
}  # fmt: skip


@pytest.fixture
def run(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command at the server, as its administrator, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("TOUCHBASE_KEY", served.key)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["--url", served.url, *arguments], catch_exceptions=False, prog_name="touchbase")

    return invoke


def test_records__are_created_changed_shown_listed_and_searched(run: Run, client_id: str) -> None:
    of = ("--client", client_id, "--json")
    document = json.loads(run("contacts", "create", "email=ann@example.com", "first_name=Ann", "cf.Seats=40", *of).stdout)
    said = json.loads(run("contacts", "update", str(document["id"]), "contact_status=won", "--dry-run", *of).stdout)
    changed = json.loads(run("contacts", "update", str(document["id"]), "contact_status=won", "first_name=", "cf.Seats=", *of).stdout)
    company = json.loads(run("companies", "create", "domain=example.com", "name=First", *of).stdout)

    assert (document["contact_custom_fields"], changed["contact_custom_fields"]) == ({"Seats": "40"}, {})
    assert "contact_status" in [item["field"] for item in said["changed"]]
    assert (changed["contact_status"], changed["first_name"]) == ("won", "")
    assert json.loads(run("contacts", "list", "--filter", "contact_status[in]=won,new", *of).stdout)[0]["id"] == document["id"]
    assert json.loads(run("contacts", "list", "--filter", "contact_status=new", *of).stdout) == []
    assert json.loads(run("companies", "search", "firs", *of).stdout)[0]["id"] == company["id"]
    assert "ann@example.com" in run("contacts", "get", str(document["id"]), "--client", client_id).stdout
    assert run("contacts", "list", "--client", client_id).stdout.split()[0] == "ID"


def test_list__says_that_there_are_more(run: Run, client_id: str, tb: Touchbase) -> None:
    for number in range(3):
        tb.contacts.create({"email": f"{number}@example.com"})

    result = run("contacts", "list", "--client", client_id, "--limit", "2", "--json")

    assert len(json.loads(result.stdout)) == 2
    assert result.stderr == "there are more than 2: raise --limit, or add a --filter\n"


def test_inbox__is_listed_shown_grouped_and_replayed(run: Run, client_id: str, admin: Touchbase) -> None:
    admin.webhooks.emailcampaign(client_id, MAIL)
    admin.webhooks.emailcampaign(client_id, {"what": "is this"})
    while admin.deliveries.list(client=client_id, state="received")["data"]:
        pass

    listed = json.loads(run("inbox", "list", "--client", client_id, "--json").stdout)
    by_person = json.loads(run("inbox", "list", "--client", client_id, "--email", "ann@example.com", "--json").stdout)
    expected = next(item for item in listed if item["tool"] == "instantly")

    assert len(listed) == 2
    assert [item["id"] for item in by_person] == [expected["id"]]
    assert "unrecognised" in run("inbox", "list", "--client", client_id).stdout
    assert "unrecognised" in run("inbox", "list", "--client", client_id, "--group").stdout
    assert "ann@example.com" in run("inbox", "show", str(expected["id"])).stdout
    assert run("inbox", "replay", str(expected["id"])).stdout == "1 delivery will be applied again\n"
    assert (
        run("inbox", "replay", "--client", client_id, "--tool", "instantly", "--dry-run")
        .stdout.splitlines()[1]
        .startswith("1 delivery would be")
    )


def test_events__are_listed_and_followed(run: Run, client_id: str, tb: Touchbase, monkeypatch: pytest.MonkeyPatch) -> None:
    tb.contacts.create({"email": "ann@example.com"})
    follow, indexes = Follower.__next__, iter(range(1))

    def once(self: Follower) -> object:
        next(indexes)
        return follow(self)

    monkeypatch.setattr(Follower, "__next__", once)
    listed = json.loads(run("events", "list", "--client", client_id, "--json").stdout)
    followed = run("events", "follow", "--client", client_id, "--after", "evt_0").stdout.splitlines()

    assert listed[0]["type"] == "contact.created"
    assert json.loads(followed[0]) == listed[0]
    assert "contact.created" in run("events", "list", "--client", client_id).stdout


def test_jobs__are_listed_shown_and_cancelled(run: Run, client_id: str, tb: Touchbase) -> None:
    job = tb.imports.contacts(b"email\nann@example.com\n")

    assert [item["id"] for item in json.loads(run("jobs", "list", "--client", client_id, "--json").stdout)] == [job["id"]]
    assert "preview" in run("jobs", "list", "--client", client_id).stdout
    assert json.loads(run("jobs", "show", str(job["id"]), "--client", client_id, "--json").stdout)["state"] == "preview"
    assert run("jobs", "cancel", str(job["id"]), "--client", client_id).stdout == f"job {job['id']} is cancelled\n"


def test_key_of_one_client__needs_no_client_option(
    run: Run, client_id: str, admin: Touchbase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = admin.admin.keys.create({"client_id": client_id, "name": "cli", "scopes": ["records:read", "records:write"]})
    monkeypatch.delenv("TOUCHBASE_KEY")
    (tmp_path / "key").write_text(f"{created['key']}\n")

    assert run("--key-file", "key", "contacts", "create", "email=ann@example.com").exit_code == 0
    assert len(json.loads(run("contacts", "list", "--key-file", "key", "--json").stdout)) == 1
    assert "401 unauthorized" in run("contacts", "list").stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["verify"], "verify does not work through a server: run it on the server's host"),
        (["tools"], "it needs neither a server nor a store"),
        (["contacts", "list", "--database", "sqlite:///x.db"], "not both"),
        (["contacts", "list", "--client", "a b"], "client_id must be"),
        (["contacts", "list", "--client", "acme", "--filter", "email"], "has no value"),
        (["contacts", "list", "--client", "acme", "--filter", "email=a", "--filter", "email=b"], "given twice"),
        (["contacts", "create", "email"], "has no value"),
        (["inbox", "replay"], "give either ids or filters"),
    ],
)
def test_options__that_do_not_go_together_are_refused(run: Run, arguments: list[str], says: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())


def test_problem__is_one_line_without_advice_for_programs(run: Run, client_id: str, served: Served) -> None:
    missing = run("contacts", "get", "999", "--client", client_id)
    invalid = run("contacts", "create", "emial=ann@example.com", "--client", client_id)

    assert (missing.exit_code, invalid.exit_code) == (1, 1)
    assert missing.stderr.startswith("Error: 404 not_found: ")
    assert "/emial" in invalid.stderr
    assert "error.errors" not in invalid.stderr
    assert served.key not in missing.stderr + invalid.stderr


def test_without_url__says_what_to_give() -> None:
    runner = CliRunner()

    assert "Missing option '--client'" in runner.invoke(cli, ["contacts", "list"]).stderr
    assert "--key-file goes with --url" in runner.invoke(cli, ["contacts", "list", "--client", "acme", "--key-file", "x"]).stderr
