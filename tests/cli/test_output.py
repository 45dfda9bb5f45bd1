"""Output for people and for programs: tables that fit, colours, and JSON from every command."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import click
import pytest
from tests.cli.conftest import Run
from tests.cli.test_commands import NONSENSE, SENT, keep

from touchbase.cli import cli, output
from touchbase.cli.output import NOTE, SHORT, SPARE, Column, cut, print_json, print_record, print_table, shorten
from touchbase.clients.models import KEEP_BODIES_DAYS
from touchbase.clients.sql.clients import find_client
from touchbase.inbox.queries import RefusedWebhook
from touchbase.inbox.refused import CAUSES
from touchbase.inbox.sql.refused import store_refusals
from touchbase.stores import open_store

WITHOUT_JSON = {
    "serve",
    "completion",
    "events follow",
    "mcp",
    "conversations change",
    "conversations answer",
    "conversations take-back",
    "attention snooze",
    "attention wake",
    "tasks add",
    "tasks done",
    "messages get",
    "relay",
}
"""They run until they are stopped, print a script, or print JSON always; what `relay --once` prints is JSON always."""


def commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with its name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands(command, f"{name} ") if isinstance(command, click.Group) else [(prefix + name, command)]


CONTROLS = "\x1b[2J\r\x9b2J\u202e\u2028"


def test_print_record__prints_no_line_that_a_text_could_forge(capsys: pytest.CaptureFixture[str]) -> None:
    print_record({"name": f"Acme\nstate  active{CONTROLS}", "state": "suspended"})

    lines = capsys.readouterr().out.split("\n")
    assert lines[:3] == ["name   Acme", r"       state  active\x1b[2J\r\x9b2J\u202e\u2028", "state  suspended"]


def test_print_json__has_no_controls_and_the_same_value(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({CONTROLS: CONTROLS})

    text = capsys.readouterr().out
    assert json.loads(text) == {CONTROLS: CONTROLS}
    assert not {*text} & {*"\x1b\r\x9b\u202e\u2028"}


def printed(capsys: pytest.CaptureFixture[str], *columns: Column | str, rows: list[list[object]]) -> list[str]:
    print_table(columns, rows)
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output is a terminal of 60 columns."""
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_json_option__exists_on_every_command_but_those_listed() -> None:
    without = {name for name, command in commands(cli) if "--json" not in [word for param in command.params for word in param.opts]}

    assert without == WITHOUT_JSON


def test_table__aligns_numbers_right_and_shows_missing_values_as_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "id", "name", "proved", rows=[[7, "", True], [1234, "acme", None]])

    assert lines == ["  ID  NAME  PROVED", "   7  -     yes", "1234  acme  -"]


def test_table__shows_times_in_readable_form(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "received", rows=[["2026-11-20T09:30:15.123456Z"]])
    print_record({"received_time": "2026-11-20T09:30:15Z"})

    assert lines[1] == "2026-11-20 09:30"
    assert capsys.readouterr().out == "received_time  2026-11-20 09:30:15\n"


def test_table__replaces_line_breaks_and_escapes_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "name", "why", rows=[["a\nb\tc", "\x1b[2J"]])

    assert lines[1] == "a b c  \\x1b[2J"


def test_table__is_not_shortened_without_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)

    lines = printed(capsys, Column("name", SHORT), Column("channel", SPARE), Column("why", NOTE), rows=[["n" * 90, "crm", "w" * 90]])

    assert lines[1] == f"{'n' * 90}  crm      {'w' * 90}"


@pytest.mark.usefixtures("terminal")
def test_table__shortens_drops_or_moves_columns_to_fit_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    key = "k" * 40

    lines = printed(
        capsys, "key", Column("name", SHORT), Column("kept", SPARE), Column("gone", SPARE), Column("why", NOTE),
        rows=[[key, "a name of many letters", "abc", "defgh", f"{'word ' * 20}end"], [key, "short", "abc", "defgh", None]],
    )  # fmt: skip

    assert lines == [
        f"{'KEY':<40}  NAME",
        f"{key}  a name of many le…",
        f"    {('word ' * 11).strip()}…",
        f"{key}  short",
    ]


@pytest.mark.usefixtures("terminal")
def test_table__drops_the_last_spare_column_first(capsys: pytest.CaptureFixture[str]) -> None:
    columns = ("id", Column("first", SPARE), Column("second", SPARE), Column("why", NOTE))

    lines = printed(capsys, *columns, rows=[[1, "f" * 15, "s" * 15, "word " * 20]])

    assert "\x1b[1mWHY" in lines[0]
    assert "SECOND" not in lines[0]
    assert lines[1].startswith(f" 1  {'f' * 15}  word word")
    assert len(lines[1]) <= 60


@pytest.mark.usefixtures("terminal")
def test_table__colours_states_on_a_terminal_unless_disabled(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = printed(capsys, "state", rows=[["failed"], ["parked"], ["applied"], ["other"]])
    monkeypatch.setenv("NO_COLOR", "1")
    plain = printed(capsys, "state", rows=[["failed"]])
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    dumb = printed(capsys, "state", rows=[["failed"]])

    assert [line.strip("\x1b[0m")[:3] for line in coloured[1:]] == ["31m", "33m", "32m", "oth"]
    assert plain == dumb == ["STATE", "failed"]


def test_table__has_no_colours_without_a_terminal(store: Run) -> None:
    store("clients", "add", "acme")

    assert "\x1b" not in store("clients", "list").output


def test_empty_list__prints_a_hint_to_stderr_or_an_empty_json_array(store: Run) -> None:
    people, programs = store("clients", "list"), store("clients", "list", "--json")

    assert (people.stdout, people.stderr) == ("", "there is no client: `touchbase clients add` adds one\n")
    assert json.loads(programs.stdout) == []


def test_shorten__ends_with_an_ellipsis() -> None:
    assert [shorten(text, 6) for text in ("letters", "letter")] == ["lette…", "letter"]
    assert [cut(text, 12) for text in ("seventeen letters", "short", "seventeenletters")] == ["seventeen…", "short", "seventeenle…"]


def test_wide_characters__take_two_cells(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "name", "id", rows=[["株式会社", 7], ["Zoe\u0308", 8]])

    assert lines == ["NAME      ID", "株式会社   7", "Zoe\u0308        8"]
    assert [shorten("株式会社", most) for most in (8, 7, 6)] == ["株式会社", "株式会…", "株式…"]
    assert cut("株式 会社 ab", 9) == "株式…"


@pytest.fixture
def wide(store: Run) -> str:
    """A store whose every list has rows with long ids and names; answers the client's id, of 40 characters."""
    client_id = store("clients", "add", "--name", "A name of a client " * 9).stdout.strip()
    store("keys", "create", "--name", "A name of a key " * 9, "--client", client_id, "--scope", "admin", "--expires-in", "90d")
    store("connections", "add", "--client", client_id, "--tool", "hubspot", "--access-token", "token-token")
    store("connections", "add", "--client", client_id, "--tool", "emailbison", "--secret", "a-secret-of-ours")
    keep(SENT, NONSENSE, client_id=client_id)
    store("worker", "--once")

    async def refuse() -> None:
        opened = await open_store("sqlite:///touchbase.db")
        client = await opened.read(find_client(client_id))
        assert client is not None
        headers = {"user-agent": "a sender of many words " * 9}
        cause = max(CAUSES, key=len)
        refused_webhook = RefusedWebhook(client.number, 1, "email_campaign", cause, "activecampaign", 123_456, headers, client_id)
        await opened.write(store_refusals(client.number, [refused_webhook]))
        await opened.close()

    asyncio.run(refuse())
    return client_id


LISTS = [
    ("clients", "list"), ("keys", "list"), ("connections", "list"), ("inbox", "list"), ("inbox", "list", "--group"), ("refusals", "list"),
    ("tools",),
]  # fmt: skip


def test_every_list__fits_100_columns_and_breaks_no_id(store: Run, wide: str, subtests: pytest.Subtests) -> None:
    for words in LISTS:
        with subtests.test(" ".join(words)):
            result = store(*words, env={"COLUMNS": "100"})

            assert result.exit_code == 0
            lines = result.stdout.splitlines()
            assert len(lines) > 1
            assert [line for line in lines if len(line) > 100] == []
            assert words == ("tools",) or any(re.search(rf"\b{wide}\b", line) for line in lines)


def test_json_option__prints_one_document_for_every_command(store: Run, tmp_path: Path) -> None:
    keep(SENT)
    (tmp_path / "call.json").write_bytes(SENT)
    client, person = ("--client", "acme"), ("--client", "acme", "--email", "contact@example.com")

    def answer(*words: str, stdin: str | None = None) -> dict[str, object]:
        result = store(*words, "--json", stdin=stdin)
        assert result.exit_code == 0, result.output
        document = json.loads(result.stdout)
        return document if isinstance(document, dict) else {"data": document}

    assert answer("worker", "--once")["ended"] == {"applied": 1}
    assert answer("migrate") == {"migrations": [], "notes": []}
    assert answer("clients", "configure", "acme", "-", stdin='{"on_duplicate": "update"}')["client_id"] == "acme"
    assert [answer("clients", verb, "acme")["state"] for verb in ("suspend", "resume")] == ["suspended", "active"]
    assert answer("clients", "rename", "acme", "Acme Ltd")["name"] == "Acme Ltd"
    key = answer("keys", "create", "--name", "export", *client)
    assert str(key["key"]).startswith(str(key["prefix"]))
    successor = answer("keys", "rotate", str(key["key_id"]))
    assert successor["replaces"] == key["key_id"]
    assert answer("keys", "show", str(key["key_id"]))["replaced_by"] == successor["key_id"]
    assert answer("keys", "revoke", str(successor["key_id"]))["state"] == "revoked"
    new_answer = answer("connections", "add", *client, "--tool", "hubspot", "--generate-secret")
    assert (new_answer["webhook_path"], new_answer["secret"], bool(new_answer["generated_secret"])) == (
        "/public/crm-webhook/acme",
        "set",
        True,
    )
    assert answer("connections", "remove", *client, "--tool", "hubspot") == {"client_id": "acme", "channel": "crm", "tool": "hubspot"}
    assert answer("inbox", "replay", "1", "--dry-run")["would"] == {
        "outcomes": {"applied": 1}, "records_made": 0, "records_changed": 0, "fields": {},
    }  # fmt: skip
    assert answer("inbox", "replay", "1") == {"count": 1, "bodies_removed": 0}
    assert answer("worker", "--once")["records_created"] == 0
    assert answer("verify") == {"differences": [], "contacts": 1, "companies": 0, "events": 1}
    assert answer("prune", "--dry-run") == {"data": [{"client_id": "acme", "bodies": 0, "keep_bodies_days": KEEP_BODIES_DAYS}]}
    assert answer("vacuum") == {"vacuumed": True}
    assert answer("backup", "copy.db")["bytes"] == Path("copy.db").stat().st_size
    assert answer("preview", "--tool", "instantly", "call.json")["tool"] == "instantly"
    assert answer("persons", "export", *person)["contact"]
    assert answer("persons", "erase", *person, "--dry-run")["would_remove"] == answer("persons", "erase", *person, "--yes")["removed"]
    assert answer("persons", "erase", *person, "--lift") == {"forgotten": 1}
    assert answer("encryption-keys", "check")["lost"] == []
    assert answer("encryption-keys", "replace-lost") == {"lost": [], "replaced": []}
    assert len(str(answer("encryption-keys", "generate")["encryption_key"])) == 44
    assert answer("clients", "rotate-id", "acme", "--to", "acme2")["client_id"] == "acme2"
    assert answer("clients", "delete", "acme2", "--yes")["client_id"] == "acme2"
    assert answer("restore", "copy.db")["checked"] is True
    assert answer("clients", "show", "acme")["name"] == "Acme Ltd"


def test_verify_json__contains_the_differences(store: Run) -> None:
    keep(SENT)
    store("worker", "--once")
    with apsw.Connection("touchbase.db") as connection:
        connection.execute("UPDATE contact SET status = 'unheard of'")

    result = store("verify", "--json")
    document = json.loads(result.stdout)

    assert result.exit_code == 1
    assert [(difference["client_id"], difference["found"]) for difference in document["differences"]] == [("acme", "'unheard of'")]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["worker", "--json"], "--json goes with --once"),
        (["persons", "erase", "--client", "acme", "--email", "a@example.com", "--json"], "give --yes or --dry-run"),
    ],
)
def test_json_option__is_rejected_without_once_or_confirmation(store: Run, words: list[str], says: str) -> None:
    result = store(*words)

    assert result.exit_code == 2
    assert says in result.stderr
