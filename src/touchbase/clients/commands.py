"""The life of a client: making, renaming, suspending, another id, and removing all that there is of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.clients.models import BY_CALL, Client, ClientSettings, FormerId
from touchbase.common.timestamps import Micros
from touchbase.sql.command import Command, Query

Place = tuple[int, tuple[object, ...]]
"""How far a removal has come: a table, and the key of the last row that went."""


@dataclass(slots=True)
class CreateClient(Command[Client]):
    """Make a client. `Conflict` when the id is, or was, another client's."""

    client_id: str
    name: str
    at: Micros
    settings: ClientSettings = field(default_factory=ClientSettings)


@dataclass(slots=True)
class RenameClient(Command[Client]):
    """Give a client another name. `NotFound`, and `WrongState` while it is being deleted."""

    client: int
    name: str


@dataclass(slots=True)
class SetClientState(Command[Client]):
    """Suspend or resume a client; one that is in that state already stays as it is. `NotFound`, `WrongState` as above."""

    client: int
    state: str
    at: Micros


@dataclass(slots=True)
class RotateClientId(Command[Client]):
    """Give a client another `client_id`; the one that it has is honoured until `keep_until_us`, and stays its own.

    `Conflict` when the new id is, or was, another client's. `NotFound`, and `WrongState` while it is being
    deleted or when it has this id already.
    """

    client: int
    client_id: str
    keep_until_us: Micros


@dataclass(slots=True)
class BeginDeletion(Command[Client]):
    """From now on nothing of this client is served, and its data may be removed. Asked again, it goes on. `NotFound`."""

    client: int
    at: Micros


@dataclass(slots=True)
class Removal:
    """How far a client's deletion has come."""

    done: bool
    """Nothing of the client is left."""
    removed: int = 0
    """Rows that are gone, since the deletion began."""
    total: int | None = None
    place: Place | None = None
    """Where to go on; None: from the beginning, to see whether anything is left."""
    wait_us: Micros = 0
    """How long calls from before the deletion may still write, when all that there was is gone."""


@dataclass(slots=True)
class RemoveClientRows(Command[Removal]):
    """Remove up to `most` rows of a client that is being deleted; the client's own row goes last.

    That happens once a look at every table from the beginning (`place` None) finds nothing, `LAST_CALLS` after
    the start. A client that is not there is done. `WrongState` when the client is not being deleted.
    """

    client: int
    at: Micros
    most: int
    place: Place | None = None
    total: int | None = None
    """How many rows there are, for whoever asks how far it is; None: unknown, or told before."""


@dataclass(slots=True)
class FindClientByNumber(Query[Client | None]):
    """The client of this number."""

    number: int


@dataclass(slots=True)
class ListClientPage(Query[list[Client]]):
    """Clients by `client_id`, beginning after `after`; those whose name or id contains `text`, case ignored."""

    limit: int
    after: str | None = None
    state: str | None = None
    text: str | None = None
    only: int | None = None
    """The number of the one client that may be shown."""


@dataclass(slots=True)
class FormerIds(Query[list[FormerId]]):
    """The former ids of a client that are honoured at this time, those that end first, first."""

    client: int
    at: Micros


@dataclass(slots=True)
class DeletingClients(Query[list[Client]]):
    """The clients that are being deleted."""


@dataclass(slots=True)
class CountClientRows(Query[int]):
    """How many rows a client has in all tables."""

    client: int


@dataclass(slots=True)
class EnsureClient(Command[Client]):
    """The client of this `client_id`, made now if there is none.

    A former id answers its client while it is honoured, and is `NotFound` afterwards: it stays that client's. With `first_use`, a
    client that is not there is `NotFound` too where an administrator has made any: then an unknown id is a mistyped one.
    """

    client_id: str
    at: Micros
    made_by: str = BY_CALL
    first_use: bool = False


@dataclass(slots=True)
class SetClientSettings(Command[Client]):
    """Replace a client's settings. `NotFound`, and `Forbidden` when the client itself wants other limits than it has."""

    client_id: str
    settings: ClientSettings
    keep_limits: bool = False
    """The client itself decides: its limits stay as they are in the store."""


@dataclass(slots=True)
class FindClient(Query[Client | None]):
    """The client of this `client_id`; with `at` also by a former one that is honoured then."""

    client_id: str
    at: Micros | None = None


@dataclass(slots=True)
class ListClients(Query[list[Client]]):
    """All clients by `client_id`."""
