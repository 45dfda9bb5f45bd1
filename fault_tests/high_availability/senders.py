"""Senders at a fixed rate that send a request again until it is acknowledged, as tools do, and note when each attempt ended."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.load import Address

from fault_tests.calls import ApiClient, NoResponse, UnknownOutcome
from fault_tests.journal import Journal, p99_ms
from fault_tests.writers import Step, create, create_once, webhook

EACH_SECONDS = 0.1
"""Time between two new requests of one sender."""
AGAIN_SECONDS = 1.0
"""Time between two attempts for one request."""
SENDERS: tuple[tuple[Step, bool], ...] = ((webhook, True),) * 6 + ((create_once, True),) * 2 + ((create, False),)
"""What each sender sends, and whether it may be sent again."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request and its response; times are of the monotonic clock."""

    began: float
    ended: float
    acknowledged: bool


class Senders:
    """The senders, a thread each, from the start until `end`."""

    def __init__(self, address: Address, journal: Journal, senders: Sequence[tuple[Step, bool]] = SENDERS) -> None:
        self.attempts: list[Attempt] = []
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._live, args=(ApiClient(address, journal.client), journal, step, again, f"{step.__name__}{number}"))
            for number, (step, again) in enumerate(senders)
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let each sender finish its request, then return."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def acknowledged_since(self, moment: float) -> bool:
        """Return whether a request that began after this moment was acknowledged."""
        return any(attempt.acknowledged and attempt.began > moment for attempt in list(self.attempts))

    def longest_gap(self, since: float) -> float:
        """Return the longest time without an acknowledgement after this moment."""
        ended = sorted(attempt.ended for attempt in self.attempts if attempt.acknowledged and attempt.ended > since)
        return max((later - earlier for earlier, later in pairwise([since, *ended])), default=0.0)

    def p99_ms(self, since: float, until: float, *, acknowledged: bool = True) -> float:
        """Return the 99th percentile of attempts within this time that were acknowledged, or were not."""
        within = [attempt for attempt in self.attempts if since < attempt.began and attempt.ended < until]
        return p99_ms([item.ended - item.began for item in within if item.acknowledged == acknowledged])

    def _live(self, api: ApiClient, journal: Journal, step: Step, may_repeat: bool, prefix: str) -> None:
        waiting = deque[tuple[float, str]]()
        number, due = 0, time.perf_counter()
        try:
            while not self._ended.is_set():
                if waiting and waiting[0][0] <= time.perf_counter():
                    _, name = waiting.popleft()
                else:
                    number, due = number + 1, max(due + EACH_SECONDS, time.perf_counter() - EACH_SECONDS)
                    name = f"{prefix}-{number}"
                    self._ended.wait(max(0.0, due - time.perf_counter()))
                if not self._attempt(api, journal, step, name) and may_repeat:
                    waiting.append((time.perf_counter() + AGAIN_SECONDS, name))
        except Exception as error:  # a response that cannot be decoded is unexpected too
            journal.note_odd(f"{prefix}: {error!r}")
        finally:
            api.close()

    def _attempt(self, api: ApiClient, journal: Journal, step: Step, name: str) -> bool:
        began = time.perf_counter()
        acknowledged = False
        try:
            step(api, journal, name)
            acknowledged = _is_acknowledged(journal, step, name)
        except UnknownOutcome:
            journal.note_unknown()
        except NoResponse:
            journal.note_unanswered()
        self.attempts.append(Attempt(began, time.perf_counter(), acknowledged))
        return acknowledged


def _is_acknowledged(journal: Journal, step: Step, name: str) -> bool:
    if step is webhook:
        return journal.webhooks[f"{name}@example.com"]
    return (journal.created_once if step is create_once else journal.created)[name] is not None
