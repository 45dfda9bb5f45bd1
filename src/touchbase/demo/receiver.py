"""A receiver of outgoing webhooks that is not there: its answers come from this process, and nothing is sent."""

from __future__ import annotations

from random import Random

from touchbase.common.timestamps import Clock, Micros
from touchbase.demo.calls import HOUR
from touchbase.outgoing.http_client import Answer
from touchbase.outgoing.models import TIMEOUT


def refuses_from(now: Micros) -> Micros:
    """Return since when the receiver refuses."""
    return now - 30 * HOUR


class MadeUpReceiver:
    """Answers as a CRM's address would that works until a time, and then refuses."""

    def __init__(self, clock: Clock, refuses_from: Micros) -> None:
        self._clock = clock
        self._refuses_from = refuses_from
        self._chance = Random("receiver")  # noqa: S311

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        """Return what became of a request."""
        latency = self._chance.randint(28_000, 190_000)
        if self._clock() >= self._refuses_from:
            return Answer(latency, 503, {}, '{"error": "maintenance", "detail": "This integration is switched off."}')
        luck = self._chance.random()
        if luck < 0.02:
            return Answer(15_000_000, failure=TIMEOUT, error="no response within 15 seconds")
        if luck < 0.05:
            return Answer(latency, 429, {}, '{"error": "too many requests"}')
        return Answer(latency, 204)
