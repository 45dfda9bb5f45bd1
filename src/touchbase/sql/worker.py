"""Base of the workers: rounds until `stop`, with a pause between two; a store that cannot be used is waited for."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from typing import ClassVar

from touchbase.sql.outage import LoggedAttempt, Outage

IDLE_ROUNDS = 20
"""Rounds without work after which a worker looks less often."""
IDLE_POLL_SECONDS = 2.0
GRACE_SECONDS = 5.0
"""Time that requests to receivers and tools get when the process stops; after a kill some would be repeated, or unknown."""


class Worker(ABC):
    """Repeats a round; the event loop of the process owns it."""

    log: ClassVar[logging.Logger]
    label: ClassVar[str]
    """Name of the rounds in the log of an outage."""
    failure: ClassVar[str]
    """Log text of a round that failed; the next one tries again."""
    poll_seconds: ClassVar[float]
    """Pause between two rounds, unless something wakes the worker."""
    slows_down: ClassVar[bool] = False
    """Whether the pause becomes `IDLE_POLL_SECONDS` after `IDLE_ROUNDS` rounds without work: each database has workers of its own."""
    longest_retry: ClassVar[float] = 60.0
    """Longest pause while the store cannot be used; else it lasts `Retry-After`."""

    def __init__(self, outage: Outage | None = None) -> None:
        self._outage = outage or Outage()
        self._stopping = asyncio.Event()
        self._wake_up = asyncio.Event()
        self._idle_rounds = 0
        """Rounds since the last one that found work; a subclass that slows down sets it to 0."""

    def wake(self) -> None:
        """Start the next round now."""
        self._wake_up.set()

    def stop(self) -> None:
        """Finish the current step, then return from `run`."""
        self._stopping.set()
        self._wake_up.set()

    async def run(self) -> None:
        """Do rounds until stopped; log a failure, and retry."""
        while not self._stopping.is_set():
            self._wake_up.clear()
            seconds: float = self.poll_seconds
            with self._attempt(self.label, self.failure) as attempt:
                seconds = await self._round()
            if attempt.retry_after:
                await self._pause(min(self.longest_retry, max(seconds, attempt.retry_after)))
            elif seconds:
                is_idle = seconds == self.poll_seconds and not self._wake_up.is_set()
                self._idle_rounds = self._idle_rounds + 1 if is_idle else 0
                await self._wait(IDLE_POLL_SECONDS if self.slows_down and self._idle_rounds > IDLE_ROUNDS else seconds)

    @abstractmethod
    async def _round(self) -> float:
        """Run all due work; return the seconds until the next round."""

    async def _wait(self, seconds: float) -> None:
        """Pause; `wake` ends it."""
        if not self._wake_up.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake_up.wait(), seconds)

    def _attempt(self, label: str, failure: str) -> LoggedAttempt:
        """Return a context for a piece of work: its error is logged, and work after the context continues."""
        return LoggedAttempt(self._outage, label, self.log, failure)

    async def _pause(self, seconds: float) -> None:
        """Pause; `stop` ends it."""
        if seconds:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), seconds)
