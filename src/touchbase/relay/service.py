"""The relay: read events, give them to the sink, note how far it has them; in this order, so that a kill repeats events and loses none."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from touchbase.relay.models import (
    Event,
    EventBatch,
    EventLogSource,
    RelayPosition,
    RelayStopped,
    Sink,
    SinkFailed,
    SourceFailed,
    position_of,
)


class CheckpointFile:
    """Position in a file, which is replaced as a whole: a kill leaves the old or the new one. One process owns it until `close`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._new = path.with_name(f"{path.name}.new")
        self._lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise RelayStopped(f"another relay uses the checkpoint {path}: stop it, or give each relay its own --checkpoint") from None

    def load(self) -> RelayPosition | None:
        """Return the stored position; None without a file. Raises `RelayStopped` for a damaged one."""
        try:
            position = msgspec.json.decode(self._path.read_bytes(), type=RelayPosition)
            _ = position.sequence
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, ValueError):
            raise RelayStopped(f"{self._path} is no checkpoint of a relay: name another file, or remove it to begin at --after") from None
        return position

    def save(self, position: RelayPosition) -> None:
        """Store a position and return once it is on disk."""
        with os.fdopen(os.open(self._new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(position))
            file.flush()
            os.fsync(file.fileno())
        self._new.replace(self._path)

    def close(self) -> None:
        """Unlock the checkpoint for another process."""
        os.close(self._lock)


LOG = logging.getLogger("touchbase.relay")
WAIT_SECONDS = 20.0
"""How long a read waits for an event."""
FIRST_RETRY, LONGEST_RETRY = 1.0, 60.0
"""Seconds before another attempt; each wait is twice the one before."""
LONGEST_RETRY_AFTER = 3_600.0
"""Seconds of `Retry-After` that are waited."""
T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


class Relay:
    """Passes the events of one client on, from where the sink or the checkpoint says."""

    def __init__(
        self, source: EventLogSource, sink: Sink, checkpoint: CheckpointFile | None = None, *, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._source = source
        self._sink = sink
        self._checkpoint = checkpoint
        self._sleep = sleep
        self._position: RelayPosition | None = None
        self._client_id: str | None = None
        self.sent = 0
        """Number of events that the sink has taken from this relay."""

    @property
    def cursor(self) -> str | None:
        """The cursor up to which the sink has all events; None before the first."""
        return None if self._position is None else self._position.cursor

    async def run(self, after: str | None = None, *, once: bool = False, from_checkpoint: bool = True) -> None:
        """Relay for ever, or `once` up to the newest event; `after`: where to begin without a position of sink or checkpoint.

        `once`, a failure is raised; else it is logged and the step repeated.
        """
        if from_checkpoint:
            self._position = await self._patiently(self._find_position, once=once)
        cursor = self.cursor or after
        while True:
            batch = await self._patiently(lambda at=cursor: self._source.read(at, 0 if once else WAIT_SECONDS), once=once)  # type: ignore[misc]
            self._check_client(batch)
            await self._pass_on([*batch.events], once=once)
            cursor = batch.cursor
            self._note(batch)
            if once and not batch.has_more:
                return

    async def _find_position(self) -> RelayPosition | None:
        """Return the later of the sink's and the checkpoint's position."""
        positions = [await self._sink.position(), self._checkpoint.load() if self._checkpoint else None]
        return max((position for position in positions if position is not None), key=lambda position: position.sequence, default=None)

    def _check_client(self, batch: EventBatch) -> None:
        if not batch.events:
            return
        client_id = position_of(batch.events[0]).client_id
        if self._client_id is None and self._position is not None and self._position.client_id not in ("", client_id):
            raise RelayStopped(
                f"{self._sink.name} has events of client {self._position.client_id}, up to {self._position.cursor}; "
                f"these are of {client_id}: "
                "give each client its own sink and checkpoint; after the client's id was changed, run once with --ignore-checkpoint "
                f"--after {self._position.cursor}"
            )
        self._client_id = client_id

    async def _pass_on(self, events: list[Event], *, once: bool) -> None:
        while events:
            await self._patiently(lambda: self._send(events), once=once)

    async def _send(self, events: list[Event]) -> None:
        """Send events, and take those off the list that the sink has."""
        taken = 0
        try:
            await self._sink.send(events)
            taken = len(events)
        except SinkFailed as error:
            taken = error.sent
            raise
        finally:
            self._taken(events[:taken])
            del events[:taken]

    def _taken(self, events: list[Event]) -> None:
        """Note events that the sink has."""
        if events:
            self.sent += len(events)
            self._store(position_of(events[-1]))

    def _note(self, batch: EventBatch) -> None:
        """Note how far the log was read, if the last events were left out by their type."""
        if batch.cursor != self.cursor and (self._position is not None or batch.cursor != "evt_0"):
            self._store(RelayPosition(batch.cursor, self._client_id or (self._position.client_id if self._position else "")))

    def _store(self, position: RelayPosition) -> None:
        self._position = position
        if self._checkpoint is not None:
            self._checkpoint.save(position)

    async def _patiently(self, step: Callable[[], Awaitable[T]], *, once: bool) -> T:
        wait = FIRST_RETRY
        while True:
            try:
                return await step()
            except (SourceFailed, SinkFailed) as error:
                if once:
                    raise RelayStopped(f"{error}; the same command continues after {self.cursor or 'the first event'}") from None
                if isinstance(error, SinkFailed) and error.sent:
                    wait = FIRST_RETRY
                pause = max(wait, min(error.retry_after, LONGEST_RETRY_AFTER))
                LOG.warning("%s; the next attempt is in %.0f s", error, pause)
            await self._sleep(pause)
            wait = min(LONGEST_RETRY, wait * 2)
