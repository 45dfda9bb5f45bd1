"""The copies of the installation's list in cells: a change is counted, and a cell with an earlier count gets the whole list again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touchbase.do_not_contact.commands import CopyInstallationList, InstallationList, RaiseListRevision, ReadInstallationList
from touchbase.do_not_contact.sql.statements import SHARED
from touchbase.sql.builders import RESERVE_IDS
from touchbase.sql.rows import names
from touchbase.sql.statement import Execute, Plan, Select, Statement

_COUNTER = "installation_list"
EMPTY = Statement(
    "empty_installation_suppression",
    (("revision", "bigint"),),
    sqlite="DELETE FROM installation_suppression WHERE ?1 > 0",
    body="DELETE FROM installation_suppression t USING p WHERE p.revision > 0",
)
FILL = Statement(
    "fill_installation_suppression", SHARED, body=f"INSERT INTO installation_suppression ({names(SHARED)}) SELECT * FROM p WHERE true"
)
SET_REVISION = Statement(
    "set_installation_revision",
    (("name", "text"), ("revision", "bigint")),
    sqlite="UPDATE id_block SET next = ?2 WHERE name = ?1 AND next < ?2 RETURNING next",
    body="UPDATE id_block t SET next = p.revision FROM p WHERE t.name = p.name AND t.next < p.revision RETURNING t.next",
)


def count_change() -> Plan[None]:
    """Count a change of the installation's list, in its transaction."""
    yield Execute(RESERVE_IDS, [(_COUNTER, 1, 0, 0)])


def _revision() -> Plan[int]:
    rows = yield Select("SELECT next FROM id_block WHERE name = ?", (_COUNTER,))
    revision: int = rows[0][0]
    return revision


def read_installation_list(query: ReadInstallationList) -> Plan[InstallationList | None]:
    """Return the whole list, if it has changed."""
    revision = yield from _revision()
    if revision <= query.after:
        return None
    return InstallationList(revision, (yield Select(f"SELECT {names(SHARED)} FROM installation_suppression", ())))


def copy_installation_list(command: CopyInstallationList) -> Plan[int]:
    """Replace the copy."""
    if (yield Execute(SET_REVISION, [(_COUNTER, command.copied.revision)])):
        yield Execute(EMPTY, [(command.copied.revision,)])
        if command.copied.rows:
            yield Execute(FILL, command.copied.rows)
    return (yield from _revision())


def raise_list_revision(command: RaiseListRevision) -> Plan[None]:
    """Count a change that makes the revision later than the known one."""
    if (yield from _revision()) < command.known:
        yield Execute(SET_REVISION, [(_COUNTER, command.known + 1)])


ANSWERS: dict[type, Callable[[Any], Plan[Any]]] = {ReadInstallationList: read_installation_list}
