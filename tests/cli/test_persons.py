"""`touchbase persons erase`, `persons export` and `prune`, and that logs hold nobody's data."""

from __future__ import annotations

import asyncio
import json
import stat
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.cli.conftest import Run
from tests.cli.test_commands import SENT, keep
from tests.cli.test_serve import Serve, serve
from tests.storage.database_search import find_in_database

from touchbase.cli.output import output_file
from touchbase.clients.models import KEEP_BODIES_DAYS

__all__ = ["serve"]
CANARY = b" " + SENT.replace(b"contact@", b"goldfinch@")  # the first bytes tell calls apart here
MENTION = b"nonsense of goldfinch%40example.com"
URL = "sqlite:///touchbase.db"
WHO = ("--client", "acme", "--email", "Goldfinch@example.com")


@pytest.fixture
def filled(store: Run, made_stores: dict[str, bytes]) -> Run:
    """A store with calls of two people, applied, and one that is not recognised."""
    file = Path("touchbase.db")
    if "filled" not in made_stores:
        keep(CANARY, SENT, MENTION)
        assert store("worker", "--once").exit_code == 0
        made_stores["filled"] = file.read_bytes()
    file.write_bytes(made_stores["filled"])
    return store


def test_persons_erase__reports_what_it_removed_and_leaves_no_trace(filled: Run) -> None:
    keep(b"  " + CANARY.replace(b"09:30", b"10:30"))  # waits

    result = filled("persons", "erase", *WHO, "--yes")

    assert result.output == "removed: 1 contacts, 1 events of the timeline, 2 bodies of deliveries\n"
    assert asyncio.run(find_in_database(URL, "goldfinch")) == []
    assert filled("verify").output.startswith("verified 1 contacts")


def test_erasures__are_listed_for_all_clients(filled: Run) -> None:
    filled("persons", "erase", *WHO, "--yes")

    listed = [(item["client_id"], item["removed"]["contacts"]) for item in json.loads(filled("persons", "erasures", "--json").stdout)]

    assert listed == [("acme", 1)]
    assert filled("persons", "erasures", "--client", "acme").stdout.splitlines()[1].startswith("acme")
    assert filled("persons", "requests").output == "no CRM's request to erase a person waits\n"


def test_persons_erase_dry_run__reports_and_removes_nothing(filled: Run) -> None:
    output = filled("persons", "erase", *WHO, "--dry-run").output

    assert output == "would remove: 1 contacts, 1 events of the timeline, 2 bodies of deliveries\n"
    assert asyncio.run(find_in_database(URL, "goldfinch")) != []


@pytest.mark.parametrize(("answer", "gone"), [("y\n", True), ("n\n", False), ("", False)])
def test_persons_erase__asks_for_confirmation(filled: Run, answer: str, gone: bool) -> None:
    result = filled("persons", "erase", *WHO, stdin=answer)

    assert "would remove: 1 contacts" in result.output
    assert (asyncio.run(find_in_database(URL, "goldfinch")) == []) == gone
    assert result.exit_code == (0 if gone else 1)
    assert ("nothing was erased: answer y, or give --yes" in result.output) != gone


def test_persons_erase__says_how_to_name_a_person(filled: Run, subtests: pytest.Subtests) -> None:
    for arguments, says in [
        (["--client", "acme"], "name the person with --email, --linkedin or --id"),
        (["--client", "acme", "--email", "nobody"], "--email is not an e-mail address"),
        (["--client", "acme", "--linkedin", "n/a"], "--linkedin is not the address of a LinkedIn profile"),
        (["--client", "nosuch", "--email", "a@b.com", "--yes"], "touchbase clients list"),
        (["--client", "acme", "--id", "99", "--yes"], "no contact with id 99"),
        (["--client", "acme", "--lift", "--id", "1"], "--email or --linkedin"),
        ([*WHO, "--lift", "--id", "1"], "--lift takes --email or --linkedin"),
        ([*WHO, "--lift", "--dry-run"], "and no --dry-run"),
        (["--client", "acme", "--id", "99999999999999999999", "--yes"], "not in the range"),
    ]:
        with subtests.test(says):
            result = filled("persons", "erase", *arguments)

            assert result.exit_code != 0
            assert says in result.output


def test_persons_erase_lift__lets_a_person_be_stored_again(filled: Run) -> None:
    filled("persons", "erase", *WHO, "--yes")

    lifted = filled("persons", "erase", *WHO, "--lift").output
    keep(b"  " + CANARY.replace(b"09:30", b"11:30"))
    filled("worker", "--once")

    assert lifted == "1 keyed hashes removed: the person may be stored again\n"
    assert asyncio.run(find_in_database(URL, "goldfinch")) != []


def test_persons_erase_lift__changes_nothing_in_a_dry_run_or_without_an_erasure(filled: Run) -> None:
    nobody = filled("persons", "erase", *WHO, "--lift").output
    filled("persons", "erase", *WHO, "--yes")

    filled("persons", "erase", *WHO, "--lift", "--dry-run")
    keep(b"  " + CANARY.replace(b"09:30", b"11:30"))
    filled("worker", "--once")

    assert nobody == "no person with this address was erased\n"
    assert asyncio.run(find_in_database(URL, "goldfinch")) == []


@pytest.mark.parametrize("how", ["--yes", "--dry-run"])
def test_persons_erase__rejects_arguments_that_name_two_contacts(filled: Run, how: str) -> None:
    (second,) = [item["id"] for item in exported(filled) if item["email"] == "contact@example.com"]

    result = filled("persons", "erase", *WHO, "--id", str(second), how)

    assert result.exit_code == 1
    assert "these are several contacts" in result.output
    assert asyncio.run(find_in_database(URL, "goldfinch")) != []


def exported(run: Run) -> list[dict[str, Any]]:
    """The contacts of the two people."""
    emails = ("goldfinch@example.com", "contact@example.com")
    return [json.loads(run("persons", "export", "--client", "acme", "--email", email).output)["contact"] for email in emails]


@pytest.mark.parametrize(
    ("step", "arguments", "says"),
    [
        ("would_erase", ["--dry-run"], "stopped; nothing was erased"),
        ("would_erase", [], "stopped; nothing was erased"),
        ("search", ["--yes"], "erased; the search of the inbox stopped: a running server, or `touchbase worker`, continues it"),
    ],
)
def test_persons_erase__that_is_interrupted_reports_what_was_done(
    filled: Run, monkeypatch: pytest.MonkeyPatch, step: str, arguments: list[str], says: str
) -> None:
    async def stopped(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"touchbase.erasure.service.Eraser.{step}", stopped)

    result = filled("persons", "erase", *WHO, *arguments)

    assert (result.exit_code, result.stderr) == (130, f"\n{says}\n")
    assert (filled("persons", "export", *WHO).exit_code == 0) == (step == "would_erase")


def test_inbox_show__explains_a_removed_body(filled: Run) -> None:
    filled("persons", "erase", *WHO, "--yes")

    shown = filled("inbox", "show", "1").output
    as_json = json.loads(filled("inbox", "show", "1", "--json").output)
    replayed = filled("inbox", "replay", "1")

    assert "body removed on 2" in shown
    assert "because a person in it was erased" in shown
    assert (as_json["body"], as_json["body_removed"]["why"]) == (None, "erased")
    assert replayed.exit_code == 1
    assert "cannot be replayed" in replayed.output


def test_prune__removes_bodies_past_their_retention(filled: Run) -> None:
    early = filled("prune", "--dry-run").output
    filled("clients", "configure", "acme", "-", stdin='{"keep_bodies_days": 0}')

    due = filled("prune", "--client", "acme", "--dry-run").output
    done = filled("prune").output
    again = filled("prune").output

    assert early == f"acme: 0 bodies would be removed (stored {KEEP_BODIES_DAYS} days)\n"
    assert due == "acme: 2 bodies would be removed (stored 0 days)\n"
    assert done == "acme: 2 bodies removed (stored 0 days)\n"
    assert again.startswith("acme: 0 ")
    assert "body removed by retention on" in filled("inbox", "show", "1").output
    assert filled("verify").exit_code == 0


def test_persons_export__writes_one_persons_data_as_json(filled: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = [CANARY.replace(b'"email_sent"', b'"email_sent","campaign_name":"%d"' % number) for number in range(2)]
    keep(b"  " + more[0], b"   " + more[1])
    filled("worker", "--once")

    printed = json.loads(filled("persons", "export", *WHO).output)
    monkeypatch.setenv("TOUCHBASE_PAGE_BYTES", "1")
    filled("persons", "export", "--client", "acme", "--id", str(printed["contact"]["id"]), "--out", "person.json")

    assert json.loads((tmp_path / "person.json").read_text()) == printed
    assert printed["contact"]["email"] == "goldfinch@example.com"
    assert len(printed["timeline"]) == len(printed["deliveries"]) == 3
    assert all("goldfinch" in delivery["body"]["content"] for delivery in printed["deliveries"])


def test_persons_export__writes_a_complete_private_file_or_none(
    filled: Run, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    nowhere = filled("persons", "export", *WHO, "--out", "nowhere/person.json")
    done = filled("persons", "export", *WHO, "--out", "person.json")
    with monkeypatch.context() as broken:
        broken.setattr("touchbase.cli.persons.ExportText.end", lambda text: 1 / 0)
        broken.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("traces")))
        half = filled("persons", "export", *WHO, "--out", "half.json")

    assert (nowhere.exit_code, nowhere.output) == (1, "Error: cannot write nowhere/person.json: No such file or directory\n")
    assert (done.exit_code, stat.S_IMODE(Path("person.json").stat().st_mode)) == (0, 0o600)
    assert (half.exit_code, "ZeroDivisionError" in half.output) == (1, True)
    assert [path.name for path in Path.cwd().glob("*.json*")] == ["person.json"]


def test_output_file__with_two_writers_holds_the_last_one_whole(tmp_path: Path) -> None:
    with output_file(tmp_path / "person.json") as first:
        first.write("the whole first")
        with output_file(tmp_path / "person.json") as second:
            second.write("second")

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"person.json": "the whole first"}


def test_persons_export__fails_for_an_unknown_person(filled: Run) -> None:
    result = filled("persons", "export", "--client", "acme", "--email", "nobody@example.com")

    assert (result.exit_code, result.output) == (1, "Error: no such person is stored: try another address of the person, or --id\n")


def test_server_log__contains_no_personal_data(serve: Serve) -> None:
    server = serve("--log-level", "debug")
    hook = "/public/emailcampaign-webhook/default"
    contact: dict[str, Any] = server.post("/public/v2/contacts", {"email": "goldfinch@example.com", "first_name": "Vogelsang"})[1]
    for body in (json.loads(CANARY), json.loads(SENT), {"riddle": "goldfinch@example.com"}, [json.loads(CANARY), {"x": "Vogelsang"}]):
        server.post(f"{hook}?who=goldfinch%40example.com", body)
    server.post("/public/v2/contacts", {"email": "goldfinch@example.com", "company_id": "Vogelsang"})
    server.get("/public/v2/contacts?email=goldfinch@example.com")
    until = time.monotonic() + 60
    while '"received"' in server.get("/admin/v1/deliveries?state=received")[1] and time.monotonic() < until:
        pass
    erased = server.delete(f"/public/v2/contacts/{contact['id']}?erase=true")
    server.post(f"{hook}?again=goldfinch%40example.com", json.loads(CANARY))
    refused = server.post("/public/v2/contacts", {"email": "goldfinch@example.com"})
    assert server.stop() == 0

    log = server.log()
    assert erased[0] == 200
    assert (refused[0], refused[1]["code"]) == (409, "person_erased")
    assert log.count('"route"') >= 8
    assert "canary" not in log.lower()
    assert "vogelsang" not in log.lower()


def test_vacuum__reports_no_trace_of_deleted_rows(filled: Run) -> None:
    assert filled("persons", "erase", *WHO, "--yes").exit_code == 0

    result = filled("vacuum")

    assert (result.exit_code, result.output) == (0, "the store's files have no trace of deleted rows\n")
    assert asyncio.run(find_in_database(URL, "goldfinch")) == []


def test_vacuum__with_an_open_reader_says_what_to_do(filled: Run) -> None:
    with apsw.Connection("touchbase.db") as reader:
        row = reader.execute("SELECT * FROM contact").fetchone()
        cursor = reader.execute("SELECT * FROM delivery")
        next(cursor)
        result = filled("vacuum")

    assert row is not None
    assert result.exit_code == 1
    assert "stop the server, then run this again" in result.output
