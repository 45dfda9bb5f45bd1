"""Send queue of one endpoint: ordering, retries, unsaved results.

No I/O. With ordering `per_record` only the first event of a record may be sent; later ones wait until it is delivered or all
of its attempts have failed.
"""

from __future__ import annotations

import heapq
import random
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass

from touchbase.common.timestamps import DAY, SECOND, Micros
from touchbase.common.token_bucket import TokenBucket
from touchbase.event_log.models import LoggedEvent
from touchbase.outgoing.models import (
    ACTIVE,
    AUDIT,
    BLOCKLIST,
    DELIVERED,
    DONE,
    MAX_UNDONE,
    PAUSED,
    PER_RECORD,
    Attempt,
    Pending,
    Record,
    Served,
    order_key,
)

HOUR: Micros = 3_600 * SECOND
SCHEDULE: tuple[Micros, ...] = (
    0, 5 * SECOND, 300 * SECOND, 1_800 * SECOND, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR,
)  # fmt: skip
"""Time before each attempt of an event, since the one before; the first is sent at once."""
ACT_TRIES = 2
"""Attempts of an act after which the time to the next stays the same: none is given up, as later ones wait for it."""
JITTER = 0.2
"""Up to this share longer, at random, so that events that failed together do not come back together."""
LONGEST_RETRY_AFTER: Micros = DAY
PAUSE_AFTER: Micros = 5 * DAY
"""Time without any success after which an endpoint is paused."""
OPEN_AFTER = 5
"""Failures in a row after which an endpoint is only probed: one request at a time."""
FIRST_PROBE: Micros = 5 * SECOND
LONGEST_PROBE: Micros = 60 * SECOND
"""Time between two probes; it doubles up to this."""


def next_attempt(attempts: int, now: Micros, retry_after: Micros = 0) -> Micros | None:
    """Return when an event is sent again after this many failed attempts; None after the last one."""
    if attempts >= len(SCHEDULE):
        return None
    wait = int(SCHEDULE[attempts] * random.uniform(1.0, 1.0 + JITTER))  # noqa: S311
    return now + max(wait, min(retry_after, LONGEST_RETRY_AFTER))


def next_probe(failures: int, now: Micros) -> Micros:
    """Return when an endpoint with this many failures in a row is tried again."""
    return now + min(LONGEST_PROBE, FIRST_PROBE << min(failures - OPEN_AFTER, 20))


FIRST_WINDOW, LARGEST_WINDOW = 4, 16
"""Requests to one endpoint at once: the number grows with each success and halves with each failure."""
BUFFER = 256
"""Events that are read from the log ahead of their requests."""
MAX_UNSTORED = 512
"""Delivered events that are not stored yet: these would be repeated after a kill."""
YOUNG: Micros = SECOND // 10
"""Age of a request up to which the position waits for it, instead of a row for it and its successors."""
ADVANCE_AFTER = 500
ADVANCE_EVERY: Micros = 30 * SECOND
"""Events that an endpoint does not want, and the time, after which its position is stored although nothing else is."""
LISTED = 20
"""Attempts that succeeded at once of which one transaction stores a row; of failures all are stored."""


@dataclass(slots=True)
class WaitingEvent:
    """An event that is not delivered."""

    sequence: int
    record: Record | None
    attempts: int
    first_us: Micros
    next_us: Micros | None
    is_stored: bool = False
    """Whether `pending_webhook` has it."""
    event: LoggedEvent | None = None
    started_us: Micros = 0

    def pending(self) -> Pending:
        """Return it as it is stored."""
        return Pending(self.sequence, self.record, self.attempts, self.first_us, self.next_us)


@dataclass(slots=True)
class Unstored:
    """Results since the last transaction, to be stored by the next."""

    position: int
    save: list[tuple[WaitingEvent, Pending]]
    """Events with their rows as they are written: an event may change while they are."""
    remove: list[int]
    attempts: list[Attempt]
    done: list[int]


class EndpointQueue:
    """The state of one endpoint."""

    def __init__(self, served: Served, now: Micros) -> None:
        self.read = served.progress.position
        """The log is read up to here."""
        self.stored, self.stored_us = served.progress.position, now
        """The position that is stored, and when this process stored it last."""
        self.newest = 0
        self.failures = 0
        self.failing_since_us = served.progress.failing_since_us
        self.delivered_us: Micros | None = None
        self.state, self.reason, self.stop_is_stored = ACTIVE, "", False
        self.in_flight: dict[int, WaitingEvent] = {}
        self.is_reading = self.is_queued = self.is_closed = False
        self._window = FIRST_WINDOW
        self._not_before: Micros = 0
        self._items: dict[int, WaitingEvent] = {}
        self._fresh: list[int] = []
        """Sequences without a row that are not delivered, in order."""
        self._of_record: dict[Record, list[int]] = {}
        self._ready: list[tuple[Micros, int]] = []
        self._done: set[int] = set()
        self._remove: list[int] = []
        self._changed: dict[int, WaitingEvent] = {}
        """Failed events whose rows are to be written."""
        self._attempts: list[Attempt] = []
        self.use(served, now)

    def use(self, served: Served, now: Micros) -> None:
        """Use the endpoint's present settings, and events that were added to the waiting ones."""
        self.endpoint, self.client_id = served.endpoint, served.client_id
        rate = served.endpoint.rate
        self._bucket, self._next_token = TokenBucket("webhooks", rate, 1, now) if rate else None, 0
        if served.progress.failing_since_us is None:
            self.failures, self.failing_since_us, self._not_before = 0, None, 0
        for pending in served.pending:
            waiting = self._items.get(pending.sequence)
            if waiting is None:
                self._add(
                    WaitingEvent(pending.sequence, pending.record, pending.attempts, pending.first_us, pending.next_us, is_stored=True)
                )
                continue
            waiting.is_stored = True
            if pending.next_us is not None and (waiting.next_us is None or pending.next_us < waiting.next_us):
                waiting.attempts, waiting.next_us = pending.attempts, pending.next_us
        for item in self._items.values():
            if item.sequence not in self.in_flight:
                self._offer(item)  # the ordering may have changed

    @property
    def undone(self) -> int:
        """Number of events that wait or are in flight."""
        return len(self._items)

    @property
    def has_backlog(self) -> bool:
        """Whether events wait that were logged before."""
        return self.read < self.newest or len(self._items) > BUFFER

    @property
    def is_open(self) -> bool:
        """Whether the endpoint fails so often that it is only probed."""
        return self.failures >= OPEN_AFTER

    def wants_events(self, now: Micros) -> bool:
        """Return whether more events should be read from the log; for a probe only if nothing else is due."""
        if self.is_reading or self.is_closed or self.read >= self.newest or self.state != ACTIVE or len(self._items) >= MAX_UNDONE:
            return False
        if not self.is_open:
            return len(self._fresh) < BUFFER
        return not self._fresh and not self.in_flight and (not self._ready or self._ready[0][0] > now)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits, is in flight or is to be stored."""
        return not self._items and self.read >= self.newest and not self.is_reading and not self.has_news

    @property
    def has_news(self) -> bool:
        """Whether something is to be stored soon; that the endpoint did not want events can wait, see `may_advance`."""
        return bool(self._remove or self._changed or self._attempts or (self.state != ACTIVE and not self.stop_is_stored))

    def may_advance(self, now: Micros) -> bool:
        """Return whether it is time to store a later position, for the sake of events that the endpoint does not want."""
        behind = self.read - self.stored
        if behind <= 0 or self.has_news or (behind < ADVANCE_AFTER and now - self.stored_us < ADVANCE_EVERY):
            return False
        waiting = (number for number in self._fresh if number in self._items and not self._items[number].is_stored)
        return next(waiting, self.read + 1) - 1 > self.stored

    def add_page(self, events: Sequence[LoggedEvent], last: int, now: Micros) -> None:
        """Take events that were read from the log."""
        for event in events:
            record = order_key(event.record_kind, event.record_id, event.data)
            # A replay, or a row above the stored position, may have brought it already, and it may be delivered since.
            if event.sequence not in self._items and event.sequence not in self._done:
                self._fresh.append(event.sequence)
                self._add(WaitingEvent(event.sequence, record, 0, now, now, event=event))
        self.read = max(self.read, last)

    def _add(self, item: WaitingEvent) -> None:
        self._items[item.sequence] = item
        if item.record is not None:
            insort(self._of_record.setdefault(item.record, []), item.sequence)
        self._offer(item)

    def _offer(self, item: WaitingEvent) -> None:
        """Make an event eligible, if no earlier one of its record waits."""
        if self._holder(item) == item.sequence and item.next_us is not None:
            heapq.heappush(self._ready, (item.next_us, item.sequence))

    def _holder(self, item: WaitingEvent) -> int:
        if item.record is None or self.endpoint.ordering != PER_RECORD:
            return item.sequence
        return self._of_record[item.record][0]

    def next_time(self) -> Micros | None:
        """Return when an event may be sent next, limits on rate and requests aside; None: not before something else happens."""
        self._drop_stale()
        if not self._ready or self.state != ACTIVE or self.is_closed:
            return None
        return max(self._ready[0][0], self._not_before, self._next_token)

    def has_work(self, now: Micros) -> bool:
        """Return whether an event is due or to be read."""
        at = self.next_time()
        return self.wants_events(now) or (at is not None and at <= now)

    def _drop_stale(self) -> None:
        """Drop entries of events that are gone, were moved to another time, are in flight or held back."""
        while self._ready:
            at, sequence = self._ready[0]
            item = self._items.get(sequence)
            if item is not None and item.next_us == at and sequence not in self.in_flight and self._holder(item) == sequence:
                return
            heapq.heappop(self._ready)

    def take(self, now: Micros) -> WaitingEvent | None:
        """Return an event to send now, which is in flight from now on; None if there is none or a limit is reached."""
        at = self.next_time()
        window = 1 if self.is_open else self._window
        if at is None or at > now or len(self.in_flight) >= window or len(self._done) >= MAX_UNSTORED:
            return None
        if self._bucket is not None and not self._bucket.take(1, now):
            self._next_token = now + int(SECOND / self._bucket.rate)
            return None
        item = self._items[heapq.heappop(self._ready)[1]]
        item.started_us = now
        self.in_flight[item.sequence] = item
        return item

    def give_back(self, item: WaitingEvent, not_before: Micros = 0) -> None:
        """Return an event that was not sent after all; nothing is sent before a time."""
        del self.in_flight[item.sequence]
        self._not_before = max(self._not_before, not_before)
        self._offer(item)

    def skip(self, item: WaitingEvent, attempt: Attempt | None = None, now: Micros = 0) -> None:
        """Take an event off that the endpoint does not want, or that is not in the log any more; `attempt` says why, if it is listed."""
        del self.in_flight[item.sequence]
        if self._bucket is not None:  # nothing was requested of the receiver
            self._bucket.refund(1)
            self._next_token = 0
        if attempt is not None:
            self._attempts.append(attempt)
        self._finish(item)

    def _finish(self, item: WaitingEvent) -> None:
        del self._items[item.sequence]
        self._done.add(item.sequence)
        if item.is_stored:
            self._remove.append(item.sequence)
        self._changed.pop(item.sequence, None)
        self._let_next(item)

    def _let_next(self, item: WaitingEvent) -> None:
        """Take an event out of the queue of its record, and make the next one eligible."""
        queue = None if item.record is None else self._of_record.get(item.record)
        if item.record is None or queue is None:
            return
        if item.sequence in queue:
            queue.remove(item.sequence)
        if queue:
            self._offer(self._items[queue[0]])
        else:
            del self._of_record[item.record]

    def succeeded(self, item: WaitingEvent, attempt: Attempt, now: Micros) -> None:
        """Note that the receiver works; events that waited for its recovery are due at once."""
        was_open = self.is_open
        del self.in_flight[item.sequence]
        self._attempts.append(attempt)
        self._finish(item)
        self.failures, self.failing_since_us, self._not_before = 0, None, 0
        if attempt.outcome == DELIVERED:
            self.delivered_us = now
        self._window = min(LARGEST_WINDOW, self._window + 1)
        if was_open:
            for waiting in self._items.values():
                if waiting.next_us is not None and waiting.next_us > now and waiting.sequence not in self.in_flight:
                    waiting.next_us = now
                    self._offer(waiting)

    def failed(self, item: WaitingEvent, attempt: Attempt, now: Micros, retry_after: Micros = 0, *, slow_down: bool = False) -> None:
        """Note a failure; `slow_down`: the receiver asks that all requests wait for `retry_after`."""
        del self.in_flight[item.sequence]
        self._attempts.append(attempt)
        item.attempts, item.event = item.attempts + 1, None
        tries = min(item.attempts, ACT_TRIES) if self.endpoint.kind == AUDIT else item.attempts
        item.next_us = next_attempt(tries, now, retry_after)
        self._changed[item.sequence] = item
        self.failures, self._window = self.failures + 1, max(1, self._window // 2)
        self.failing_since_us = self.failing_since_us or now
        if self.is_open:
            self._not_before = next_probe(self.failures, now)
        if slow_down:
            self._not_before = max(self._not_before, now + retry_after)
        if item.next_us is None:
            del self._items[item.sequence]
            self._let_next(item)
        else:
            self._offer(item)
        if now - self.failing_since_us >= PAUSE_AFTER:
            self.stop(PAUSED, "no request has succeeded for 5 days; events wait: resume the endpoint when it works again")

    def stop(self, state: str, reason: str) -> None:
        """Stop sending; waiting events stay."""
        if self.state == ACTIVE:
            self.state, self.reason = state, reason

    def forget(self) -> None:
        """Forget unsaved results: another process serves the endpoint now, or it was removed."""
        self._done.clear()
        self._changed.clear()
        self._remove, self._attempts, self.stop_is_stored = [], [], True

    def unstored(self, now: Micros) -> Unstored:
        """Return unsaved results. Delivered events after a young request wait for it; after an older one, rows hold the gap."""
        young = [item for item in self.in_flight.values() if not item.is_stored and now - item.started_us < YOUNG]
        stop = min((sequence.sequence for sequence in young), default=self.read + 1)
        top = min(max([*self._done, *self._changed], default=0), stop - 1)
        save = dict(self._changed)
        sequences: list[int] = []
        for sequence in self._fresh:
            item = self._items.get(sequence)
            if item is None or sequence in save:
                continue
            if sequence < top:
                save[sequence] = item
            else:
                sequences.append(sequence)
        position = max(self.stored, min(sequences[0] - 1 if sequences else self.read, stop - 1))
        done = [sequence for sequence in self._done if sequence <= position]
        counted = {*done}
        attempts = [attempt for attempt in self._attempts if attempt.outcome not in DONE or attempt.sequence in counted]
        remove = [sequence for sequence in self._remove if sequence in counted]
        return Unstored(position, [(item, item.pending()) for item in save.values()], remove, self._listed(attempts), done)

    def was_stored(self, unstored: Unstored, now: Micros) -> None:
        """Forget stored results."""
        self.stored, self.stored_us = max(self.stored, unstored.position), now
        self._done.difference_update(unstored.done)
        for item, row in unstored.save:
            item.is_stored = True
            if item.sequence in self._done:  # delivered while its row was written
                self._remove.append(item.sequence)
            elif self._changed.get(item.sequence) is item and item.pending() == row:
                del self._changed[item.sequence]
        removed, gone = {*unstored.remove}, {*unstored.done}
        self._remove = [sequence for sequence in dict.fromkeys(self._remove) if sequence not in removed]
        shown = {id(attempt) for attempt in unstored.attempts}
        self._attempts = [
            attempt for attempt in self._attempts if id(attempt) not in shown and not (attempt.outcome in DONE and attempt.sequence in gone)
        ]
        self._fresh = [item for item in self._fresh if item in self._items and not self._items[item].is_stored]

    def _listed(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """Return the attempts to store: all but many successes at once; of a blocklist all, because removals look for them."""
        lines, plain = [], 0
        for attempt in attempts:
            if attempt.outcome == DELIVERED and attempt.number == 1 and self.endpoint.kind != BLOCKLIST:
                plain += 1
                if plain > LISTED:
                    continue
            lines.append(attempt)
        return lines
