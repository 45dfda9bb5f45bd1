"""`touchbase cells`: an operator spreads clients over several stores."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, own_logging, run, store

from touchbase import cells
from touchbase.cells import moves_sql
from touchbase.clients.sql import removal
from touchbase.routing import moving, moving_copy
from touchbase.storage.sqlite.connection import open_reader

__all__ = ["own_logging", "run", "store"]


@pytest.fixture
def spread(store: Run) -> Run:
    """A home store with the cell eu."""
    made = store("cells", "add", "eu", "--database", "sqlite:///eu.db")
    assert made.exit_code == 0, made.output
    return store


def listed(run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("cells", "list", "--json").output)
    return found


def test_cells__hold_the_clients_that_are_added_to_them(spread: Run) -> None:
    assert spread("clients", "add", "acme", "--cell", "eu").exit_code == 0
    assert spread("clients", "add", "bolt", "--cell", "home").exit_code == 0

    assert [(each["name"], each["clients"], each["reason"]) for each in listed(spread)] == [("home", 1, None), ("eu", 1, None)]
    assert [line.split()[0] for line in spread("clients", "list").output.splitlines()[1:]] == ["acme", "bolt"]
    alone = spread("clients", "list", "--database", "sqlite:///eu.db", env={"TOUCHBASE_ENCRYPTION_KEY_FILE": "touchbase.db.key"})
    assert "acme" in alone.output
    assert "bolt" not in alone.output


def test_cells__one_that_does_not_answer_is_listed_with_the_reason(spread: Run) -> None:
    Path("eu.db").write_bytes(b"nothing that SQLite reads" * 100)

    (_, eu) = listed(spread)
    table = spread("cells", "list").output

    assert eu["reason"] is not None
    assert "no: " in table


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("add", "eu", "--database", "sqlite:///other.db"), "there is a cell 'eu' already"),
        (("add", "us", "--database", "sqlite:///touchbase.db"), "the home store itself"),
        (("add", "us", "--database", "sqlite:///us.db", "--schema", "us"), "only PostgreSQL has schemas"),
        (("add", "US", "--database", "sqlite:///us.db"), "write 1 to 40 of a-z"),
        (("add", "home", "--database", "sqlite:///us.db"), "'home' is the home store"),
        (("add", "us", "--database", "mysql://x/y"), "no storage engine is called 'mysql'"),
        (("drain", "us"), "there is no cell 'us'"),
        (("remove", "us"), "`touchbase cells list` shows all"),
        (("migrate", "us"), "there is no cell us"),
    ],
)
def test_cells__refuse_and_say_what_to_do(spread: Run, arguments: tuple[str, ...], says: str) -> None:
    refused = spread("cells", *arguments)

    assert refused.exit_code in (1, 2)
    assert says in refused.output


def test_add__refuses_a_store_with_clients_or_cells_of_its_own(spread: Run) -> None:
    spread("clients", "add", "acme", "--cell", "eu")
    used = spread("cells", "add", "us", "--database", "sqlite:///eu.db")
    other_home = spread("cells", "add", "us", "--database", "sqlite:///touchbase.db", "--home", "sqlite:///new.db")

    assert used.exit_code == 1
    assert "this store has clients" in used.output
    assert other_home.exit_code == 1


def test_drain__lets_no_new_client_in_and_undo_does_again(spread: Run) -> None:
    spread("clients", "add", "bolt", "--cell", "home")
    assert spread("cells", "drain", "eu").exit_code == 0
    spread("clients", "add", "acme")
    assert [each["clients"] for each in listed(spread)] == [2, 0]

    assert spread("cells", "drain", "eu", "--undo").exit_code == 0
    spread("clients", "add", "corp")

    assert [each["clients"] for each in listed(spread)] == [2, 1]


def test_remove__refuses_while_clients_live_there(spread: Run) -> None:
    spread("clients", "add", "acme", "--cell", "eu")

    refused = spread("cells", "remove", "eu")

    assert refused.exit_code == 1
    assert "clients live in 'eu'" in refused.output


def test_remove__forgets_an_empty_cell_and_leaves_its_database(spread: Run) -> None:
    removed = spread("cells", "remove", "eu")

    assert removed.exit_code == 0, removed.output
    assert Path("eu.db").exists()
    assert [each["name"] for each in listed(spread)] == ["home"]


def test_migrate__says_what_ran_in_each_cell(spread: Run) -> None:
    done = spread("cells", "migrate", "--json")

    assert json.loads(done.output) == {"migrated": {"eu": []}, "failed": {}}


def test_migrate__goes_on_behind_a_cell_that_fails(spread: Run) -> None:
    spread("cells", "add", "us", "--database", "sqlite:///us.db")
    Path("eu.db").write_bytes(b"nothing that SQLite reads" * 100)

    done = spread("cells", "migrate", "--json")

    assert done.exit_code == 1
    assert json.loads(done.stdout)["migrated"] == {"us": []}
    assert list(json.loads(done.stdout)["failed"]) == ["eu"]


def clients_in(run: Run) -> dict[object, object]:
    return {each["name"]: each["clients"] for each in listed(run)}


def test_move__takes_a_client_to_another_cell_and_back(spread: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "DELETION_DELAY", 0)
    spread("clients", "add", "acme", "--cell", "home")
    Path("people.csv").write_text("email\nada@example.com\n")
    assert spread("contacts", "import", "people.csv", "--client", "acme").exit_code == 0

    there = spread("clients", "move", "acme", "--to", "eu")
    shown = spread("contacts", "list", "--client", "acme", "--json")
    back = spread("clients", "move", "acme", "--to", "home", "--json")

    assert "client acme lives in eu" in there.output
    assert "ada@example.com" in shown.output
    assert json.loads(back.output)["rows"] > 1
    assert clients_in(spread) == {"home": 1, "eu": 0}
    assert "lives in home already" in spread("clients", "move", "acme", "--to", "home").output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("acme", "--to", "us"), "there is no cell 'us'; there are home, eu"),
        (("acme", "--undo"), "the client does not move"),
        (("acme",), "write --to CELL to move the client"),
        (("acme", "--to", "eu", "--undo"), "write --to CELL to move the client"),
        (("nobody", "--to", "eu"), "there is no client 'nobody'"),
    ],
)
def test_move__refuses_and_says_what_to_do(spread: Run, arguments: tuple[str, ...], says: str) -> None:
    spread("clients", "add", "acme", "--cell", "home")

    refused = spread("clients", "move", *arguments)

    assert refused.exit_code in (1, 2)
    assert says in refused.output


def test_drain__with_move_empties_a_cell_so_that_it_can_be_removed(spread: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "DELETION_DELAY", 0)
    for client_id in ("acme", "bolt"):
        spread("clients", "add", client_id, "--cell", "eu")

    drained = spread("cells", "drain", "eu", "--move")

    assert "0 clients live there" in drained.output
    assert clients_in(spread) == {"home": 2, "eu": 0}
    assert spread("cells", "remove", "eu").exit_code == 0


def test_doctor__names_a_move_that_has_stopped(spread: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    spread("clients", "add", "acme", "--cell", "home")
    before = spread("doctor").output
    with monkeypatch.context() as patched:
        patched.setattr(moving_copy.RowCopy, "count", None)  # an error there leaves the move as a kill does
        with pytest.raises(TypeError):
            spread("clients", "move", "acme", "--to", "eu")
    for module in (cells, moves_sql):
        monkeypatch.setattr(module, "LEASE", 0)

    found = spread("doctor")

    assert "client acme" not in before
    assert "its move to another cell has stopped" in found.output
    assert "client acme moves from home to eu: copying" in spread("cells", "list").output
    assert [[move["client_id"] for move in each["moves"]] for each in listed(spread)] == [["acme"], []]
    assert spread("clients", "move", "acme", "--undo").exit_code == 0


@pytest.fixture
def stopped(spread: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A move of the client acme from eu to home that was stopped while it copied."""
    monkeypatch.setattr(moving, "DELETION_DELAY", 0)
    spread("clients", "add", "acme", "--cell", "eu")
    Path("people.csv").write_text("email\nada@example.com\n")
    spread("contacts", "import", "people.csv", "--client", "acme")
    with monkeypatch.context() as patched:
        patched.setattr(moving.ClientMove, "_verify", None)
        with pytest.raises(TypeError):
            spread("clients", "move", "acme", "--to", "home")
    for module in (cells, moves_sql):
        monkeypatch.setattr(module, "LEASE", 0)
    return spread


def test_drain__goes_on_with_a_move_that_was_stopped(stopped: Run) -> None:
    stopped("clients", "add", "bolt", "--cell", "home")
    assert stopped("cells", "add", "us", "--database", "sqlite:///us.db").exit_code == 0  # the cell with the fewest clients

    drained = stopped("cells", "drain", "eu", "--move")

    assert "client acme lives in home" in drained.output
    assert stopped("cells", "remove", "eu").exit_code == 0


def test_undo__removes_the_copy_of_a_client_that_was_deleted_since(stopped: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "DELETION_DELAY", 0)
    stopped("clients", "delete", "acme", "--yes")
    refused = stopped("clients", "move", "acme", "--to", "home")

    undone = stopped("clients", "move", "acme", "--undo")

    assert "there is no client 'acme'" in refused.output
    assert "is undone" in undone.output
    with closing(open_reader("touchbase.db")) as home:
        assert home.execute("SELECT count(*) FROM contact").fetchall() == [(0,)]
        assert home.execute("SELECT count(*) FROM client_move").fetchall() == [(0,)]
