"""Move databases of a full server to a second one, which follows it as a physical standby: `touchbase databases split`.

Nothing is copied: the standby is promoted, and the directory names it for the databases that leave. The directory's change is the moment
at which they move. Until then no process of ours writes at the second server, so after an error the first one is opened again; a command
that was killed is repeated, and sees on the servers how far it came:

- Databases that are read-only at the first server, and marked there: nothing is written any more. The mark is written behind the last
  write and is replayed like it, so a second server that was promoted and has the same mark lacks nothing.
- Databases that are open at the second server and take no connections at the first one: only the directory is to be changed.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from touchbase.cells.models import HOME_NAME, REMOVED, Cell, Directory
from touchbase.cells.sql import read_directory, set_addresses
from touchbase.errors import BadAddress, NotFound, TouchbaseError, UnusableStore, WrongState
from touchbase.storage import part_of_database, scheme_of

if TYPE_CHECKING:
    from touchbase.deliveries.work import ProcessingStore
    from touchbase.storage.postgres.split import DatabaseState, Server, ServerSession

MOST_LAG = 16 * 1024 * 1024
"""Bytes that the standby may be behind when the split begins: they are replayed while writes are refused."""
_COMPARED = ("client", "id_block", "api_key")
"""Small tables; `id_block` has the next id of each kind of row, so a copy that lacks a row differs there."""
_CONTENTS = " UNION ALL ".join(f"SELECT md5(string_agg(t::text, ' ' ORDER BY t::text COLLATE \"C\")) FROM {table} t" for table in _COMPARED)
_OF_HOST = ("host", "port", "target_session_attrs")
"""Parameters of an address that belong to its hosts."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a split did, or would do."""

    databases: list[str]
    stay: list[str]
    """Databases of the first server that stay there."""
    is_done: bool = True
    refused_seconds: float = 0.0
    """How long writes were refused, without the time in which the processes read the directory."""
    timeline: int = 0
    slot: str = ""
    """A replication slot of the first server that is to be dropped there."""


@dataclass(frozen=True, slots=True)
class _Leaving:
    cell: Cell
    database: str
    target: str
    """Its address at the second server."""
    role: str = ""


@dataclass(frozen=True, slots=True)
class _Servers:
    old: ServerSession
    new: ServerSession
    old_address: str
    new_address: str
    leaving: Sequence[_Leaving]
    staying: dict[str, str] = field(default_factory=dict)
    """The other databases of the installation at the first server, by the name that PostgreSQL has for them."""

    @property
    def names(self) -> list[str]:
        return [item.database for item in self.leaving]

    @property
    def roles(self) -> list[tuple[str, str]]:
        return [(item.database, item.role) for item in self.leaving]


async def split_databases(
    home: ProcessingStore, home_address: str, names: Sequence[str], to: str, source: str | None, *, dry_run: bool = False
) -> Outcome:
    """Move databases to the second server. Raises `NotFound`, `WrongState`, `UnusableStore`; then they are served where they were."""
    directory = await home.read(read_directory())
    cells = _named(directory, names)
    moved = [cell.name for cell in cells if at_host_of(cell.address, to) == cell.address]
    if len(moved) == len(cells):
        return Outcome(moved, [])
    if moved:
        raise WrongState(f"{', '.join(moved)} is at the second server already: leave it out")
    async with _connected(cells, to, source) as unchecked:
        servers = await _checked(unchecked, directory, home_address)
        stay = list(servers.staying.values())
        if dry_run:
            return Outcome([*names], stay, is_done=False)
        began = time.monotonic()
        slot = (await servers.new.look()).slot
        mark = await _promoted(servers)
        try:
            await servers.new.open_databases(servers.roles)
            copies = [name for name in servers.staying if name in await servers.new.databases()]
            await servers.new.close_databases(copies, mark)
            await servers.old.close_databases(servers.names, mark)
            await home.write(set_addresses([(item.cell.name, item.target) for item in servers.leaving]))
        except TouchbaseError as error:
            raise UnusableStore(f"{error}; the databases are closed: run the command again, it goes on here") from error
        seconds, timeline = time.monotonic() - began, await servers.new.timeline()
        if slot and await servers.old.drop_slot(slot):
            slot = ""
    return Outcome([*names], stay, refused_seconds=seconds, timeline=timeline, slot=slot)


async def _promoted(servers: _Servers) -> str:
    """Return the mark of the databases, once the second server is a primary with all of their writes."""
    old, new = servers.old, servers.new
    if (await new.look()).is_standby:
        try:
            await old.make_read_only(servers.roles)
            await new.wait_for(await old.mark(servers.names))
            await new.promote()
            await _compare(servers)
        except Exception as error:
            try:
                await old.open_databases(servers.roles, unmark=True)
            except TouchbaseError:
                raise UnusableStore(f"{error}; the databases are still read-only at the first server: --undo opens them") from error
            raise
    states, others = await old.databases(), await new.databases()
    mark = states[servers.names[0]].mark
    if not mark or any(not _is_closed(states[name]) or states[name].mark != others[name].mark for name in servers.names):
        raise UnusableStore(
            "the second server is no standby, and was not promoted by a split of these databases: it may lack writes; make it anew with "
            "pg_basebackup (if a split has closed databases, --undo opens them at the first server)"
        )
    return mark


async def _compare(servers: _Servers) -> None:
    from touchbase.storage.postgres.split import first_column  # noqa: PLC0415 - an installation without PostgreSQL has no driver

    for item in servers.leaving:
        copies = [await first_column(_in(address, item.database), _CONTENTS) for address in (servers.old_address, servers.new_address)]
        if copies[0] != copies[1]:
            raise UnusableStore(f"the second server has other rows of {item.cell.name}: make it anew with pg_basebackup")


async def undo_split(home: ProcessingStore, names: Sequence[str], to: str, source: str | None) -> Outcome:
    """Open the databases where they were, after a split that was killed and is not to go on.

    Raises `NotFound`, `WrongState`, `UnusableStore`.
    """
    from touchbase.storage.postgres.split import ServerSession  # noqa: PLC0415

    cells = _named(await home.read(read_directory()), names)
    if moved := [cell.name for cell in cells if at_host_of(cell.address, to) == cell.address]:
        raise WrongState(f"{', '.join(moved)} is served from the second server: move its clients back with `touchbase clients move`")
    old = await ServerSession.open(source or at_host_of(to, cells[0].address))
    try:
        states = await old.databases()
        for cell in cells:
            state = states.get(_database_of(cell.address))
            if state is None or (state.takes_connections and await old.role_at(cell.address) is None):
                raise WrongState(f"{cell.name} is not at the first server: leave it out, or correct --from")
        await old.open_databases([(_database_of(cell.address), _role_of(cell.address)) for cell in cells], unmark=True)
    finally:
        await old.close()
    return Outcome([*names], [])


async def drop_copies(home: ProcessingStore, home_address: str, names: Sequence[str], to: str, source: str) -> list[str]:
    """Drop the closed copies that a split has left on both servers; return what was dropped.

    Nothing is dropped unless each database answers where the directory has it, and has its clients there.
    """
    directory = await home.read(read_directory())
    cells = _named(directory, names)
    if waiting := [cell.name for cell in cells if at_host_of(cell.address, to) != cell.address]:
        raise WrongState(f"{', '.join(waiting)} is not at the second server: finish the split first, without --drop")
    async with _connected(cells, to, source) as servers:
        old, new = servers.old, servers.new
        at_old, at_new = await old.databases(), await new.databases()
        dropped: list[tuple[ServerSession, str, str]] = []
        for item in servers.leaving:
            await _refuse_incomplete(servers, item, directory)
            state = at_old.get(item.database)
            if state is not None:
                _refuse_unclosed(item.cell.name, state)
                dropped.append((old, item.database, f"{item.cell.name} at the first server"))
        for name, address in _addresses(directory, home_address, without=names).items():
            state = at_new.get(_database_of(address))
            if state is not None and not state.takes_connections and state.mark:
                if await old.role_at(address) is None:
                    raise WrongState(f"{name} is not served from the first server: nothing was dropped; correct --from")
                dropped.append((new, _database_of(address), f"{name} at the second server"))
        for server, database, _ in dropped:
            await server.drop(database)
        if slot := (await new.look()).slot:
            await old.drop_slot(slot)
    return [text for _, _, text in dropped]


async def _refuse_incomplete(servers: _Servers, item: _Leaving, directory: Directory) -> None:
    from touchbase.storage.postgres.split import first_column  # noqa: PLC0415

    if await servers.new.role_at(item.cell.address) is None:
        raise WrongState(f"the address of {item.cell.name} does not lead to the second server: nothing was dropped; correct --to")
    present = await first_column(_in(servers.new_address, item.database), "SELECT id FROM client", writable=True)
    placed = {place.number for place in directory.places if place.cell == item.cell.number and place.number is not None}
    if lacking := placed.difference(present):
        raise WrongState(
            f"{item.cell.name} lacks {len(lacking)} clients at the second server: nothing was dropped; `touchbase doctor` names them"
        )


def _refuse_unclosed(name: str, state: DatabaseState) -> None:
    if state.takes_connections or not state.mark:
        raise WrongState(f"{name} at the first server was not closed by a split: nothing was dropped; correct --from, or drop it yourself")


@asynccontextmanager
async def _connected(cells: Sequence[Cell], to: str, source: str | None) -> AsyncIterator[_Servers]:
    from touchbase.storage.postgres.split import ServerSession  # noqa: PLC0415

    old_address = source or at_host_of(to, cells[0].address)
    async with AsyncExitStack() as opened:
        sessions: list[ServerSession] = []
        for address, what in ((old_address, "the first server, for which --from names a superuser"), (to, "the second server (--to)")):
            try:
                sessions.append(session := await ServerSession.open(address))
            except UnusableStore as error:
                raise UnusableStore(f"{what}: {error.detail}") from error
            opened.push_async_callback(session.close)
        leaving = [_Leaving(cell, _database_of(cell.address), at_host_of(cell.address, to)) for cell in cells]
        yield _Servers(sessions[0], sessions[1], old_address, to, leaving)


async def _checked(servers: _Servers, directory: Directory, home_address: str) -> _Servers:
    """Return the servers with all that is needed. Raises `UnusableStore`, `WrongState` with what to do; nothing has changed then."""
    old, new = servers.old, servers.new
    here, there, states = await old.look(), await new.look(), await old.databases()
    await _refuse_servers(servers, here, there)
    leaving = []
    for item in servers.leaving:
        state = states.get(item.database)
        if state is None or (state.takes_connections and await old.role_at(item.cell.address) is None):
            raise WrongState(f"{item.cell.name} is not at the same server as {servers.leaving[0].cell.name}: split it by itself")
        try:
            role = await new.role_at(item.target)
        except UnusableStore as error:
            raise UnusableStore(f"{item.cell.name} does not answer at the second server: {error.detail}") from error
        if role is None:
            raise UnusableStore(f"the second server is another one for {item.cell.name} than --to names: name its host and port in --to")
        leaving.append(_Leaving(item.cell, item.database, item.target, role))
    staying = {}
    for name, address in _addresses(directory, home_address, without=[item.cell.name for item in leaving]).items():
        with suppress(TouchbaseError):  # what does not answer is at no server that does
            if _database_of(address) in states and await old.role_at(address) is not None:
                staying[_database_of(address)] = name
    if used := {here.database, there.database} & {*staying, *servers.names}:
        raise UnusableStore(
            f"the session in the database {used.pop()} would be in the way: name another one in --to and --from, such as postgres"
        )
    if left := [name for name, state in states.items() if state.mark and _is_closed(state) and name not in servers.names]:
        raise WrongState(
            f"a split has closed {', '.join(left)}: name the databases of that split too, or drop the copies first, with --drop"
        )
    return replace(servers, leaving=leaving, staying=staying)


async def _refuse_servers(servers: _Servers, here: Server, there: Server) -> None:
    if here.system_identifier != there.system_identifier:
        raise UnusableStore("the second server is no copy of the first one: make it with pg_basebackup")
    if here.is_standby:
        raise UnusableStore("the first server is a standby itself: name its primary with --from")
    if there.waits_for:
        raise UnusableStore(
            f"the second server would wait for standbys that it has not ({there.waits_for}): there, set synchronous_standby_names to ''"
        )
    if not there.is_standby:
        return  # `_promoted` looks at the marks
    if not there.streams:
        raise UnusableStore("the second server does not stream from the first one: its log says why (primary_conninfo)")
    if await servers.old.names_synchronous(_application(there)):
        raise UnusableStore(
            "commits of the first server wait for the second one, also after the split: there, take it out of synchronous_standby_names"
        )
    lag = await servers.new.lag(await servers.old.position())
    if lag > MOST_LAG:
        raise UnusableStore(f"the second server is {lag} bytes behind: wait until it is less than {MOST_LAG}")


def _application(standby: Server) -> str:
    words = dict(part.split("=", 1) for part in standby.conninfo.split() if "=" in part)
    return words.get("application_name", standby.cluster or "walreceiver").strip("'")


def _is_closed(state: DatabaseState) -> bool:
    return state.is_read_only or not state.takes_connections


def _named(directory: Directory, names: Sequence[str]) -> list[Cell]:
    if HOME_NAME in names:
        raise WrongState("the home database stays, as its address is a setting of every server: name further databases")
    present = {cell.name: cell for cell in directory.cells if cell.state != REMOVED}
    for name in names:
        if name not in present:
            raise NotFound(f"there is no database {name!r}; `touchbase databases list` shows all")
        if kind := part_of_database(present[name].address):
            raise WrongState(f"{name} is {kind}, which cannot be split")
    return [present[name] for name in dict.fromkeys(names)]


def _addresses(directory: Directory, home_address: str, without: Sequence[str]) -> dict[str, str]:
    """Return the addresses of the other PostgreSQL databases of the installation, by name."""
    every = {HOME_NAME: home_address} | {cell.name: cell.address for cell in directory.cells if cell.state != REMOVED}
    return {name: address for name, address in every.items() if name not in without and scheme_of(address) != "sqlite"}


def at_host_of(address: str, other: str) -> str:
    """Return an address with the host of another one; user, password, database and options are its own."""
    parts, host = urlsplit(address), urlsplit(other)
    if not parts.netloc or not host.netloc or host.scheme not in ("postgresql", "postgres"):
        raise BadAddress("write postgresql://USER:PASSWORD@HOST:PORT/NAME")
    user = parts.netloc.rpartition("@")[0]
    query = [pair for pair in parse_qsl(parts.query) if pair[0] not in _OF_HOST] + [
        pair for pair in parse_qsl(host.query) if pair[0] in _OF_HOST
    ]
    netloc = (f"{user}@" if user else "") + host.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=netloc, query=urlencode(query)))


def _in(address: str, database: str) -> str:
    return urlunsplit(urlsplit(address)._replace(path=f"/{quote(database)}"))


def _database_of(address: str) -> str:
    return unquote(urlsplit(address).path.lstrip("/"))


def _role_of(address: str) -> str:
    return unquote(urlsplit(address).username or "")
