"""Sink behind HTTP: a POST for each event, one after the other, signed as outgoing webhooks are if there is a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from touchbase.common.timestamps import Clock
from touchbase.enrichment.retry_policy import retry_after_of
from touchbase.outgoing.http_client import Answer, WebhookClient, webhook_origin
from touchbase.outgoing.signatures import signature_headers
from touchbase.relay.models import Event, SinkFailed, position_of

_encode = msgspec.json.Encoder().encode


class Posts(Protocol):
    """An HTTP client."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Return the outcome of a request; raises nothing."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class HttpSink:
    """A receiver; an event is passed on once it was answered with a 2xx."""

    has_position = False

    def __init__(self, url: str, agent: str, clock: Clock, secret: str | None = None, client: Posts | None = None) -> None:
        try:
            scheme, host, port = webhook_origin(url)
        except ValueError:
            raise ValueError("must be a URL without password or fragment, such as https://collector.example.com/touchbase") from None
        self.name = f"{scheme}://{urlsplit(url).netloc}"
        bracketed = f"[{host}]" if ":" in host else host
        self._client = client or WebhookClient(agent, [f"{scheme}://{bracketed}:{port}"])
        self._url, self._clock, self._secret = url, clock, secret

    async def position(self) -> None:
        """Return None: a receiver does not report its position."""

    async def send(self, events: Sequence[Event]) -> None:
        """Send each event once the one before it is taken."""
        for number, event in enumerate(events):
            answer = await self._client.post(self._url, *self._request(event))
            if answer.status is None or not 200 <= answer.status < 300:
                why = answer.error if answer.status is None else f"answered {answer.status} {answer.body[:200]}".strip()
                wait = retry_after_of(answer.headers, self._clock()) or 0.0
                raise SinkFailed(f"{self.name} did not take {event['data']['id']}: {why}", number, wait)

    def _request(self, event: Event) -> tuple[dict[str, str], bytes]:
        at, body, place = self._clock(), _encode(event), position_of(event)
        message_id = f"{place.cursor}_{place.client_id}"
        headers = signature_headers([self._secret] if self._secret else [], message_id, at, body)
        if not self._secret:
            del headers["webhook-signature"]
        return {"content-type": "application/json", **headers}, body

    async def close(self) -> None:
        """Close connections."""
        await self._client.close()
