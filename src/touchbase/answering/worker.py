"""Answer worker: sends due answers, each at most once.

The store notes *sending* before the request, and its result after it. A process that dies in between leaves an answer whose lease ends,
and the next round makes it unknown. So each request has a connection of its own: a kept one may have to be repeated.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from functools import partial

from touchbase.answering.requests import (
    base_of,
    looked_up,
    missing_of,
    outcome_of,
    outcome_of_silence,
    request_to_answer,
    request_to_look_up,
)
from touchbase.clients.sql.clients import find_client_by_number
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.connections.models import Connection, connection_of
from touchbase.connections.sql.connections import list_connections
from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed
from touchbase.conversations.answers import (
    FAILED,
    AnswerOutcome,
    ClaimedAnswer,
    claim_answer,
    due_answers,
    reference_of,
    settle_answer,
    why_not,
)
from touchbase.enrichment.http_client import HttpClient
from touchbase.errors import Overloaded
from touchbase.history.events import EMAIL_CAMPAIGN
from touchbase.records.writes import new_write_key
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store
from touchbase.sql.worker import GRACE_SECONDS, Worker

LOG = logging.getLogger("touchbase.answers")
LEASE: Micros = 120 * SECOND
"""How long a request may take, with its look-up and the storing of its result."""
MOST = 100
"""Due answers that a round reads."""
CONCURRENCY = 8
STORE_WAITS = (0.5, 2.0, 5.0, 10.0, 20.0)
"""Seconds after which the result of a request is stored again while the store cannot write."""


class AnswerWorker(Worker):
    """Sends due answers until it is stopped: of each client and tool one at a time, at most one a round."""

    log, label, failure = LOG, "sending answers", "looking for answers to send failed and will be retried"
    poll_seconds, slows_down = 1.0, True

    def __init__(self, store: Store, clock: Clock, agent: str, allowed: Collection[str] = (), outage: Outage | None = None) -> None:
        super().__init__(outage)
        self._store = store
        self._clock = clock
        self._agent = agent
        self._allowed = allowed
        self._running: dict[tuple[int, str], asyncio.Task[None]] = {}
        self._ending = asyncio.Event()
        """Set when the requests in progress have had their time after a stop."""

    async def run(self) -> None:
        """Send until stopped; then wait for the requests in progress, `GRACE_SECONDS` for their responses."""
        try:
            await super().run()
        finally:
            if self._running:
                await asyncio.wait([*self._running.values()], timeout=GRACE_SECONDS)
            self._ending.set()
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def drain(self) -> int:
        """Send all due answers, one after another; return their number."""
        count = 0
        for client, number, _ in await self._store.read(due_answers(self._clock(), MOST)):
            await self._send(client, number)
            count += 1
        return count

    async def _round(self) -> float:
        for client, number, tool in await self._store.read(due_answers(self._clock(), MOST)):
            self._idle_rounds = 0
            if (client, tool) not in self._running and len(self._running) < CONCURRENCY:
                task = asyncio.create_task(self._try(client, number), name=f"answer through {tool}")
                self._running[client, tool] = task
                task.add_done_callback(partial(self._ended, (client, tool)))
        return self.poll_seconds

    def _ended(self, key: tuple[int, str], task: asyncio.Task[None]) -> None:
        self._running.pop(key, None)

    async def _try(self, client: int, number: int) -> None:
        with self._attempt(self.label, "an answer could not be sent; if its request began, it becomes unknown"):
            await self._send(client, number)

    async def _send(self, client: int, number: int) -> None:
        now = self._clock()
        claimed = await self._store.write(claim_answer(client, number, now, now + LEASE))
        if claimed is None:
            return
        outcome = await self._request(claimed)
        if outcome.reason:
            LOG.warning("an answer through %s is %s", claimed.answer.tool, outcome.state)
        owner = await self._store.read(find_client_by_number(client))
        with_text = owner is None or owner.settings.store_message_bodies
        await self._settle(claimed, outcome, with_text=with_text)

    async def _settle(self, claimed: ClaimedAnswer, outcome: AnswerOutcome, *, with_text: bool) -> None:
        """Store a result, also if the store cannot write for a moment: nothing else knows it."""
        client, key = claimed.answer.client, new_write_key()
        for seconds in (*STORE_WAITS, None):
            try:
                await self._store.write(settle_answer(client, claimed, outcome, self._clock(), key, with_text=with_text))
            except Overloaded:
                if seconds is None:
                    raise
                await asyncio.sleep(seconds)
            else:
                return

    async def _request(self, claimed: ClaimedAnswer) -> AnswerOutcome:
        answer, message = claimed.answer, claimed.message
        connections = await self._store.read(list_connections(answer.client))
        connection = connection_of(connections, EMAIL_CAMPAIGN, answer.tool)
        if (why := why_not(message, connections)) is not None or connection is None:
            return AnswerOutcome(FAILED, " ".join(why or ()))
        http = HttpClient(self._agent, self._allowed)
        try:
            reference = await self._complete(http, connection, claimed)
            if isinstance(reference, AnswerOutcome):
                return reference
            try:
                request = request_to_answer(connection, message, reference, answer.text)
                response = await self._response(http, connection, request)
            except FetchFailed as error:
                return outcome_of_silence(answer.tool, str(error), unsent=error.unsent)
            return outcome_of(answer, response, self._clock())
        finally:
            await http.close()

    async def _complete(self, http: HttpClient, connection: Connection, claimed: ClaimedAnswer) -> Mapping[str, str] | AnswerOutcome:
        """Return all ids that the answer's request needs, perhaps after a look-up; or why it is not sent."""
        message = claimed.message
        reference, wanted = reference_of(message), request_to_look_up(connection, message)
        if wanted is not None:
            try:
                response = await self._response(http, connection, wanted)
            except FetchFailed as error:
                return outcome_of_silence(message.tool, str(error), unsent=True)
            if not 200 <= response.status < 300:
                outcome = outcome_of(claimed.answer, response, self._clock())
                # Nothing was sent yet, so nothing is unknown.
                return outcome if outcome.due_us is not None else AnswerOutcome(FAILED, outcome.reason)
            reference = {**looked_up(response), **reference}
        why = missing_of(message, reference)
        return reference if why is None else AnswerOutcome(FAILED, why)

    async def _response(self, http: HttpClient, connection: Connection, request: ApiRequest) -> ApiResponse:
        """Send a request. Raises `FetchFailed`, also if the process stops first."""
        response, ending = asyncio.ensure_future(http.send(base_of(connection), request)), asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait((response, ending), return_when=asyncio.FIRST_COMPLETED)
            if not response.done():
                raise FetchFailed("the server was stopped before the response was complete")
            return response.result()
        finally:
            response.cancel()
            ending.cancel()
