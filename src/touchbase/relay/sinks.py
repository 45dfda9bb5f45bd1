"""Sinks: standard output, a file, and which sink an address names."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import unquote, urlsplit

import msgspec

from touchbase.common.timestamps import Clock
from touchbase.enrichment.http_pool import url_origin
from touchbase.enrichment.retry_policy import retry_after_of
from touchbase.outgoing.http_client import ReceiverAnswer, WebhookClient
from touchbase.outgoing.signatures import signature_headers
from touchbase.relay.models import Event, RelayPosition, RelayStopped, Sink, SinkFailed, position_of
from touchbase.relay.nats_sink import NatsSink

BLOCK = 65_536
"""Bytes read at once when the end of the last line is searched."""
_encode = msgspec.json.Encoder().encode


def sink_of(to: str, output: BinaryIO, agent: str, clock: Clock, secret: str | None) -> Sink:
    """Return the sink at an address; raises `ValueError` with the valid forms."""
    if to == "-":
        return OutputSink(output)
    scheme = urlsplit(to).scheme
    makers: dict[str, Callable[[], Sink]] = {
        "file": lambda: FileSink(_path_of(to)),
        "https": lambda: HttpSink(to, agent, clock, secret),
        "http": lambda: HttpSink(to, agent, clock, secret),
        "nats": lambda: NatsSink(to),
        "tls": lambda: NatsSink(to),
    }
    if scheme not in makers:
        raise ValueError("must be https://..., nats://HOST:PORT/SUBJECT, file:PATH, or - for standard output, which other programs read")
    return makers[scheme]()


def _path_of(to: str) -> Path:
    parts = urlsplit(to)
    if parts.netloc or not parts.path or parts.query or parts.fragment:
        raise ValueError("must be file:PATH or file:///PATH")
    return Path(unquote(parts.path))


class OutputSink:
    """Standard output: an event a line, as JSON."""

    name = "standard output"
    has_position = False

    def __init__(self, output: BinaryIO) -> None:
        self._output = output

    async def position(self) -> None:
        """Return None: the reader's position is unknown."""

    async def send(self, events: Sequence[Event]) -> None:
        """Write lines; the reader of a pipe may not have read them."""
        self._output.write(b"".join(_encode(event) + b"\n" for event in events))
        self._output.flush()

    async def close(self) -> None:
        """Do nothing: the output stays open."""


class FileSink:
    """A file that grows: an event a line, as JSON, each once. Its last line is the position; a line cut by a kill is removed.

    A file that was moved away, by logrotate say, is made again; the position is then that of the checkpoint.
    """

    has_position = True

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        self._file = self._open()

    def _open(self) -> BinaryIO:
        file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise RelayStopped(f"another relay writes to {self._path}: stop it, or name another file") from None
        return file

    async def position(self) -> RelayPosition | None:
        """Return the position after the last whole line."""
        end = self._cut()
        if not end:
            return None
        start = self._line_end_before(end - 1)
        self._file.seek(start)
        try:
            return position_of(msgspec.json.decode(self._file.read(end - start)))
        except (msgspec.DecodeError, ValueError):
            raise RelayStopped(f"the last line of {self._path} is no event: name another file") from None

    def _cut(self) -> int:
        """Remove an incomplete last line; return the file's length."""
        end = self._line_end_before(self._file.seek(0, os.SEEK_END))
        self._file.truncate(end)
        return end

    def _line_end_before(self, end: int) -> int:
        """Return the place after the last line feed before `end`; 0 without one."""
        while end:
            start = max(0, end - BLOCK)
            self._file.seek(start)
            end_of_line = self._file.read(end - start).rfind(b"\n")
            if end_of_line >= 0:
                return start + end_of_line + 1
            end = start
        return 0

    async def send(self, events: Sequence[Event]) -> None:
        """Append lines and flush them to disk."""
        if not self._path.exists() or self._path.stat().st_ino != os.fstat(self._file.fileno()).st_ino:
            self._file.close()
            self._file = self._open()
        at = self._cut()
        lines = b"".join(_encode(event) + b"\n" for event in events)
        try:
            self._file.seek(at)
            while lines:
                lines = lines[self._file.write(lines) or 0 :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(at)
            raise SinkFailed(f"{self._path} cannot be written: {error.strerror}", 0) from None

    async def close(self) -> None:
        """Unlock the file for another process."""
        self._file.close()


class Posts(Protocol):
    """An HTTP client."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        """Return the outcome of a request; raises nothing."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class HttpSink:
    """A receiver of a POST for each event, one after the other, signed like outgoing webhooks if there is a secret; 2xx ends it."""

    has_position = False

    def __init__(self, url: str, agent: str, clock: Clock, secret: str | None = None, client: Posts | None = None) -> None:
        try:
            scheme, host, port = url_origin(url)
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
