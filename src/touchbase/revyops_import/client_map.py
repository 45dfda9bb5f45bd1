"""Which client of Touchbase each client of theirs is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from touchbase.clients.commands import CreateClient, FindClient
from touchbase.clients.models import DELETING, Client, ClientSettings
from touchbase.clients.service import new_client_id
from touchbase.clients.sql.queries import list_clients
from touchbase.common.field_limits import NAME, storable
from touchbase.common.timestamps import Clock
from touchbase.errors import TouchbaseError
from touchbase.sql.store import Store

LEFT_OUT = ""
"""In place of a client's id: its records are not imported."""


class UnknownClient(TouchbaseError):
    """A client of theirs cannot be matched to one of Touchbase's."""


@dataclass(slots=True)
class ClientMap:
    """Finds, and creates, the clients of their records."""

    store: Store
    clock: Clock
    given: Mapping[str, str]
    """Their id -> the id here, or LEFT_OUT."""
    only_given: bool = False
    """Whether clients that are not in `given` are left out."""
    dry_run: bool = False
    found: dict[str, Client | None] = field(default_factory=dict)
    """By their id; None: left out."""
    created: list[str] = field(default_factory=list)
    """Their ids of the clients that were created."""
    _present: list[Client] | None = None

    async def check(self) -> None:
        """Find the clients that were given; raise `UnknownClient` if one does not exist."""
        for theirs in self.given:
            await self.find(theirs)

    async def find(self, theirs: str) -> Client | None:
        """Return the client; None if it is left out. Its number is 0 if it would be created without `dry_run`."""
        if theirs not in self.found:
            self.found[theirs] = client = await self._find(theirs)
            if client is not None and client.state == DELETING:
                raise UnknownClient(f"client {client.client_id!r} is being deleted: give another one with --client '{theirs}=CLIENT'")
        return self.found[theirs]

    async def _find(self, theirs: str) -> Client | None:
        ours = self.given.get(theirs)
        if ours == LEFT_OUT or (ours is None and self.only_given):
            return None
        if ours is not None:
            client = await self.store.read(FindClient(ours, self.clock()))
            if client is None:
                raise UnknownClient(f"there is no client {ours!r}: `touchbase clients list` shows all, `touchbase clients add` makes one")
            return client
        name = storable(theirs, NAME) or "unnamed"
        if self._present is None:
            self._present = await self.store.read(list_clients())
        same = [one for one in self._present if one.client_id == theirs] or [one for one in self._present if one.name == name]
        if len(same) > 1:
            raise UnknownClient(f"{len(same)} clients have the name {name!r}: choose one with --client '{theirs}=CLIENT'")
        return same[0] if same else await self._create(theirs, name)

    async def _create(self, theirs: str, name: str) -> Client:
        self.created.append(theirs)
        if self.dry_run:
            return Client(0, "", self.clock(), ClientSettings(), name)
        return await self.store.write(CreateClient(new_client_id(), name, self.clock()))
