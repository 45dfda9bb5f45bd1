"""Commands and queries on clients: create, rename, suspend, rotate the id, and delete with all data."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.clients.models import BY_CALL, Client, ClientSettings
from touchbase.common.timestamps import Micros
from touchbase.sql.operation import Command, Query

Position = tuple[int, tuple[object, ...]]
"""Progress of a removal: a table, and the key of the last removed row."""


@dataclass(slots=True)
class CreateClient(Command[Client]):
    """Create a client. `Conflict` when the id is, or was, another client's."""

    client_id: str
    name: str
    at: Micros
    settings: ClientSettings = field(default_factory=ClientSettings)
    cell: str = ""
    """The name of the cell that it is to live in; blank: the one with the fewest clients."""


@dataclass(slots=True)
class RotateClientId(Command[Client]):
    """Replace a client's `client_id`; its present id is valid until `keep_until_us`, and never becomes another client's.

    `Conflict` when the new id is, or was, another client's. `NotFound`, and `WrongState` while it is being
    deleted or when it has this id already.
    """

    client: int
    client_id: str
    keep_until_us: Micros


@dataclass(slots=True)
class Removal:
    """Progress of a client's deletion."""

    done: bool
    """No row of the client is left."""
    removed: int = 0
    """Rows removed since the deletion began."""
    total: int | None = None
    position: Position | None = None
    """Where to continue; None: from the beginning, to check whether rows are left."""
    wait_us: Micros = 0
    """How long requests from before the deletion may still write, once all rows are removed."""


@dataclass(slots=True)
class RemoveClientRows(Command[Removal]):
    """Remove up to `most` rows of a client that is being deleted; the client's own row goes last.

    It goes once a scan of every table from the beginning (`place` None) finds no row, `DELETION_DELAY` after
    the start. A client that does not exist is done. `WrongState` when the client is not being deleted.
    """

    client: int
    at: Micros
    most: int
    position: Position | None = None
    total: int | None = None
    """The number of rows, to show the progress; None: unknown, or stored before."""


@dataclass(slots=True)
class EnsureClient(Command[Client]):
    """Return the client of this `client_id`; create it if there is none.

    A former id returns its client while it is valid, and is `NotFound` afterwards, because it stays that client's. With
    `first_use`, a missing client is `NotFound` too if an administrator has created any: then an unknown id is a typing error.
    """

    client_id: str
    at: Micros
    made_by: str = BY_CALL
    first_use: bool = False


@dataclass(slots=True)
class SetClientSettings(Command[Client]):
    """Replace a client's settings. `NotFound`, and `Forbidden` when the client itself changes its limits."""

    client_id: str
    settings: ClientSettings
    keep_limits: bool = False
    """The client itself changes its settings: its limits must stay as in the store."""


@dataclass(slots=True)
class FindClient(Query[Client | None]):
    """The client of this `client_id`; with `at` also by a former id that is valid then."""

    client_id: str
    at: Micros | None = None
