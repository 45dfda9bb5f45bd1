"""Commands that need no server: preview, clients, keys, inbox, worker, migrate, openapi."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from tests.cli.conftest import Run
from tests.storage.old_store import KEY, make_old_sqlite

from touchbase import __version__
from touchbase.clients.commands import EnsureClient
from touchbase.history.dedupe_keys import body_key
from touchbase.inbox.commands import StoreDelivery
from touchbase.storage import open_store

SENT = b'{"event_type":"email_sent","lead_email":"contact@example.com","timestamp":"2026-11-20T09:30:00Z"}'
NONSENSE = b"nothing that a tool would send"
ENCRYPTED = {"TOUCHBASE_ENCRYPTION_KEY": KEY}


def keep(*bodies: bytes, client_id: str = "acme", channel: str = "email_campaign") -> list[int]:
    """Put these calls into the inbox of the store in the working directory."""

    async def work() -> list[int]:
        store = await open_store("sqlite:///touchbase.db")
        client = await store.write(EnsureClient(client_id, 1))
        commands = [StoreDelivery(client.number, channel, body_key(channel, "", "", body), b"{}", "", body, 2) for body in bodies]
        kept = [await store.write(command) for command in commands]
        await store.close()
        return [each.id for each in kept]

    return asyncio.run(work())


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version").output == f"touchbase {__version__}\n"


def test_a_call_is_translated_and_not_kept(run: Run, tmp_path: Path) -> None:
    result = run("preview", "--channel", "email_campaign", "-", given=SENT)

    translated = json.loads(result.output)
    assert result.exit_code == 0
    assert translated["tool"] == "instantly"
    assert [(event["event"], event["email"]) for event in translated["events"]] == [("email_sent", "contact@example.com")]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("translate", "preview"),
        ("erase", "persons erase"),
        ("export-person", "persons export"),
        ("reapply-erasures", "persons reapply-erasures"),
        ("inbox refused", "refusals list"),
    ],
)
def test_an_old_name_of_a_command_works_and_stands_in_no_list(run: Run, old: str, new: str) -> None:
    helps = [run(*words.split(), "--help").output.partition("\n\n")[2] for words in (old, new)]
    wrong = run(*old.split(), "--no-such-option")

    assert helps[0] == helps[1] != ""
    assert (wrong.exit_code, "No such option" in wrong.output) == (2, True)
    assert f"  {old} " not in run("--help").output


def test_a_call_is_translated_from_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "call.json").write_bytes(SENT)

    result = run("preview", "--channel", "email_campaign", "--tool", "instantly", "call.json")

    assert json.loads(result.output)["tool"] == "instantly"
    assert run("preview", "--tool", "instantly", "call.json").output == result.output


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--channel", "crm", "-"], 1, "neither JSON nor form fields"),
        (["--channel", "crm", "--tool", "nosuchtool", "-"], 2, "no crm tool is called 'nosuchtool': `touchbase tools` lists them"),
        (["--channel", "crm", "--tool", "hubspot", "-"], 1, "this webhook is not from it"),
        (["--channel", "crm", "--tool", "instantly", "-"], 2, "no crm tool is called 'instantly'"),
        (["--channel", "crm", "missing.json"], 1, "cannot read missing.json: No such file"),
        (["--channel", "post", "-"], 2, "email_campaign"),
        (["--channel", "crm", "-H", "nocolon", "-"], 2, "NAME: VALUE"),
        (["-"], 2, "give --channel email_campaign or crm, or --tool"),
        (["--tool", "generic", "-"], 2, "generic is on both channels: give --channel email_campaign or crm"),
        (["--tool", "nosuchtool", "-"], 2, "no tool is called 'nosuchtool': `touchbase tools` lists them"),
        (["--tool", "hubspot", "-"], 1, "this webhook is not from it"),
    ],
)
def test_a_call_that_cannot_be_translated_is_one_line_that_says_why(run: Run, arguments: list[str], status: int, says: str) -> None:
    result = run("preview", *arguments, given=NONSENSE)

    assert result.exit_code == status
    assert says in result.output
    assert "Traceback" not in result.output


def test_migrating_makes_a_store_and_then_has_nothing_to_do(run: Run) -> None:
    first, second = run("migrate"), run("migrate")

    assert first.output.splitlines()[0].startswith("ran 0001")
    assert second.output == "sqlite:///touchbase.db is up to date\n"


@pytest.mark.parametrize("words", [("clients", "list"), ("inbox", "list"), ("verify",), ("clients", "add", "acme")])
def test_only_what_serves_works_or_migrates_brings_a_store_up_to_date(run: Run, words: tuple[str, ...]) -> None:
    make_old_sqlite(Path("touchbase.db"))

    refused = run(*words, env=ENCRYPTED)
    migrated = run("migrate", env=ENCRYPTED)

    assert (refused.exit_code, refused.output.count("run touchbase migrate")) == (1, 1)
    (copy,) = Path().glob("touchbase.db.before-*[0-9]Z")
    assert migrated.output.splitlines()[:2] == ["ran 0001_initial", "ran 0002_search"]
    assert copy.name in migrated.output
    assert run(*words, env=ENCRYPTED).exit_code == 0


def test_a_store_is_brought_up_to_date_without_a_copy_where_none_is_wanted(run: Run) -> None:
    make_old_sqlite(Path("touchbase.db"))

    assert run("migrate", "--no-migration-copy", env=ENCRYPTED).exit_code == 0
    assert list(Path().glob("*.before-*")) == []


@pytest.mark.parametrize("words", [("tools",), ("migrate",), ("clients", "list"), ("worker", "--once"), ("serve", "--port", "0")])
def test_a_name_in_the_environment_that_is_no_setting_stops_every_command(run: Run, words: tuple[str, ...]) -> None:
    result = run(*words, env={"TOUCHBASE_DATABSE": "sqlite:///x.db"})

    assert result.exit_code == 2
    assert "TOUCHBASE_DATABSE is no setting: the nearest is TOUCHBASE_DATABASE" in result.output
    assert list(Path().iterdir()) == []


def test_a_client_is_added_once_and_listed(store: Run) -> None:
    store("clients", "add", "acme")
    store("clients", "add", "acme")

    listed = json.loads(store("clients", "list", "--json").output)

    assert [each["client_id"] for each in listed] == ["acme"]


def test_settings_are_replaced_by_those_in_a_file_and_shown(store: Run) -> None:
    store("clients", "add", "acme")

    result = store("clients", "configure", "acme", "-", given='{"on_duplicate": "update"}')
    shown = json.loads(store("clients", "show", "acme", "--json").output)

    assert result.exit_code == 0
    assert shown["settings"]["on_duplicate"] == "update"
    assert shown["settings"]["create_unknown"] is True


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ('{"on_duplicate": "explode"}', "/on_duplicate must be one of error, return, update"),
        ('{"on_duplicate": "explode", "limits": 5}', "/limits must be an object, not an integer"),
        ('{"contact_statuses": {"statuses": ["a\\u0000b"]}}', "NUL"),
        ('{"a": 1}}', "line 1 column 9"),
        ("5", "the settings must be an object, not an integer"),
        ('{"on_duplicat": "error"}', "on_duplicat"),
        ('{"contact_statuses": {"statuses": ["new", "new"]}}', "given twice"),
        ("{", "no valid client settings"),
        (b'{"\xff": 1}', "no valid client settings"),
    ],
)
def test_settings_that_cannot_be_are_refused_and_change_nothing(store: Run, given: str | bytes, says: str) -> None:
    store("clients", "add", "acme")

    result = store("clients", "configure", "acme", "-", given=given)

    assert result.exit_code == 1
    assert says in result.output
    assert json.loads(store("clients", "show", "acme", "--json").output)["settings"]["on_duplicate"] == "error"


def test_a_key_is_printed_once_and_for_a_client_that_is_there(store: Run) -> None:
    store("clients", "add", "acme")

    made = store("keys", "create", "--name", "nightly export", "--client", "acme", "--scope", "records:read")
    refused = store("keys", "create", "--name", "nightly export", "--client", "nobody")

    assert made.output.startswith("tb_live_")
    assert made.output.count("\n") == 1
    assert refused.exit_code == 1
    assert "there is no client 'nobody'" in refused.output


def test_the_inbox_is_listed_newest_first_and_filtered(store: Run) -> None:
    first, second = keep(SENT, NONSENSE)
    keep(SENT, client_id="other", channel="crm")

    everything = json.loads(store("inbox", "list", "--json").output)
    of_acme = json.loads(store("inbox", "list", "--client", "acme", "--json").output)
    of_crm = json.loads(store("inbox", "list", "--channel", "crm", "--json").output)

    assert len(everything) == 3
    assert [each["id"] for each in of_acme] == [second, first]
    assert [each["client_id"] for each in of_crm] == ["other"]


def test_the_inbox_is_a_table_for_people(store: Run) -> None:
    keep(SENT)

    lines = store("inbox", "list").output.splitlines()

    assert lines[0].split() == ["ID", "RECEIVED", "CLIENT", "CHANNEL", "TOOL", "STATE", "PROVED", "TRIES", "REPEATS", "WHY"]
    assert "acme" in lines[1]
    assert "received" in lines[1]


def test_working_once_applies_what_waits_and_says_what_was_done(store: Run) -> None:
    applied, unrecognised = keep(SENT, NONSENSE)

    report = json.loads(store("worker", "--once", "--json").output)
    states = {each["id"]: each["state"] for each in json.loads(store("inbox", "list", "--json").output)}

    assert report == {"taken": 2, "ended": {"applied": 1, "unrecognised": 1}, "records_created": 1, "calls_to_tools": 0}
    assert states == {applied: "applied", unrecognised: "unrecognised"}


def test_a_client_whose_secrets_cannot_be_opened_ends_nobody_elses_work(store: Run) -> None:
    store("clients", "add", "acme")
    store("connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspot", "--secret", "a-secret-of-ours")
    with apsw.Connection("touchbase.db") as connection:
        connection.execute("UPDATE connection SET secrets = 'sealed:1:0123456789ab:AAAA'")
    keep(SENT)
    keep(SENT, client_id="other")

    result = store("worker", "--once", "--json")

    assert result.exit_code == 1
    assert json.loads(result.stdout)["ended"] == {"applied": 1}
    assert "the inbox of 1 clients could not be processed" in result.stderr


def test_a_delivery_is_shown_with_its_body_and_its_events(store: Run) -> None:
    (delivery,) = keep(SENT)
    store("worker", "--once")

    detail = json.loads(store("inbox", "show", str(delivery), "--json").output)
    text = store("inbox", "show", str(delivery)).output

    assert detail["body"] == {"encoding": "utf-8", "content": SENT.decode()}
    assert [(event["event"], event["record"]) for event in detail["events"]] == [("email_sent", "contact")]
    assert SENT.decode() in text


def test_a_replay_puts_the_chosen_deliveries_back(store: Run) -> None:
    applied, unrecognised = keep(SENT, NONSENSE)
    store("worker", "--once")

    dry = store("inbox", "replay", "--state", "unrecognised", "--dry-run")
    untouched = json.loads(store("inbox", "list", "--state", "received", "--json").output)
    by_filter = store("inbox", "replay", "--state", "unrecognised")
    by_id = store("inbox", "replay", str(applied))
    waiting = json.loads(store("inbox", "list", "--state", "received", "--json").output)

    assert dry.output.splitlines()[-2:] == [
        "1 delivery would be applied again: 1 unrecognised -> unrecognised",
        "0 records would be made, 0 would change",
    ]
    assert untouched == []
    assert (by_filter.exit_code, by_id.exit_code) == (0, 0)
    assert [each["id"] for each in waiting] == [unrecognised, applied]


@pytest.mark.parametrize("arguments", [[], ["1", "--state", "failed"]])
def test_a_replay_needs_either_ids_or_filters(store: Run, arguments: list[str]) -> None:
    result = store("inbox", "replay", *arguments)

    assert result.exit_code == 2
    assert "either ids or filters" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["inbox", "list"],
        ["worker", "--once"],
        ["migrate"],
        ["backup", "b.db"],
        ["restore", "b.db"],
        ["encryption-keys", "rotate"],
        ["verify"],
    ],
)
def test_an_address_that_names_no_store_is_a_wrong_option(store: Run, arguments: list[str]) -> None:
    result = store(*arguments, env={"TOUCHBASE_DATABASE": "mysql://user:secret@db/x"})

    assert result.exit_code == 2
    assert "--database (TOUCHBASE_DATABASE) names no store: no storage engine is called 'mysql'" in result.output.splitlines()[-1]
    assert "secret" not in result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["inbox", "show", "99"], "there is no delivery with id 99"),
        (["inbox", "replay", "99"], "there is no delivery with id 99"),
        (["inbox", "list", "--client", "nobody"], "there is no client 'nobody'"),
        (["clients", "show", "nobody"], "there is no client 'nobody'"),
        (["inbox", "list", "--database", "sqlite:///none.db"], "there is no store at sqlite:///none.db"),
        (["worker", "--once", "--database", "sqlite:///none.db"], "there is no store at sqlite:///none.db"),
        (["inbox", "list", "--database", "postgresql://user:secret@127.0.0.1:1/x"], "cannot connect to PostgreSQL"),
    ],
)
def test_what_is_not_there_is_one_line_that_says_so(store: Run, arguments: list[str], says: str) -> None:
    result = store(*arguments)

    assert result.exit_code == 1
    assert says in result.output
    assert result.output.count("\n") == 1
    assert "secret" not in result.output


def test_a_missing_store_is_not_made_by_looking_at_it(run: Run, tmp_path: Path) -> None:
    run("inbox", "list")

    assert list(tmp_path.iterdir()) == []


def test_the_interface_is_described_as_openapi(run: Run) -> None:
    document = json.loads(run("openapi").output)

    assert document["openapi"].startswith("3.1")
    assert "/public/v2/contacts" in document["paths"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_commands(run: Run, shell: str) -> None:
    result = run("completion", shell)

    assert "_TOUCHBASE_COMPLETE" in result.output


def test_completion_knows_commands_and_their_options(run: Run) -> None:
    words = run(env={"_TOUCHBASE_COMPLETE": "bash_complete", "COMP_WORDS": "touchbase inbox re", "COMP_CWORD": "2"}).output

    assert words == "plain,replay\n"


def test_every_tool_is_listed_with_what_it_says(run: Run) -> None:
    listed = json.loads(run("tools", "--json").output)
    table = run("tools").output.splitlines()

    [hubspot] = [each for each in listed if (each["tool"], each["channel"]) == ("hubspot", "crm")]
    assert {"subscriptionType", "x-hubspot-signature"} <= set(hubspot["recognised"])
    assert "`contact.creation`" in hubspot["understood"][0]["theirs"]
    assert len(table) == len(listed) + 1
    assert run("tools", "--markdown").output.startswith("# Tools\n")


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["create", "--name", " "], 2, "--name is a text of 1 to 200 characters"),
        (["create", "--name", "x" * 201], 2, "--name is a text of 1 to 200 characters"),
        (["create", "--name", "\udcff"], 2, "--name is a text of 1 to 200 characters"),
        (["create", "--name", "x", "--expires-in", "0"], 2, "--expires-in must be above 0"),
        (["show", "x"], 1, "there is no key 'x': `touchbase keys list`"),
        (["rotate", "x"], 1, "`touchbase keys list`"),
        (["revoke", "x"], 1, "`touchbase keys list`"),
        (["list", "--before", "x"], 1, "`touchbase keys list`"),
    ],
)
def test_a_key_that_cannot_be_made_or_found_says_what_to_do(store: Run, arguments: list[str], status: int, says: str) -> None:
    result = store("keys", *arguments)

    assert result.exit_code == status
    assert says in result.output
    assert json.loads(store("keys", "list", "--json").output) == []


def test_a_packed_call_is_translated_as_a_kept_one_would_be(run: Run) -> None:
    packed = run("preview", "--channel", "email_campaign", "-H", "content-encoding: gzip", "-", given=gzip.compress(SENT))
    bulk = run("preview", "--channel", "crm", "-", given=b"[" + b"{}," * 200_000 + b"{}]")

    assert [event["email"] for event in json.loads(packed.output)["events"]] == ["contact@example.com"]
    assert bulk.exit_code == 1
    assert "more than" in bulk.output


def test_a_store_in_which_no_secret_is_lost_has_nothing_to_replace(store: Run) -> None:
    assert store("encryption-keys", "replace-lost", "--yes").output == "no secret is lost: there is nothing to replace\n"


def test_an_argument_that_no_store_takes_is_refused_in_a_sentence(store: Run) -> None:
    result = store("clients", "show", "\udcff")

    assert result.exit_code == 1
    assert result.output.startswith("Error: clients failed: ")


def test_a_reader_who_has_enough_ends_a_command_well() -> None:
    program = [sys.executable, "-m", "touchbase", "tools", "--markdown"]
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(program, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writer)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("group", ["inbox", "clients", "keys", "encryption-keys", "persons"])
def test_a_group_lists_its_commands_in_whole_sentences(run: Run, group: str) -> None:
    assert "..." not in run(group, "--help").output.partition("Commands:")[2]


def test_an_option_without_a_default_shows_none(run: Run) -> None:
    assert "default: ]" not in run("serve", "--help").output


@pytest.mark.parametrize(
    ("words", "says"),
    [(["connection", "list"], "Did you mean connections?"), (["keys", "crate"], "'create'"), (["xyz"], "No such command 'xyz'.\n")],
)
def test_a_misspelt_command_is_answered_with_the_nearest(run: Run, words: list[str], says: str) -> None:
    result = run(*words)

    assert result.exit_code == 2
    assert says in result.output


def test_completion_is_no_error_where_a_name_of_a_setting_is_unknown(run: Run) -> None:
    env = {"_TOUCHBASE_COMPLETE": "bash_complete", "COMP_WORDS": "touchbase keys cre", "COMP_CWORD": "2", "TOUCHBASE_DATABSE": "x"}

    assert run(env=env).output == "plain,create\n"
