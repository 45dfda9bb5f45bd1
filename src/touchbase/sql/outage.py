"""Outage of a store: log entries, once for all workers that have to wait."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from touchbase.common.seldom import REMINDER_SECONDS, Seldom
from touchbase.errors import ClientMoving, OutcomeUnknown, Overloaded, StoreUnavailable

LOG = logging.getLogger("touchbase.storage")
QUIET_SECONDS = 15.0
"""Time without a failure after which the outage has ended, though some work that failed was not tried again: its client may be gone."""


class Outage:
    """Whether one store can be used, as its workers find out; the event loop of the process owns it.

    A worker that reads may work while one that writes does not, so the outage ends when all that failed works again.
    """

    def __init__(self, name: str = "the store", seconds: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._seconds = seconds
        self._waiting = set[str]()
        self._since: float | None = None
        self._failed_at = self._said_at = 0.0
        self._seldom = Seldom(seconds)

    def waits(self, what: str, error: Overloaded) -> None:
        """Note that some work has to wait. An outage is logged when it begins, and once a minute; other reasons once a minute too."""
        if isinstance(error, StoreUnavailable | OutcomeUnknown) and not isinstance(error, ClientMoving):
            self.down(what, error.detail)
        elif self._since is None and self._seldom.is_due(f"{what} {error.detail}"):
            LOG.warning("%s waits: %s", what, error.detail)

    def down(self, what: str, reason: str) -> None:
        """Note that the store cannot be used for some work."""
        now = self._failed_at = self._seconds()
        self._waiting.add(what)
        if self._since is None:
            self._since = self._said_at = now
            LOG.warning("%s cannot be used; what needs it waits, or gets 503: %s", self._name, reason)
        elif now - self._said_at >= REMINDER_SECONDS:
            self._said_at = now
            LOG.warning("%s could not be used for %.0f seconds and still cannot: %s", self._name, now - self._since, reason)

    def works(self, what: str) -> None:
        """Note that some work was done; the end of an outage is logged when nothing waits any more."""
        if self._since is None:
            return
        self._waiting.discard(what)
        now = self._seconds()
        if not self._waiting or now - self._failed_at >= QUIET_SECONDS:
            LOG.info("%s can be used again, after %.0f seconds", self._name, now - self._since)
            self._waiting.clear()
            self._since = None


class LoggedAttempt:
    """Context of a piece of work: an error is logged, not raised; the outage learns whether the store could be used."""

    def __init__(self, outage: Outage, label: str, log: logging.Logger, failure: str) -> None:
        self._outage, self._label, self._log, self._failure = outage, label, log, failure
        self.succeeded = False
        self.retry_after = 0.0
        """Seconds to wait, if the store could not be used."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if error is None:
            self.succeeded = True
            self._outage.works(self._label)
        elif isinstance(error, Overloaded):
            self.retry_after = error.retry_after
            self._outage.waits(self._label, error)
        elif isinstance(error, Exception):
            self._log.error(self._failure, exc_info=error)
        else:
            return False
        return True
