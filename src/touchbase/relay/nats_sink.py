"""Sink in NATS JetStream: a message for each event, under `SUBJECT.TYPE`, each acknowledged by the stream before the next.

`nats-py` is an extra (`touchbase[nats]`) and is loaded when the sink connects. The last message under `SUBJECT.>` is the position.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from touchbase.outgoing.content import cut_envelope
from touchbase.relay.models import Event, RelayPosition, RelayStopped, SinkFailed, position_of

NOT_INSTALLED = "nats:// needs nats-py, which is not installed here: pip install touchbase[nats]"
NO_TLS = "the server at the tls:// address offers no TLS: turn TLS on in its settings, or name it with nats:// to send everything in clear"
SUBJECT = "touchbase"
SECONDS = 10.0
"""For a connection, and for each acknowledgement."""
HEADER_BYTES = 1_024
"""Room of a message for its headers and subject, of the size that the server allows."""
_encode = msgspec.json.Encoder().encode
Connect = Callable[[str], Awaitable[Any]]


async def connect_nats(server: str) -> Any:
    """Open a connection that does not reconnect by itself: the relay repeats unacknowledged events, in order.

    Raises `RelayStopped` for a server without TLS at a `tls://` address, before anything is sent: nats-py 2.16 would go on in clear.
    """
    try:
        from nats.aio.client import Client
    except ImportError:
        raise RelayStopped(NOT_INSTALLED) from None

    async def silent(_: Exception) -> None:
        """The failed step says it."""

    class CheckedClient(Client):  # type: ignore[misc,unused-ignore]
        is_checked = False

        async def _process_info(self, info: Any, *args: Any, **kwargs: Any) -> None:
            if server.startswith("tls:") and not info.get("tls_required"):
                raise RelayStopped(NO_TLS)
            self.is_checked = True
            await super()._process_info(info, *args, **kwargs)

    client = CheckedClient()
    try:
        await client.connect(
            server, name="touchbase relay", allow_reconnect=False, max_reconnect_attempts=1, connect_timeout=5, error_cb=silent
        )  # fmt: skip
    except RelayStopped:
        await client.close()
        raise
    if not client.is_checked:  # another version of nats-py, which has no such method
        await client.close()
        raise RelayStopped("this version of nats-py does not let the relay check for TLS; install the one of touchbase[nats]")
    return client


class NatsSink:
    """Sink for a stream; each relay needs its own subject."""

    has_position = True

    def __init__(self, url: str, connect: Connect = connect_nats) -> None:
        parts = urlsplit(url)
        subject = unquote(parts.path).strip("/") or SUBJECT
        if not parts.hostname or parts.query or parts.fragment or not _is_subject(subject):
            raise ValueError("must be nats://HOST:PORT/SUBJECT, with a subject such as touchbase.acme, without wildcards")
        self._server = f"{parts.scheme}://{parts.netloc}"
        self.name = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/{subject}"
        self._subject = subject
        self._connect = connect
        self._connection: Any = None

    async def position(self) -> RelayPosition | None:
        """Return the position of the last message under the subject."""
        try:
            async with asyncio.timeout(SECONDS):
                stream = (await self._open()).jetstream()
                name = await self._or_none(stream.find_stream_name_by_subject(f"{self._subject}.>"))
                if name is None:
                    raise self._no_stream()
                last = await self._or_none(stream.get_last_msg(name, f"{self._subject}.>"))
        except Exception as error:
            raise await self._failed(error, 0) from None
        if last is None:
            return None
        try:
            return position_of(msgspec.json.decode(last.data))
        except (msgspec.DecodeError, ValueError):
            raise RelayStopped(f"the last message under {self._subject}.> is no event: name another subject, for the relay alone") from None

    async def send(self, events: Sequence[Event]) -> None:
        """Publish each event once the previous one is stored; the stream drops repeats within its window of duplicates."""
        sent = 0
        try:
            connection = await self._open()
            stream = connection.jetstream(timeout=SECONDS)
            for event in events:
                body, place = _encode(event), position_of(event)
                if len(body) > connection.max_payload - HEADER_BYTES:
                    body = _encode(cut_envelope(event))
                headers = {"Nats-Msg-Id": f"{place.cursor}_{place.client_id}", "Content-Type": "application/json"}
                await stream.publish(f"{self._subject}.{event['type']}", body, headers=headers)
                sent += 1
        except Exception as error:
            raise await self._failed(error, sent) from None

    async def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                await connection.close()

    async def _open(self) -> Any:
        if self._connection is None:
            async with asyncio.timeout(SECONDS):
                self._connection = await self._connect(self._server)
        return self._connection

    async def _or_none(self, request: Awaitable[Any]) -> Any:
        """Return the value of a request; None for a 404."""
        try:
            return await request
        except Exception as error:
            if type(error).__name__ == "NotFoundError":
                return None
            raise

    async def _failed(self, error: Exception, sent: int) -> Exception:
        """Close the connection and return the failure to raise."""
        await self.close()
        if isinstance(error, RelayStopped):
            return error
        if type(error).__name__ == "NoStreamResponseError":
            return self._no_stream()
        return SinkFailed(f"{self.name} did not take an event: {type(error).__name__} {error}".strip()[:300], sent)

    def _no_stream(self) -> RelayStopped:
        return RelayStopped(f"no stream stores {self._subject}.>: make one, such as `nats stream add --subjects '{self._subject}.>'`")


def _is_subject(text: str) -> bool:
    return all(part and part.isascii() and part.isprintable() and not {*part} & {*" *>"} for part in text.split("."))
