"""Mutations of the scoping: statements that forget whose rows they mean."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from tests.storage.statements import STATEMENTS as EVERY_STATEMENT
from tests.storage.statements import calls_of, module_at

from touchbase.sql.statement import Select, Statement

# A condition that names the client: of a column, of the client that a delivery is found through, or of a question about some clients.
_CONDITION = re.compile(
    r"\b(?:(?:\w+\.)?client|k\.id) IN \((?:\?(?:, \?)*|SELECT id FROM client\b[^()]*)\)"
    r"|\b(?:\w+\.)?client = (?:\?\d*|\w+\.\w+|\(\$1::bigint\[\]\)\[1\])|\bc\.id = \?|(?<=FROM client WHERE )id = \?(?!\d)"
)
_PARTS = ("body", "sqlite", "first_set", "sqlite_set", "more_set", "last_set", "end_set", "inserted_ids", "postgres")


def forgetful(text: str) -> str:
    """The statement without its conditions on the client; parameters stay, so that it is asked as before."""
    return _CONDITION.sub(lambda result: f"(1 = 1 OR {result[0]})", text)


STATEMENTS = {name: op for name, op in EVERY_STATEMENT.items() if any(forgetful(getattr(op, part)) != getattr(op, part) for part in _PARTS)}


@cache
def questions() -> frozenset[str]:
    """Functions that ask something, as package.module.function."""
    return frozenset(f"{module}.{function}" for module, function, _ in calls_of("Select"))


@contextmanager
def mutated(*names: str) -> Iterator[None]:
    """These statements and questions forget their client."""
    with ExitStack() as undone:
        for name in names:
            if name in STATEMENTS:
                undone.enter_context(_mutated_op(STATEMENTS[name]))
        undone.enter_context(_mutated_questions({name for name in names if name in questions()}))
        yield


@contextmanager
def _mutated_op(op: Statement) -> Iterator[None]:
    texts = {part: getattr(op, part) for part in _PARTS}
    try:
        for part, text in texts.items():
            object.__setattr__(op, part, forgetful(text))  # in place, as plans hold the op by many names
        yield
    finally:
        for part, text in texts.items():
            object.__setattr__(op, part, text)


@contextmanager
def _mutated_questions(names: set[str]) -> Iterator[None]:
    init = Select.__init__

    def forgetting(self: Select, sql: str, params: Any, postgres: str = "", budget: Any = None) -> None:
        code = sys._getframe(1).f_code
        forgets = f"{module_at(code.co_filename)}.{code.co_name}" in names
        init(self, forgetful(sql) if forgets else sql, params, forgetful(postgres) if forgets else postgres, budget)

    try:
        Select.__init__ = forgetting  # type: ignore[method-assign]
        yield
    finally:
        Select.__init__ = init  # type: ignore[method-assign]
