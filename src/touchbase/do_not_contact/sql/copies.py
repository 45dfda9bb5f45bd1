"""The copies of the installation's list in cells: a change is counted, and a cell with an earlier count gets the whole list again."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.do_not_contact.sql.statements import SHARED
from touchbase.sql.builders import RESERVE_IDS
from touchbase.sql.operation import command, query
from touchbase.sql.rows import names
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

_COUNTER = "installation_list"


@dataclass(slots=True)
class InstallationList:
    """The installation's list, of which each cell has a copy."""

    revision: int
    """How often it has changed."""
    rows: list[Row]


EMPTY = Statement(
    "empty_installation_suppression",
    (("revision", "bigint"),),
    body="DELETE FROM installation_suppression t USING p WHERE p.revision > 0",
    by_row=True,
)
FILL = Statement(
    "fill_installation_suppression", SHARED, body=f"INSERT INTO installation_suppression ({names(SHARED)}) SELECT * FROM p WHERE true"
)
SET_REVISION = Statement(
    "set_installation_revision",
    (("name", "text"), ("revision", "bigint")),
    body="UPDATE id_block t SET next = p.revision FROM p WHERE t.name = p.name AND t.next < p.revision RETURNING t.next",
    by_row=True,
)


def count_change() -> Plan[None]:
    """Count a change of the installation's list, in its transaction."""
    yield Execute(RESERVE_IDS, [(_COUNTER, 1, 0, 0)])


def _revision() -> Plan[int]:
    rows = yield Select("SELECT next FROM id_block WHERE name = ?", (_COUNTER,))
    revision: int = rows[0][0]
    return revision


@query
def list_revision() -> Plan[int]:
    """The revision of the installation's list, or of the copy in this cell."""
    return (yield from _revision())


@query
def read_installation_list(after: int) -> Plan[InstallationList | None]:
    """The installation's list if it has changed since a revision; None if not."""
    revision = yield from _revision()
    if revision <= after:
        return None
    return InstallationList(revision, (yield Select(f"SELECT {names(SHARED)} FROM installation_suppression", ())))


@command
def copy_installation_list(copied: InstallationList) -> Plan[int]:
    """Replace this cell's copy of the list, unless it is of a later revision; return the revision that it has now."""
    if (yield Execute(SET_REVISION, [(_COUNTER, copied.revision)])):
        yield Execute(EMPTY, [(copied.revision,)])
        if copied.rows:
            yield Execute(FILL, copied.rows)
    return (yield from _revision())


@command
def raise_list_revision(revision: int) -> Plan[None]:
    """Raise the list's revision above `revision`, so that every cell copies it again.

    A cell has a later one than the home store after that was restored from a backup.
    """
    if (yield from _revision()) < revision:
        yield Execute(SET_REVISION, [(_COUNTER, revision + 1)])
