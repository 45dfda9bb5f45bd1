"""Fetching records that a tool's calls only name: never on the way of a call, one call to the tool at a time.

What to ask for stands in the store, so nothing is forgotten when a worker dies; a claim keeps two workers from
asking the same tool for the same client. What comes is kept as a delivery like any other, and the inbox does the rest.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from touchbase.clients.commands import FindClientByNumber
from touchbase.clients.models import DELETING
from touchbase.common.backoff import Backoff
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.connections.commands import ClaimFetch, DueFetches, FinishFetch, ListConnections
from touchbase.connections.fetch_state import FetchOutcome, FetchRequest
from touchbase.connections.models import CRM, Connection
from touchbase.connections.tools import ApiResponse, Ask, Fetcher, FetchFailed, Tools
from touchbase.enrichment.oauth_tokens import AccessTokens
from touchbase.enrichment.retry_policy import GONE, LIMITED, RECORDS, STOP, TRY_AGAIN, USELESS, judged
from touchbase.enrichment.store_fetched import keep_fetched
from touchbase.errors import Overloaded
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.fetch")

CLAIM: Micros = 120 * SECOND
"""How long a worker may take for one call and for keeping what it brings; after that another one may ask."""
MOST_ATTEMPTS = 10
"""Failed calls for one record, after which it is not asked for again until a call is about it."""
AT_ONCE = 8
"""Tools that one process asks at the same time."""
LONGEST_WAIT: Micros = 3600 * SECOND
FIRST_WAIT: Micros = 5 * SECOND
LOOK_SECONDS = 1.0
"""How often we look for records that are wanted."""
SHORT_SECONDS = 0.1
"""How often while there is something to do."""
LEFT_ALONE_SECONDS = 60.0
"""For how long a tool is not looked at again whose connection we could not use, or that no adapter asks any more."""
PATIENCE: Micros = 5 * SECOND
"""How long a worker that is to end waits for a pause between two calls to be over."""


@dataclass(slots=True)
class _Turn:
    """One call, and how it is going."""

    connection: Connection
    fetcher: Fetcher
    until_us: Micros
    failures: int
    batch: list[FetchRequest]
    finish: FinishFetch = field(init=False)

    def __post_init__(self) -> None:
        self.finish = FinishFetch(self.connection.client, self.connection.tool, self.until_us, 0)


class FetchWorker:
    """Asks tools for the records that are wanted, until it is stopped."""

    def __init__(
        self,
        store: Store,
        senders: Tools,
        ask: Ask,
        clock: Clock,
        *,
        on_stored: Callable[[int], None] = lambda client: None,
        on_fetched: Callable[[FetchOutcome], None] = lambda fetched: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._senders = senders
        self._ask = ask
        self._tokens = AccessTokens(clock)
        self._clock = clock
        self._on_stored = on_stored
        self._on_fetched = on_fetched
        self._sleep = sleep
        self._turns: dict[tuple[int, str], asyncio.Task[str | None]] = {}
        self._left_alone = Backoff[tuple[int, str]](clock)
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Begin no more calls; `run` returns at once, and what was asked for meanwhile stays wanted."""
        self._stop.set()

    async def run(self) -> None:
        """Ask until stopped. A store that cannot write now is tried again; nothing is lost meanwhile."""
        try:
            while not self._stop.is_set():
                wait = LOOK_SECONDS
                try:
                    wait = SHORT_SECONDS if await self._look() or self._turns else LOOK_SECONDS
                except Overloaded as error:
                    wait = error.retry_after
                except Exception:
                    LOG.exception("looking for records to fetch failed; it is tried again")
                await self._wait(wait)
        finally:
            for turn in self._turns.values():
                turn.cancel()
            await asyncio.gather(*self._turns.values(), return_exceptions=True)

    async def drain(self) -> int:
        """Ask for everything that is due or will be after a short pause; answers how many calls were made.

        A tool that does not answer well is left alone: what is wanted of it stays wanted.
        """
        calls, left = 0, set[tuple[int, str]]()
        while set(await self._store.read(DueFetches(self._clock() + PATIENCE))) - left:
            due = set(await self._store.read(DueFetches(self._clock()))) - left
            for client, tool in sorted(due):
                outcome = await self._try_turn(client, tool)
                calls += outcome is not None
                if outcome not in (RECORDS, GONE):
                    left.add((client, tool))
            if not due:
                await self._sleep(SHORT_SECONDS)
        return calls

    async def turn(self, client: int, tool: str) -> str | None:
        """Make one call for one client's tool and keep what it brings.

        Answers what it came to (`FetchOutcome.outcome`); None when there was nothing to ask, or another worker asks.
        """
        begun = await self._begin(client, tool)
        if begun is None:
            return None
        told: FetchOutcome | None = None
        try:
            if begun.batch:
                told = FetchOutcome(tool, *await self._call(begun))
        except Overloaded:
            raise
        except Exception as error:
            LOG.exception("fetching from %s broke", tool)
            told = FetchOutcome(tool, *self._failed(begun, FetchFailed(f"{type(error).__name__} while its answer was read")))
        finally:
            # Also when we are stopped or break: then nobody waits for the claim to end.
            await self._store.write(begun.finish)
        if told is None:
            return None
        self._on_fetched(told)
        if begun.finish.error is not None:
            LOG.warning("fetching from %s: %s", tool, begun.finish.error)
        return told.outcome

    async def _look(self) -> bool:
        due = [one for one in await self._store.read(DueFetches(self._clock())) if one not in self._left_alone]
        for client, tool in due:
            if (client, tool) not in self._turns and len(self._turns) < AT_ONCE:
                task = asyncio.create_task(self._try_turn(client, tool), name=f"fetch {tool}")
                self._turns[client, tool] = task
                task.add_done_callback(partial(self._over, (client, tool)))
        return bool(due)

    def _over(self, key: tuple[int, str], task: asyncio.Task[str | None]) -> None:
        self._turns.pop(key, None)

    async def _try_turn(self, client: int, tool: str) -> str | None:
        """A turn; one that fails is told, and is nobody else's business."""
        try:
            return await self.turn(client, tool)
        except Exception as error:
            LOG.error("fetching from %s broke: %s; it is tried again", tool, type(error).__name__)
            self._left_alone.delay((client, tool), LEFT_ALONE_SECONDS)
            return None

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            return

    async def _begin(self, client: int, tool: str) -> _Turn | None:
        connections = await self._store.read(ListConnections(client))
        connection = next((one for one in connections if (one.channel, one.tool) == (CRM, tool)), None)
        fetcher = self._senders.fetcher(CRM, tool)
        if fetcher is None:
            self._left_alone.delay((client, tool), LEFT_ALONE_SECONDS)
        if connection is None or fetcher is None or not connection.access_token:
            return None
        now = self._clock()
        claimed = await self._store.write(ClaimFetch(client, tool, now, now + CLAIM, fetcher.most))
        if claimed is None:
            return None
        turn = _Turn(connection, fetcher, now + CLAIM, claimed.failures, _batch(claimed.wanted))
        # Unless all goes well, asking goes on after the usual wait.
        turn.finish.failures, turn.finish.next_us = claimed.failures, now + fetcher.pause_us
        return turn

    async def _call(self, turn: _Turn) -> tuple[str, int]:
        connection, ids = turn.connection, [one.object_id for one in turn.batch]
        missing = [name for name in turn.fetcher.needs if not getattr(connection.settings, name)]
        if missing:
            return self._failed(turn, FetchFailed(f"{connection.tool} needs the setting {missing[0]}; connect it again with it", stop=True))
        # What the answer tells is at least as new as this moment.
        asked_us = self._clock()
        try:
            answer = await self._tokens.ask(self._ask, connection, turn.fetcher, turn.batch[0].object_type, ids)
            if answer is None:
                turn.finish.noted = turn.batch
                return GONE, 0
            return await self._answered(turn, answer, ids, asked_us)
        except FetchFailed as error:
            return self._failed(turn, error)

    async def _answered(self, turn: _Turn, answer: ApiResponse, ids: Sequence[str], asked_us: Micros) -> tuple[str, int]:
        tool, finish, now = turn.connection.tool, turn.finish, self._clock()
        verdict = judged(tool, answer, alone=turn.fetcher.most == 1, now_us=now)
        finish.next_us, finish.failures = now + turn.fetcher.pause_us, 0
        if isinstance(verdict, FetchFailed):
            return self._failed(turn, verdict)
        if verdict == GONE:
            finish.noted = turn.batch
            return GONE, 0
        if verdict == USELESS:
            self._again(turn, now, f"{tool} answered {answer.status} to what we asked; the records are asked for one by one")
            return TRY_AGAIN, 0
        if not await self._is_there(turn.connection.client):
            return GONE, 0
        records = turn.fetcher.records(answer, ids)
        kept = [(one, records[one.object_id]) for one in turn.batch if one.object_id in records]
        shown = self._tokens.secrets_of(turn.connection)
        await asyncio.gather(*(keep_fetched(self._store, turn.connection, one.object_type, body, asked_us, shown) for one, body in kept))
        finish.done = [one for one, _ in kept]
        finish.noted = [one for one in turn.batch if one.object_id not in records]
        if kept:
            finish.fetched_us = asked_us
            self._on_stored(turn.connection.client)
        return RECORDS if kept else GONE, len(kept)

    async def _is_there(self, number: int) -> bool:
        """Whether a client is to stay: what is kept of one that is being deleted would outlive it."""
        client = await self._store.read(FindClientByNumber(number))
        return client is not None and client.state != DELETING

    def _failed(self, turn: _Turn, error: FetchFailed) -> tuple[str, int]:
        """The whole connection waits, or stops; the records stay wanted."""
        finish, now = turn.finish, self._clock()
        finish.at, finish.error = now, str(error)
        if error.stop:
            finish.stopped = True
            return STOP, 0
        if error.retry_after is not None:
            finish.next_us = now + min(LONGEST_WAIT, max(turn.fetcher.pause_us, int(error.retry_after * SECOND)))
            return LIMITED, 0
        finish.failures = turn.failures + 1
        finish.next_us = now + _wait_after(turn.failures)
        self._again(turn, finish.next_us, str(error))
        return TRY_AGAIN, 0

    def _again(self, turn: _Turn, at: Micros, why: str) -> None:
        """Ask for these later, one by one; too often is too often."""
        turn.finish.at, turn.finish.error = self._clock(), why
        for one in turn.batch:
            if one.attempts + 1 >= MOST_ATTEMPTS:
                turn.finish.noted.append(one)
            else:
                turn.finish.again.append((one, at))


def _batch(wanted: Sequence[FetchRequest]) -> list[FetchRequest]:
    """What goes into one call: records of one type, those that failed before each on its own."""
    if not wanted or wanted[0].attempts:
        return list(wanted[:1])
    return [one for one in wanted if one.object_type == wanted[0].object_type and not one.attempts]


def _wait_after(failures: int) -> Micros:
    """Longer after each call that failed."""
    return min(LONGEST_WAIT, FIRST_WAIT << min(failures, 20))
