"""Views of lists: stored, changed and removed; and the view that a person's list begins with."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from touchbase.common.timestamps import Micros
from touchbase.errors import Conflict, NotFound, PreconditionFailed
from touchbase.sql.builders import ROW_KEY
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

OF_ALL_CLIENTS = 0
"""Stands for the client of views of all clients."""
MOST_VIEWS = 200
"""Views of a person for one client, and for all clients."""
MOST_CONTENT = 1_000_000
"""Characters of the filters, orders and columns of all views of a client, or of all clients, that a person sees: one answer lists them."""


@dataclass(frozen=True, slots=True)
class View:
    """A view of a list of contacts or companies."""

    client: int
    id: int
    kind: int
    """The kind of its records."""
    author: str
    """Id of the user or key; blank for a request without a key."""
    is_shared: bool
    name: str
    content: str
    """JSON: filters, order, columns, layout."""
    position: int
    version: int
    updated_us: Micros


_VIEW: Columns = (
    *ROW_KEY, ("kind", "bigint"), ("author", "text"), ("is_shared", "bigint"), ("name", "text"), ("content", "text"),
    ("position", "bigint"), ("version", "bigint"), ("updated_us", "bigint"),
)  # fmt: skip
_NAMES = names(_VIEW)
INSERT_VIEW = Statement("insert_view", _VIEW, body=f"INSERT INTO saved_view ({_NAMES}) SELECT * FROM p WHERE true")
UPDATE_VIEW = Statement(
    "update_view",
    _VIEW,
    body="UPDATE saved_view t SET is_shared = p.is_shared, name = p.name, content = p.content, position = p.position, "
    "version = p.version, updated_us = p.updated_us FROM p WHERE t.client = p.client AND t.id = p.id",
    by_row=True,
)
STORE_DEFAULT = Statement(
    "store_default_view",
    (("client", "bigint"), ("person", "text"), ("kind", "bigint"), ("view_id", "bigint")),
    body="INSERT INTO default_view (client, person, kind, view_id) SELECT * FROM p WHERE true "
    "ON CONFLICT (client, person, kind) DO UPDATE SET view_id = excluded.view_id",
)


def _view(row: Row) -> View:
    client, id, kind, author, is_shared, name, content, position, version, updated_us = row
    return View(client, id, kind, author, bool(is_shared), name, content, position, version, updated_us)


def _row(view: View) -> Row:
    return (
        view.client, view.id, view.kind, view.author, int(view.is_shared), view.name, view.content, view.position, view.version,
        view.updated_us,
    )  # fmt: skip


def no_such_view(view_id: object) -> NotFound:
    """Return the error for a view that there is not, or that the caller may not see."""
    return NotFound(f"there is no view {str(view_id)[:40]!r} that you may see; GET /team/v1/views/CLIENT lists all")


@query(quick=True)
def list_views(client: int, person: str) -> Plan[list[tuple[View, bool]]]:
    """The views of one client that a person may see, in their order, and whether the person's list begins with it."""
    rows = yield Select(
        f"SELECT {_NAMES}, EXISTS (SELECT 1 FROM default_view d WHERE d.client = v.client AND d.person = ? AND d.kind = v.kind "
        "AND d.view_id = v.id) FROM saved_view v WHERE client = ? AND (is_shared = 1 OR author = ?) ORDER BY position, name, id",
        (person, client, person),
    )
    return [(_view(row[:-1]), bool(row[-1])) for row in rows]


def _find(client: int, id: int, person: str, versions: Collection[str] | None = None) -> Plan[View | NotFound | PreconditionFailed]:
    rows = yield Select(
        f"SELECT {_NAMES} FROM saved_view WHERE client = ? AND id = ? AND (is_shared = 1 OR author = ?)", (client, id, person)
    )
    if not rows:
        return no_such_view(id)
    view = _view(rows[0])
    if versions is not None and str(view.version) not in versions:
        return PreconditionFailed("the view has changed since it was read: read it again, and send its `version`, in quotes, in If-Match")
    return view


def _too_much(view: View) -> Plan[Conflict | None]:
    """Return the error for a view with which its author, and whoever sees it, would see too much."""
    rows = yield Select(
        "SELECT COALESCE(sum(length(content)), 0) FROM saved_view WHERE client = ? AND id <> ? AND (is_shared = 1 OR author = ?)",
        (view.client, view.id, view.author),
    )
    if rows[0][0] + len(view.content) <= MOST_CONTENT:
        return None
    return Conflict(f"your views here and the shared ones would have more than {MOST_CONTENT:,} characters: shorten or remove some first")


@command(ids="saved_view")
def add_view(ids: Ids, client: int, view: View, at_end: bool) -> Plan[View | Conflict]:
    """Store a view, `at_end` behind all others. `Conflict` if its author has `MOST_VIEWS`, or sees `MOST_CONTENT`."""
    rows = yield Select(
        "SELECT COALESCE(sum(CASE WHEN author = ? THEN 1 ELSE 0 END), 0), COALESCE(max(position), 0) FROM saved_view WHERE client = ?",
        (view.author, client),
    )
    if rows[0][0] >= MOST_VIEWS:
        return Conflict(f"you have {MOST_VIEWS} views here, the limit of a person; remove one first")
    if (refused := (yield from _too_much(view))) is not None:
        return refused
    new = replace(view, id=ids.take("saved_view"), position=rows[0][1] + 1 if at_end else view.position)
    yield Execute(INSERT_VIEW, [_row(new)])
    return new


@command
def change_view(
    client: int, view: View, person: str, versions: Collection[str] | None = None
) -> Plan[View | Conflict | NotFound | PreconditionFailed]:
    """Replace a view that was read with the version of `view`.

    `versions`: Versions of which it must have one. `NotFound`; `PreconditionFailed`, also if it changed since it was read;
    `Conflict` for too much content, as in `add_view`.
    """
    present = yield from _find(client, view.id, person, versions)
    if not isinstance(present, View):
        return present
    if present.version != view.version:
        return PreconditionFailed("somebody changed the view at the same time: read it again and repeat the change")
    if len(view.content) > len(present.content) and (refused := (yield from _too_much(view))) is not None:
        return refused
    changed = replace(view, version=view.version + 1)
    yield Execute(UPDATE_VIEW, [_row(changed)])
    return changed


@command
def remove_view(client: int, id: int, person: str, versions: Collection[str] | None = None) -> Plan[NotFound | PreconditionFailed | None]:
    """Remove a view; lists that begin with it begin with all records again. Errors as in `change_view`."""
    if versions is not None:
        present = yield from _find(client, id, person, versions)
        if not isinstance(present, View):
            return present
    yield Select("DELETE FROM default_view WHERE client = ? AND view_id = ? RETURNING person", (client, id))
    if not (yield Select("DELETE FROM saved_view WHERE client = ? AND id = ? RETURNING id", (client, id))):
        return no_such_view(id)
    return None


@command
def set_default_view(client: int, id: int, person: str, is_default: bool) -> Plan[NotFound | PreconditionFailed | None]:
    """Begin a person's list with a view, or no longer. `NotFound`."""
    if not is_default:
        yield Select("DELETE FROM default_view WHERE client = ? AND person = ? AND view_id = ? RETURNING kind", (client, person, id))
        return None
    present = yield from _find(client, id, person)
    if not isinstance(present, View):
        return present
    yield Execute(STORE_DEFAULT, [(client, person, present.kind, id)])
    return None


@query(quick=True)
def find_view(client: int, id: int, person: str) -> Plan[View | None]:
    """The view of this id, if the person may see it."""
    present = yield from _find(client, id, person)
    return present if isinstance(present, View) else None
