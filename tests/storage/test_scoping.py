"""The first wall: every statement that touches a client's rows names the client, but for those that are named here."""

from __future__ import annotations

import ast
import importlib
import itertools
import pkgutil
import re
import sys
import typing
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import apsw
import pytest

from touchbase.domain import commands as c
from touchbase.domain import queries as q
from touchbase.domain.company import Company
from touchbase.domain.contact import Contact
from touchbase.domain.delivery import Delivery
from touchbase.domain.events import Event, Translation
from touchbase.storage import open_store, sql
from touchbase.storage.sql import scope
from touchbase.storage.sql.group import Probe
from touchbase.storage.sql.handlers import COMMANDS, answer
from touchbase.storage.sql.migrate import packaged
from touchbase.storage.sql.op import Ask, Op
from touchbase.storage.sql.reads import ANSWERS
from touchbase.storage.sqlite.connection import read

FOLDER = Path(sql.__file__ or "").parent
MODULES = [importlib.import_module(f"{sql.__name__}.{found.name}") for found in pkgutil.iter_modules([str(FOLDER)])]
OPS = {f"{module.__name__.rpartition('.')[2]}.{name}": op for module in MODULES for name, op in vars(module).items() if isinstance(op, Op)}

SPANNING = {q.FindKey, q.AnyKey, q.BusyClients, q.CountInbox}
"""Queries that look at all clients: reviewed. They answer a key by its id, numbers of clients, and counts; no client's records."""
SPANNING_UNLESS_NAMED = {c.StoreKey, q.ListDeliveries, q.GroupDeliveries, q.GetDelivery}
"""What is about all clients when it names none, which only an administrator of all of them can ask: reviewed."""
ABOUT_CLIENTS = {c.EnsureClient, c.SetClientSettings, q.FindClient, q.ListClients}
"""Commands and queries about the clients themselves, and nothing that they have: reviewed."""
PLACES_OF_EVERYBODY = {"sql/scope.py", "postgres/schema.py", "postgres/writer.py"}
"""Where the scope of all clients is named: its definition, migrations, and the writer, who gives it a transaction of its own."""

_tables = apsw.Connection(":memory:")
for migration in packaged("sqlite"):
    _tables.execute(migration.sql).fetchall()
WALLED = {
    table
    for (table,) in _tables.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall()
    if "client" in [row[1] for row in _tables.execute(f"PRAGMA table_info({table})").fetchall()]
}
NO_ALIAS = {
    "where", "on", "set", "join", "left", "cross", "inner", "order", "group", "limit", "using", "union", "returning", "for", "select",
    "values", "from",
}  # fmt: skip


def careless(text: str) -> list[str]:
    """The client's tables that a statement touches without saying whose rows it means."""
    found: list[str] = []
    named: dict[str, int] = {}
    for word, table, alias in re.findall(r"\b(FROM|JOIN|UPDATE|INTO|USING)\s+(\w+)(?:\s+(?:AS\s+)?(\w+))?", text):
        if table not in WALLED:
            continue
        if word == "INTO":
            columns = re.search(rf"INTO {table} \(([^)]*)\)", text)
            found += [] if columns and "client" in columns[1].split(", ") else [table]
            continue
        name = alias if alias and alias.lower() not in NO_ALIAS else ""
        named[name] = named.get(name, 0) + 1
        mark = rf"\b{name}\.client\b" if name else r"(?<![\w.])client\b"
        conditions = len(re.findall(rf"{mark} = ", text)) + len(re.findall(rf" = {mark}", text))
        found += [f"{table} {name}".strip()] if conditions < named[name] else []
    return found


def texts(op: Op) -> list[str]:
    return [text for text in (op.body, op.sqlite, op.sqlite_set, op.more_set, op.made, op.postgres) if text]


@pytest.mark.parametrize("name", sorted(OPS))
def test_a_statement_of_the_write_path_names_its_client(name: str) -> None:
    assert [(text, careless(text)) for text in texts(OPS[name]) if careless(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM contact WHERE id = ?",
        "SELECT t.id FROM p CROSS JOIN contact t WHERE t.id = p.id",
        "SELECT d.id FROM delivery d JOIN delivery_body b ON b.id = d.id WHERE d.client = ?",
        "UPDATE contact AS t SET status = p.status FROM p WHERE t.id = p.id",
        "DELETE FROM event t USING p WHERE t.record_id = p.record_id",
        "INSERT INTO link (tool, id) SELECT * FROM p",
        "SELECT id FROM delivery WHERE client = ? AND EXISTS (SELECT 1 FROM event WHERE delivery_id = 1)",
    ],
)
def test_a_statement_that_names_no_client_is_found_out(text: str) -> None:
    assert len(careless(text)) == 1


def test_tables_are_never_listed_with_commas() -> None:
    """`careless` would not see the second one."""
    listed = [name for name, op in OPS.items() for text in texts(op) if re.search(r"\bFROM \w+( \w+)?, (?!unnest)", text)]

    assert listed == []


def variants(kind: type[Any]) -> Iterator[Any]:
    """A query with every choice of the filters that it may have; what it must have is filled by its type."""
    usual = {"state": "parked", "client_id": "acme", "kind": 1, "record_kind": 1, "limit": 5, "after": 0, "now_us": 10}
    hints = typing.get_type_hints(kind)
    choices: list[list[Any]] = []
    for field in fields(kind):
        value = usual.get(field.name, 1 if "int" in str(hints[field.name]) else "a")
        if "tuple" in str(hints[field.name]):
            value = (0, 0)
        choices.append([value] if field.default is MISSING else [field.default, value])
    for chosen in itertools.product(*choices):
        yield kind(*chosen)


class Reader:
    """A store with something in every table, and what queries ask of it."""

    def __init__(self, path: str) -> None:
        self.connection = apsw.Connection(path)
        self.asked: list[str] = []
        self.places: set[tuple[str, int]] = set()

    def texts_of(self, query: Any) -> list[str]:
        self.asked.clear()
        read(self.connection.cursor(), answer(query))
        return list(self.asked)


@pytest.fixture
async def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    store = await open_store(f"sqlite:///{tmp_path}/store.db")
    await store.write(c.EnsureClient("acme", 1))
    await store.write(c.CreateCompany(Company(1, 0, 5, 5, "example.com"), [("seat", "12")]))
    await store.write(c.CreateContact(Contact(1, 0, 5, 5, email="ann@example.com", email_key="ann@example.com"), [("seat", "12")]))
    events = {0: "ann@example.com", 1: None}
    for n in range(3):
        await store.write(c.KeepDelivery(1, "crm", bytes([n]) * 16, b"{}", "", b"{}", 5))

    def translate(delivery: Delivery) -> Translation:
        about = {"object_type": "person", "object_id": str(delivery.id)}
        return Translation("hubspot", [Event("contact.updated", 5, events[delivery.id % 2], **about)])

    await store.work(1, 2, translate, 9)
    await store.close()
    made = Reader(f"{tmp_path}/store.db")
    init = Ask.__init__

    def spy(self: Ask, sql: str, params: Any) -> None:
        frame = sys._getframe(1)
        made.asked.append(sql)
        made.places.add((Path(frame.f_code.co_filename).name, frame.f_lineno))
        init(self, sql, params)

    monkeypatch.setattr(Ask, "__init__", spy)
    return made


def test_a_question_names_its_client_unless_it_spans_them_by_right(reader: Reader) -> None:
    forgotten: list[tuple[Any, list[str]]] = []
    by_right: set[type] = set()
    for kind in ANSWERS:
        for query in variants(kind):
            found = [each for text in reader.texts_of(query) for each in careless(text)]
            spans = kind in SPANNING or (kind in SPANNING_UNLESS_NAMED and query.client is None)
            if found and spans:
                by_right.add(kind)
            elif found:
                forgotten.append((query, found))

    assert forgotten == []
    # Lists of deliveries go client by client, and one of them is found through its client: their texts need no exception.
    assert by_right == SPANNING | {q.GroupDeliveries}, "a list of exceptions must not rot"


def test_no_question_was_overlooked(reader: Reader) -> None:
    """Every place that asks something of its own has been heard, or the test before this one proves less than it says."""
    for kind in ANSWERS:
        for query in variants(kind):
            reader.texts_of(query)
    written = [
        (path.name, node.lineno, node.end_lineno or node.lineno)
        for path in FOLDER.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Ask"
    ]

    unheard = [place for place in written if not any(name == place[0] and place[1] <= line <= place[2] for name, line in reader.places)]

    assert len(written) > 20
    assert unheard == []


def test_who_may_span_clients_is_reviewed() -> None:
    assert scope.SPANNING == SPANNING
    assert scope.SPANNING_UNLESS_NAMED == SPANNING_UNLESS_NAMED
    assert scope.ABOUT_CLIENTS == ABOUT_CLIENTS


def test_the_scope_of_all_clients_is_named_in_a_handful_of_places() -> None:
    named = {
        f"{path.parent.name}/{path.name}"
        for path in FOLDER.parent.rglob("*.py")
        if re.search(r"\bEVERYBODY\b|'all'", path.read_text("utf-8"))
    }

    assert named == PLACES_OF_EVERYBODY


@pytest.mark.parametrize("kind", [*COMMANDS, *ANSWERS], ids=lambda kind: kind.__name__)
def test_every_command_and_query_says_whose_rows_it_touches(kind: type[Any]) -> None:
    """Whoever fails here: give it a field `client: int`, or say in storage/sql/scope.py whose rows it may touch, and why above."""
    hints = typing.get_type_hints(kind)
    holders = [name for name, hint in hints.items() if "client" in getattr(hint, "__annotations__", {})]
    optional = "client" in hints and hints["client"] is not int

    if kind in ABOUT_CLIENTS | SPANNING:
        assert "client" not in hints
    elif "client" in hints:
        assert optional == (kind in SPANNING_UNLESS_NAMED)
    else:
        assert kind in scope._HELD_BY, f"it holds the client in {holders or 'nothing'}"


def test_a_scope_is_read_from_commands_and_queries_of_every_kind() -> None:
    contact = [c.CreateContact(Contact(n, 0, 5, 5)) for n in (9, 1, 9, 10)]
    keys = [c.StoreKey("k", b"", [], n, "", 5) for n in (5, None)]

    assert scope.scope_of(contact) == ",1,9,10,"
    assert scope.scope_of([q.GetContact(7, 1)]) == ",7,"
    assert scope.scope_of(keys[:1]) == ",5,"
    assert scope.scope_of(keys) == scope.scope_of([q.CountInbox()]) == scope.EVERYBODY
    assert scope.scope_of([q.ListDeliveries(5)]) == scope.EVERYBODY
    assert scope.scope_of([q.ListDeliveries(5, client=3)]) == ",3,"
    assert scope.scope_of([q.FindClient("acme")]) == scope.CLIENTS
    assert scope.scope_of([Probe()]) == scope.NOBODY
