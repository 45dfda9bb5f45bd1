"""Types of inbox processing: the report of a batch, the result of a dry run, translators and the store's protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from touchbase.common.frames import packs_by_position
from touchbase.common.timestamps import Micros
from touchbase.connections.rhythm import Call
from touchbase.deliveries.delivery import Delivery
from touchbase.history.events import Translation
from touchbase.history.identity_links import Ref
from touchbase.sql.store import Store
from touchbase.tracing.interface import AppliedDelivery


@dataclass(slots=True)
class WorkReport:
    """The result of one batch: deliveries by their new state, and created records."""

    taken: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    created: int = 0
    oldest_us: Micros | None = field(default=None, compare=False)
    """When the oldest of them was received: the lag of the inbox."""
    more: bool = False
    """Whether the batch left deliveries that it could have taken: it ends early after a large one."""
    failing: int = 0
    """Clients whose batches failed, so that their deliveries still wait; the log has the reasons."""
    problems: dict[str, int] = field(default_factory=dict)
    """Deliveries with a new problem, by its code."""
    outcomes: dict[tuple[str, str, str], int] = field(default_factory=dict, compare=False)
    """`ended` by channel, tool (empty where none was recognised) and state."""
    applied_since_us: list[Micros] = field(default_factory=list, compare=False)
    """For each applied delivery, the time of its receipt or replay."""
    calls: list[Call] = field(default_factory=list, compare=False)
    """The deliveries that tools have sent: no replays, and no records that Touchbase has fetched."""
    traced: list[AppliedDelivery] = field(default_factory=list, compare=False)
    """The deliveries with a recorded receipt; also after a failed attempt."""
    began_us: Micros = field(default=0, compare=False)
    """When the batch began."""


CHANGES, KNOWN, TIMELINE, NO_EFFECT, NOT_RECOGNISED = "changes", "already_known", "timeline_only", "no_effect", "not_recognised"
EFFECTS = {
    CHANGES: "it would create or change a record",
    KNOWN: "records have its values already, or it was applied before",
    TIMELINE: "it would be in the timeline of a record, whose values stay",
    NO_EFFECT: "it would be ignored, or wait for the address of its record",
    NOT_RECOGNISED: "it would still not be recognised, or fail",
}
"""Effects of a delivery in a dry run."""


@dataclass(slots=True)
class DryRunRecord:
    """A record that a delivery of a dry run would create or change."""

    kind: int
    """CONTACT or COMPANY."""
    id: int | None
    """None: it would be created."""
    changed: dict[str, tuple[object, object]]
    """By field, its values before and after; together with the other deliveries of its group that are about the record."""


@dataclass(slots=True)
class DryRunDelivery:
    """The outcome of one delivery in a dry run."""

    id: int
    was: str
    """The present state."""
    state: str
    """The state after the replay."""
    events: int
    """The events that the delivery would have after the replay."""
    error: str | None
    records: list[DryRunRecord] = field(default_factory=list)
    effect: str = NOT_RECOGNISED
    """One of `EFFECTS`."""
    inferred: dict[str, str] = field(default_factory=dict)
    """Of its first event (`Event.inferred`)."""


@dataclass(slots=True)
class DryRunResult:
    """The changes that a replay would make."""

    deliveries: list[DryRunDelivery] = field(default_factory=list)
    created: int = 0
    """Records that would be created."""
    changed: int = 0
    """Records whose visible values would change."""
    fields: dict[str, int] = field(default_factory=dict)
    """The number of records in which each field would change."""


class TooManyEvents(Exception):
    """More events than the limit of a dry run."""


Translate = Callable[[Delivery], Translation]
"""Translates one stored delivery; raises `UnrecognisedPayload` if no adapter recognises it."""


@packs_by_position
@dataclass(slots=True)
class ReadResult:
    """The result of reading one delivery, possibly in a translator process: a `NormalizedDelivery`, or the reason of a failure."""

    normalized: Any = None
    mentions: set[Ref] | None = None
    """The addresses found anywhere in the delivery; None if it was not scanned."""
    unsearchable: bool = False
    """Whether not all of it could be searched for addresses."""
    why: str | None = None
    for_good: bool = False
    """Whether the failure is permanent: the delivery exceeded its budget."""


@runtime_checkable
class IsolatedReader(Protocol):
    """A `Translate` that reads many deliveries at once, in a process that can be stopped."""

    async def scan_many(self, deliveries: Sequence[Delivery]) -> list[Any]:
        """Return the `Identities` in each delivery; raises `Overloaded` if no process can be started."""
        ...

    async def read_many(self, deliveries: Sequence[Delivery]) -> list[ReadResult]:
        """Read each delivery; raises `Overloaded` if no process can be started."""
        ...


class ProcessingStore(Store, Protocol):
    """A store that also applies deliveries. All engines behave the same; the contract tests in `tests/storage` prove it."""

    @property
    def batch_size_under_load(self) -> int:
        """The largest batch while many requests write: it blocks no write for long."""
        ...

    @property
    def blocked_share(self) -> float:
        """The part of the requests during such a batch that wait until it ends; between 0 and 1."""
        ...

    async def work(self, client: int, limit: int, translate: Translate, now_us: Micros) -> WorkReport:
        """Apply up to `limit` waiting deliveries of one client, oldest first, in one transaction.

        Safe with concurrent workers: each delivery is applied by one of them. A delivery that fails stores the
        reason and is retried later; the others of the batch are applied.
        """
        ...

    async def work_on(self, client: int, ids: Sequence[int], translate: Translate, now_us: Micros) -> WorkReport:
        """Apply the waiting ones of these deliveries, due or not, even if their client is suspended.

        For an erasure, which cannot wait: these deliveries name erased people.
        """
        ...

    async def dry_run(self, client: int, ids: Sequence[int], translate: Translate, now_us: Micros) -> DryRunResult:
        """Return the changes that applying these deliveries of one client again would make; nothing is stored.

        Raises what applying them raises; then try fewer deliveries at once.
        """
        ...
