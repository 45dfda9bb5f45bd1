"""All SQL statements of the write path, by module and name, and the calls in the source that build statements."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import touchbase
from touchbase.clients.sql import removal as clients_sql_removal
from touchbase.clients.sql.removal import CLIENT_TABLES
from touchbase.encryption import encrypted_columns
from touchbase.sql.statement import Statement

FOLDER = Path(touchbase.__file__ or "").parent
FILES = {
    ".".join(path.relative_to(FOLDER).with_suffix("").parts): path
    for path in sorted([*FOLDER.glob("*.py"), *FOLDER.glob("*/*.py"), *FOLDER.glob("*/sql/*.py")])
    if path.parent == FOLDER / "sql" or "touchbase.sql." in path.read_text(encoding="utf-8")
}
"""The modules that may define statements: those that import `touchbase.sql`."""


def module_at(path: str) -> str:
    """The name under which `FILES` has the module at this path."""
    return ".".join(Path(path).relative_to(FOLDER).with_suffix("").parts)


BUILT_AT_RUN_TIME = {
    **{
        f"clients.sql.removal._delete_child.{name}": clients_sql_removal._delete_child(name)
        for table in CLIENT_TABLES
        for name in table.children
    },
    **{
        f"encryption.encrypted_columns._replace_secret.{table.name}.{column}": encrypted_columns._replace_secret(table, column)
        for table in encrypted_columns.TABLES
        for column in table.columns
    },
}
"""Statements built at run time, for every possible argument."""
MAKERS = {
    "cells.sql._store_rows", "clients.sql.removal._delete_child", "conversations.plans._update_received",
    "erasure.sql.pii_tables._by_record", "sql.statement.delete", "sql.statement.lock",
    "encryption.encrypted_columns._replace_secret", "deliveries.sql.statements._store",
    "records.sql.statements._create", "records.sql.address_book.find_by_key",
    "sql.builders.find", "sql.builders.insert", "sql.builders.update",
}  # fmt: skip
"""Functions that build statements, for module constants or at run time."""


def _statements_in(name: str, value: Any) -> Iterator[tuple[str, Statement]]:
    if isinstance(value, Statement):
        yield name, value
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from _statements_in(f"{name}.{getattr(item, 'table', number)}", item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _statements_in(f"{name}.{key}", item)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _statements_in(f"{name}.{field.name}", getattr(value, field.name))


_ASSIGNED = re.compile(r"^(\w+)(?=(?: = \w+)* = )", re.M)


def _module_statements() -> Iterator[tuple[str, Statement]]:
    for name, path in FILES.items():
        values = vars(importlib.import_module(f"touchbase.{name}"))
        for target in _ASSIGNED.findall(path.read_text("utf-8")):  # to parse all modules takes a second in each process of a run
            yield from _statements_in(f"{name}.{target}", values.get(target))


def texts(op: Statement) -> list[str]:
    """All SQL texts of a statement."""
    return [
        text
        for text in (op.body, op.sqlite, op.first_set, op.sqlite_set, op.more_set, op.last_set, op.end_set, op.inserted_ids, op.postgres)
        if text
    ]


def calls_of(name: str) -> Iterator[tuple[str, str, ast.Call]]:
    """Every call of this name in the source: the module, the function that it stands in ("" for none), and the call."""
    yield from _calls().get(name, ())


@cache
def _calls() -> dict[str, list[tuple[str, str, ast.Call]]]:
    """Every call of a plain name in the source, by that name."""
    result: dict[str, list[tuple[str, str, ast.Call]]] = {}
    for module, path in FILES.items():
        within: list[tuple[str, ast.AST]] = [("", ast.parse(path.read_text("utf-8")))]
        while within:
            function, parent = within.pop()
            for node in ast.iter_child_nodes(parent):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    result.setdefault(node.func.id, []).append((module, function, node))
                within.append((node.name if isinstance(node, ast.FunctionDef) else function, node))
    return result


_MODULE_STATEMENTS = [*_module_statements()]
_NAMES = {id(op): name for name, op in _MODULE_STATEMENTS}  # one that stands in a collection too is named by that
STATEMENTS: dict[str, Statement] = {**{name: op for name, op in _MODULE_STATEMENTS if _NAMES[id(op)] == name}, **BUILT_AT_RUN_TIME}
