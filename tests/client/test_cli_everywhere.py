"""Every command that the API can carry out works with `--url`, and prints what it prints with `--database`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.client.conftest import KEY, Served

from touchbase.cli import COMMANDS, cli
from touchbase.cli.server_options import GROUPS
from touchbase.statuses import job as status_job
from touchbase_client import Touchbase

Run = Callable[..., Result]


@pytest.fixture
def run(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command at the server, as its administrator, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)

    def invoke(*arguments: str, status: int = 0, **more: str) -> Result:
        environment = {"TOUCHBASE_KEY": served.key}
        result = CliRunner().invoke(
            cli, ["--url", served.url, *arguments], catch_exceptions=False, prog_name="touchbase", env=environment, **more
        )
        assert result.exit_code == status, result.output
        return result

    return invoke


@pytest.fixture
def same(run: Run, served: Served) -> Callable[..., str]:
    """Run a command at the server and on its store, as a table and as JSON; they print the same. Return the table."""

    def compare(*arguments: str) -> str:
        environment = {"TOUCHBASE_DATABASE": served.database, "TOUCHBASE_ENCRYPTION_KEY": KEY}
        for form in ((), ("--json",)):
            here = CliRunner().invoke(cli, [*arguments, *form], catch_exceptions=False, prog_name="touchbase", env=environment)
            there = run(*arguments, *form)
            assert (here.exit_code, here.stdout) == (0, there.stdout), (arguments, here.output)
        return run(*arguments).stdout

    return compare


def test_keys__are_made_listed_rotated_and_revoked(run: Run, same: Callable[..., str], client_id: str) -> None:
    text = run("keys", "create", "--client", client_id, "--name", "importer", "--scope", "records:read", "--expires-in", "30d").stdout
    number = text.split("_")[2]
    successor = json.loads(run("keys", "rotate", number, "--keep-old", "1h", "--json").stdout)
    revoked = json.loads(run("keys", "revoke", successor["key_id"], "--json").stdout)

    assert text.startswith("tb_live_")
    assert successor["scopes"] == ["records:read"]
    assert revoked["state"] == "revoked"
    assert "importer" in same("keys", "list", "--client", client_id)
    assert same("keys", "show", number)


def test_clients__are_added_changed_and_deleted(run: Run, same: Callable[..., str], client_id: str, tmp_path: Path) -> None:
    document = json.loads(run("clients", "add", f"{client_id}-two", "--name", "Two", "--json").stdout)
    again = run("clients", "add", f"{client_id}-two")
    (tmp_path / "settings.json").write_text('{"keep_bodies_days": 7}')
    configured = json.loads(run("clients", "configure", f"{client_id}-two", "settings.json", "--json").stdout)
    run("clients", "rename", f"{client_id}-two", "Second")
    run("clients", "suspend", f"{client_id}-two")
    run("clients", "resume", f"{client_id}-two")
    run("clients", "rotate-id", f"{client_id}-two", "--to", f"{client_id}-three")

    assert document["log_name"]
    assert again.stderr.endswith("exists and is not changed\n")
    assert configured["settings"]["keep_bodies_days"] == 7
    assert "Second" in same("clients", "show", f"{client_id}-three")
    assert f"{client_id}-three" in same("clients", "list", "--name", client_id)
    assert "add --yes" in run("clients", "delete", f"{client_id}-three", status=2).stderr
    assert "is closed" in run("clients", "delete", f"{client_id}-three", "--yes").stdout
    assert "404" in run("clients", "configure", "nobody-here", "settings.json", status=1).stderr


def test_records__are_deleted_restored_merged_and_paired(run: Run, same: Callable[..., str], client_id: str, tb: Touchbase) -> None:
    of = ("--client", client_id)
    first, two, three = (
        str(tb.contacts.create({"email": f"{name}@example.com", "first_name": "Ann", "last_name": "Lee"})["id"]) for name in ("a", "b", "c")
    )

    pairs = same("contacts", "duplicates", *of)
    tried = run("contacts", "delete", first, "--dry-run", *of)
    deleted = run("contacts", "delete", first, "4711", *of, status=1)
    restored = run("contacts", "restore", first, *of)
    preview = run("contacts", "merge", first, two, "--dry-run", *of)
    merged = json.loads(run("contacts", "merge", first, two, "--json", *of).stdout)

    assert pairs.count("Ann Lee") == 6
    assert (tried.stdout, tried.stderr) == (f"deleted contact {first}\n", "nothing was stored: --dry-run\n")
    assert deleted.stdout == f"deleted contact {first}\n"
    assert "4711" in deleted.stderr
    assert restored.stdout == f"restored contact {first}\n"
    assert preview.stderr == f"contact {two} would be merged into {first}\n"
    assert (merged["merged"], merged["contact"]["id"]) == ([int(two)], int(first))
    assert run("companies", "delete", three, *of, status=1).stdout == ""


def test_files__are_imported_and_exported(run: Run, same: Callable[..., str], client_id: str, tmp_path: Path) -> None:
    of = ("--client", client_id)
    (tmp_path / "people.csv").write_text("Mail,First\nann@example.com,Ann\nben@example.com,Ben\nwrong,Eve\n")
    maps = ("--map", "Mail=email", "--map", "First=first_name")

    shown = run("contacts", "import", "people.csv", "--preview", *maps, *of)
    counted = json.loads(run("contacts", "import", "people.csv", "--dry-run", "--json", *maps, *of, status=1).stdout)
    done = run("contacts", "import", "people.csv", "--bad-rows", "bad.csv", "--save-as", "sheet", *maps, *of, status=1)
    again = json.loads(run("contacts", "import", "people.csv", "--mapping", "sheet", "--json", *of, status=1).stdout)
    exported = same_file(run("contacts", "export", "--fields", "email,first_name", *of).stdout)

    assert "first_name" in shown.stdout
    assert counted["progress"]["created"] == 2
    assert "1 row was refused: in bad.csv" in done.stderr
    assert "wrong" in (tmp_path / "bad.csv").read_text()
    assert again["progress"]["unchanged"] == 2
    assert [(row["email"], row["first_name"]) for row in exported] == [("ann@example.com", "Ann"), ("ben@example.com", "Ben")]
    assert "is not stored; there are: sheet" in run("contacts", "import", "people.csv", "--mapping", "other", *of, status=2).stderr


def same_file(text: str) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(text))]


def test_changes__are_listed_shown_and_reverted(run: Run, same: Callable[..., str], tb: Touchbase, client_id: str) -> None:
    commands = [{"op": "create", "body": {"email": f"p{number}@example.com"}} for number in range(3)]
    results = tb.contacts.batch({"commands": commands})["results"]
    tb.contacts.update(results[0]["id"], {"first_name": "Edited"})
    number = json.loads(run("changes", "list", "--client", client_id, "--json").stdout)[0]["id"]

    assert "3 records" in same("changes", "list", "--client", client_id)
    assert "revertible_until" in same("changes", "show", number, "--client", client_id)
    tried = json.loads(run("changes", "revert", number, "--client", client_id, "--dry-run", "--json").stdout)
    text = run("changes", "revert", number, "--client", client_id).stdout

    assert (tried["progress"]["deleted"], tried["progress"]["kept"]) == (2, 1)
    assert "it has changed since: contact.updated" in text
    assert [contact["id"] for contact in tb.contacts.list()["data"]] == [results[0]["id"]]
    assert "partly" in run("changes", "list", "--client", client_id, "--kind", "bulk").stdout


def test_statuses_and_custom_fields__are_changed_by_jobs(
    run: Run, same: Callable[..., str], client_id: str, tb: Touchbase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_job, "SETTLED", 0)  # the server runs in this process: its jobs need not wait for earlier requests
    of = ("--client", client_id)
    fields = [{"field_name": "a/b", "field_value": "40"}]
    tb.contacts.create({"email": "ann@example.com", "contact_status": "open", "contact_custom_fields_input": fields})

    run("statuses", "add", "won", "--start-set", *of)
    assert json.loads(run("statuses", "rename", "open", "begun", "--dry-run", "--json", *of).stdout)["records"] == 1
    assert "succeeded, 1 records changed" in run("statuses", "rename", "open", "begun", *of).stdout
    assert "is 'won' from now on" in run("statuses", "merge", "begun", "won", *of).stdout
    run("statuses", "add", "lost", *of)
    assert run("statuses", "remove", "lost", *of).stdout == "removed: lost\n"
    assert "won" in same("statuses", "list", *of)

    assert "misfits" in run("custom-fields", "set-type", "a/b", "date", "--dry-run", *of).stdout
    run("custom-fields", "set-type", "a/b", "number", *of)
    run("custom-fields", "add", "Size", "--type", "select", "--option", "40", "--option", "50", *of)
    assert json.loads(run("custom-fields", "rename", "a/b", "Seats", "--dry-run", "--json", *of).stdout)["records"] == 1
    assert "succeeded" in run("custom-fields", "rename", "a/b", "Seats", *of).stdout
    assert "succeeded" in run("custom-fields", "merge-values", "Seats", "41", "--value", "40", *of).stdout
    assert "Seats" in same("custom-fields", "list", *of)
    assert "succeeded" in run("custom-fields", "remove", "Seats", "--values", *of).stdout


def test_suppressions__are_added_imported_exported_and_removed(run: Run, same: Callable[..., str], client_id: str, tmp_path: Path) -> None:
    of = ("--client", client_id)
    (tmp_path / "list.csv").write_text("email,reason,note\nben@example.com,legal,=1\nwrong,,\n")

    added = run("suppressions", "add", "ann@example.com", "spam.example", "--reason", "requested", "--until", "2999-01-01", *of)
    imported = json.loads(run("suppressions", "import", "list.csv", "--json", *of, status=1).stdout)
    everywhere = run("suppressions", "add", f"{client_id}.example", "--installation").stdout

    assert added.stdout == "created: ann@example.com (requested)\ncreated: spam.example (requested)\n"
    assert (imported["created"], imported["invalid"], imported["errors"][0]["line"]) == (1, 1, 3)
    assert everywhere.startswith("created: ")
    assert "spam.example" in same("suppressions", "list", *of)
    assert "'=1" in same("suppressions", "export", *of)
    assert run("suppressions", "remove", "spam.example", *of).stdout == "removed: spam.example (requested)\n"
    assert "is not on this list" in run("suppressions", "remove", "spam.example", *of, status=1).stderr
    assert run("suppressions", "remove", f"{client_id}.example", "--installation").stdout.startswith("removed: ")


def test_endpoints__are_added_shown_and_changed(run: Run, same: Callable[..., str], client_id: str) -> None:
    of = ("--client", client_id)

    document = json.loads(run("endpoints", "add", "https://hooks.example.com/in", "--type", "contact.replied", "--json", *of).stdout)
    number = str(document["id"])
    rotated = json.loads(run("endpoints", "rotate-secret", number, "--json", *of).stdout)

    assert document["client_id"] == client_id
    assert {document["secret"][:6], rotated["secret"][:6]} == {"whsec_"}
    assert "contact.replied" in same("endpoints", "list", *of)
    assert same("endpoints", "attempts", *of) == ""
    assert json.loads(run("endpoints", "preview", number, "--json", *of).stdout)["kind"] == "webhook"
    run("endpoints", "test", number, *of, status=1)
    attempt = str(json.loads(run("endpoints", "attempts", "--json", *of).stdout)[0]["id"])
    assert '"type":"endpoint.test"' in same("endpoints", "request", attempt, *of)
    assert run("endpoints", "replay", number, "--missing-since", "1h", *of).stdout == f"0 events will be sent to endpoint {number}\n"
    assert run("endpoints", "resume", number, *of).stdout == f"endpoint {number} is active\n"
    elsewhere = run("endpoints", "add", "--kind", "email", "--to", "eve@evil.example", *of, status=1).stderr
    assert "ask the operator to add evil.example to TOUCHBASE_MAIL_DOMAINS" in " ".join(elsewhere.split())
    assert run("endpoints", "remove", number, *of).stdout == f"endpoint {number} is removed\n"


def test_connections_messages_and_reports__are_read(run: Run, same: Callable[..., str], client_id: str, tb: Touchbase) -> None:
    of = ("--client", client_id)
    document = json.loads(run("connections", "add", "--tool", "pipedrive", "--generate-secret", "--json", *of).stdout)
    changed = run("connections", "add", "--tool", "pipedrive", "--setting", "create_unknown=false", *of).stdout
    contact = tb.contacts.create({"email": "ann@example.com", "contact_status": "new"})["id"]
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    tb.messages.create({"contact_id": contact, "direction": "received", "occurred_at": "2026-11-20T09:30:00Z", "text": "yes, please"})

    assert document["generated_secret"]
    assert document["webhook_path"] == f"/public/crm-webhook/{client_id}"
    assert f"/public/crm-webhook/{client_id}" in changed
    assert "its secret is set" in changed
    assert json.loads(run("connections", "show", "--tool", "pipedrive", "--json", *of).stdout)["settings"]["create_unknown"] is False
    assert "pipedrive" in same("connections", "list", *of)
    assert "pipedrive" in same("connections", "show", "--tool", "pipedrive", *of)
    assert same("connections", "silences", "--tool", "pipedrive", *of) == ""
    assert "yes, please" in same("messages", "list", "--email", "ann@example.com", "--since", "2026-11-01T00:00:00Z", *of)
    assert json.loads(run("messages", "get", "1", *of).stdout)["text"] == "yes, please"
    rows = json.loads(run("reports", "status", "--interval", "day", "--since", "3d", "--until", tomorrow, "--json", *of).stdout)
    assert (rows[-1]["client_id"], rows[-1]["records"]) == (client_id, 1)
    assert client_id in run("reports", "status", "--since", "3d").stdout
    assert json.loads(run("reports", "campaigns", "--group-by", "tool,week", "--json", *of).stdout) == []
    assert same("refusals", "list", *of) == ""
    assert "no longer connected" in run("connections", "remove", "--tool", "pipedrive", *of).stdout


def test_notes__are_added_and_listed(run: Run, same: Callable[..., str], client_id: str, tb: Touchbase) -> None:
    contact = tb.contacts.create({"email": "ann@example.com"})["id"]
    company = tb.companies.create({"domain": "a.example"})["id"]
    on_contact = ("--client", client_id, "--contact", str(contact))

    first = json.loads(run("notes", "add", *on_contact, "Prefers\nGerman", "--json").stdout)
    second = run("notes", "add", *on_contact, "Call on Monday").stdout
    run("notes", "add", "--client", client_id, "--company", str(company), "Moves in May")

    assert second == f"note {first['id'] + 1} is added\n"
    assert "Prefers German" in same("notes", "list", *on_contact)
    assert "Moves in May" in same("notes", "list", "--client", client_id, "--company", str(company))
    page = run("notes", "list", *on_contact, "--limit", "1")
    assert "Prefers" not in page.stdout
    assert "Prefers" in run("notes", "list", *on_contact, "--after", str(first["id"] + 1)).stdout
    assert "give either --contact or --company" in run("notes", "list", "--client", client_id, status=2).stderr


def test_persons__are_exported_and_erased(run: Run, client_id: str, tb: Touchbase, tmp_path: Path) -> None:
    of = ("--client", client_id, "--email", "ann@example.com")
    tb.contacts.create({"email": "ann@example.com"})

    run("persons", "export", "--out", "ann.json", *of)
    unsure = run("persons", "erase", *of, status=1, input="n\n")
    erased = json.loads(run("persons", "erase", "--yes", "--json", *of).stdout)

    assert json.loads((tmp_path / "ann.json").read_text())["contact"]["email"] == "ann@example.com"
    assert "nothing was erased" in unsure.stderr
    assert erased["removed"]["contacts"] == 1
    assert "no contact has this address now" in run("persons", "erase", "--yes", *of, status=1).stderr


def test_cells__are_listed_without_their_addresses(run: Run, served: Served, client_id: str) -> None:
    (home,) = json.loads(run("databases", "list", "--json").stdout)
    table = run("databases", "list").stdout

    assert (home["name"], home["number"], home["state"], home["answers"], home["reason"]) == ("home", 0, "open", True, None)
    assert home["clients"] >= 1
    assert "address" not in home
    assert served.database.partition("?")[0].rpartition("/")[2] not in table
    assert table.split()[:5] == ["DATABASE", "NUMBER", "STATE", "CLIENTS", "ANSWERS"]
    assert "works on the store itself" in " ".join(run("databases", "drain", "eu", status=2).stderr.split())


def test_notifications__of_a_key_are_none(run: Run) -> None:
    assert json.loads(run("notifications", "list", "--unread", "--json").stdout) == []
    assert "a key has no notifications" in run("notifications", "read", status=1).stderr


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {*GROUPS} - {"mcp", "relay"}))
def test_command_without_server__says_where_to_run_it(run: Run, command: str) -> None:
    before = run(command, status=2)
    behind = CliRunner().invoke(cli, [command, "--url", "http://127.0.0.1:1"], prog_name="touchbase")

    for said in (before.stderr, behind.stderr):
        assert behind.exit_code == 2
        assert "does not work through a server" in " ".join(said.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["endpoints", "add", "--webhook-allowed-origins", "x", "--client", "acme", "https://a.example"], "goes with a store"),
        (["persons", "erase", "--client", "acme", "--email", "a@example.com", "--dry-run"], "--dry-run goes with a store"),
        (["persons", "erase", "--client", "acme", "--email", "a@example.com", "--lift"], "--lift does not work through a server"),
    ],
)
def test_option_for_a_store__is_refused_with_a_server(run: Run, arguments: list[str], says: str) -> None:
    assert says in " ".join(run(*arguments, status=2).stderr.split())


@pytest.mark.parametrize(
    "arguments", [["statuses", "list"], ["endpoints", "resume", "1"], ["contacts", "delete", "1"], ["messages", "get", "1"]]
)
def test_client__is_required_without_a_server(run: Run, arguments: list[str]) -> None:
    result = CliRunner().invoke(cli, arguments, prog_name="touchbase")

    assert result.exit_code == 2
    assert "Missing option '--client'" in result.stderr
