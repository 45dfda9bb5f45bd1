"""What processing the inbox takes and returns: the report of a batch, the result of a dry run, the translating function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from touchbase.common.packing import packs_by_position
from touchbase.common.timestamps import Micros
from touchbase.history.events import Translation
from touchbase.history.identity_links import Ref
from touchbase.inbox.delivery import Delivery
from touchbase.sql.store import Store


@dataclass(slots=True)
class WorkReport:
    """What one turn of the inbox did: deliveries by the state they ended in, and records created."""

    taken: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    created: int = 0
    oldest_us: Micros | None = field(default=None, compare=False)
    """When the oldest of them was received: how far the inbox is behind."""
    more: bool = False
    """Whether deliveries of the client are left that the turn could have taken: it ends early after a large one."""
    failing: int = 0
    """Clients whose turns failed, so that what waits for them still waits; the log says why."""
    problems: dict[str, int] = field(default_factory=dict)
    """Deliveries that have a problem now and had not before, by its code."""
    outcomes: dict[tuple[str, str, str], int] = field(default_factory=dict, compare=False)
    """`ended` by channel, tool (empty where none was recognised) and state."""
    applied_since_us: list[Micros] = field(default_factory=list, compare=False)
    """For each delivery that was applied, since when it waited: its receipt, or its replay."""


@dataclass(slots=True)
class DryRunDelivery:
    """What one delivery would come to if it were applied again."""

    id: int
    was: str
    """Its state now."""
    state: str
    """Its state then."""
    events: int
    """Events that would be its own then."""
    error: str | None


@dataclass(slots=True)
class DryRunResult:
    """What applying deliveries again would change."""

    deliveries: list[DryRunDelivery] = field(default_factory=list)
    created: int = 0
    """Records that would be made."""
    changed: int = 0
    """Records that would show other values."""
    fields: dict[str, int] = field(default_factory=dict)
    """In how many records each value would be another."""


class TooManyEvents(Exception):
    """More events than are tried out in one transaction."""


Translate = Callable[[Delivery], Translation]
"""Reads one kept delivery; raises `UnrecognisedPayload` when nobody understands it."""


@packs_by_position
@dataclass(slots=True)
class ReadResult:
    """What came of looking at one delivery in a process apart: what the store's part of that process has made of it, or why nothing."""

    seen: Any = None
    told: set[Ref] | None = None
    """The addresses that stand anywhere in it, if it was looked through for them."""
    why: str | None = None
    for_good: bool = False
    """Whether it need not be tried again: it exceeded its budget."""


@runtime_checkable
class IsolatedReader(Protocol):
    """A `Translate` that looks at many deliveries at once, in a process that can be stopped."""

    async def looked(self, deliveries: Sequence[Delivery]) -> list[ReadResult]:
        """What came of looking at each of these; raises `Overloaded` when no process can be started."""
        ...


class ProcessingStore(Store, Protocol):
    """A store that also applies deliveries. Every engine keeps the same promises; `tests/storage` holds them to it."""

    turn_beside_callers: int
    """Deliveries that one turn should take at the most while many callers write: so many hold up no write for long."""

    held_up_by_turn: float
    """Of the commands that come during such a turn, the part that waits until it is over; between 0 and 1."""

    async def work(self, client: int, limit: int, translate: Translate, now_us: Micros) -> WorkReport:
        """Apply up to `limit` waiting deliveries of one client, oldest first, in one transaction.

        Safe beside other workers: a delivery is applied by one of them. One that fails keeps the reason
        and is tried again later; it never harms its neighbours.
        """
        ...

    async def work_on(self, client: int, ids: Sequence[int], translate: Translate, now_us: Micros) -> WorkReport:
        """Apply those of these deliveries that wait, due or not, as `touchbase worker` does, though their client be suspended.

        For an erasure, which cannot wait: what it takes tells of erased people.
        """
        ...

    async def dry_run(self, client: int, ids: Sequence[int], translate: Translate, now_us: Micros) -> DryRunResult:
        """What applying these deliveries of one client again would change; nothing of it is kept.

        Raises what applying them raises, so whoever asks for several may ask for fewer.
        """
        ...
