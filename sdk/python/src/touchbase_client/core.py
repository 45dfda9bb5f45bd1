"""The one core of both clients: requests become bytes, and responses become answers or errors. No I/O."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from touchbase_client._version import VERSION
from touchbase_client.errors import ConnectionFailed, NotModified, TouchbaseError, UnexpectedAnswer, parse_problem, problem_of
from touchbase_client.request import KEY_HEADER, Request, Response
from touchbase_client.retries import Attempts, Broken, Received, Retries

T = TypeVar("T")

CLIENT_HEADER: Final = "X-Client-Id"
CONNECT_SECONDS: Final = 10.0
NOT_MODIFIED: Final = 304
EVENT_STREAM: Final = "text/event-stream"
STREAM_SECONDS: Final = 45.0
"""A stream of events that is alive has a byte every 15 seconds."""
_VISIBLE = re.compile(r"[!-~]+")
_HEADER_VALUE = re.compile(r"[\t -~\x80-\xff]*")
_CLIENT_ID = re.compile(r"[A-Za-z0-9._~-]{1,100}")


class Secret:
    """A text that no `repr`, log or exception shows."""

    __slots__ = ("_reveal",)

    def __init__(self, text: str) -> None:
        def reveal() -> str:
            return text

        self._reveal: Callable[[], str] = reveal

    def reveal(self) -> str:
        """Return the text."""
        return self._reveal()

    def __repr__(self) -> str:
        return "'***'"


@dataclass(frozen=True, slots=True)
class Wire:
    """A request as it is sent."""

    method: str
    url: str
    headers: list[tuple[str, str]] = field(repr=False)
    content: bytes | os.PathLike[str] | None = field(repr=False)
    read_seconds: float

    @property
    def timeouts(self) -> dict[str, dict[str, float]]:
        """The timeouts of the steps of the request, as httpcore reads them."""
        connect = min(CONNECT_SECONDS, self.read_seconds)
        return {"timeout": {"connect": connect, "read": self.read_seconds, "write": self.read_seconds, "pool": self.read_seconds}}


@dataclass(frozen=True, slots=True)
class Core:
    """Where a client sends requests, with which key, and how patiently."""

    url: str
    key: Secret | None
    client_id: str | None
    timeout: float
    retries: Retries

    @classmethod
    def of(cls, url: str, key: str | None, client_id: str | None, timeout: float, retries: Retries) -> Core:
        """Check the values and return the core; no error message quotes the key."""
        if timeout <= 0:
            raise ValueError("timeout must be more than 0 seconds")
        if key is not None and _VISIBLE.fullmatch(key.strip()) is None:
            raise ValueError("the key has characters that no key has: give it as Touchbase printed it, tb_...")
        return cls(_checked(url), None if key is None else Secret(key.strip()), _checked_client(client_id), timeout, retries)

    def for_client(self, client_id: str | None) -> Core:
        """Return the core that acts for another client."""
        return replace(self, client_id=_checked_client(client_id))

    def attempts(self, request: Request[Any]) -> Attempts:
        """Return the attempts of a call of this request. All have the same idempotency key, which is made here, once for the call."""
        key = (request.headers.get(KEY_HEADER) or os.urandom(16).hex()) if request.takes_key else None
        return Attempts(self.retries, request.repeatable, key)

    def wire(self, request: Request[Any], attempts: Attempts) -> Wire:
        """Return the request as it is sent."""
        headers = {"Accept": "*/*", "User-Agent": f"touchbase-python/{VERSION}"}
        headers |= {name: value for name, value in request.headers.items() if value is not None}
        if attempts.key is not None:
            headers[KEY_HEADER] = attempts.key
        if request.of_client and self.client_id is not None:
            headers[CLIENT_HEADER] = self.client_id
        content, media = request.content() or (None, None)
        if media is not None:
            headers["Content-Type"] = media
        for name, value in headers.items():
            if _HEADER_VALUE.fullmatch(value) is None:
                raise ValueError(f"the value for {name} has characters that no header has: give printable letters on one line")
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key.reveal()}"
        return Wire(request.method, self.url + request.target, list(headers.items()), content, self._read_seconds(request))

    def _read_seconds(self, request: Request[Any]) -> float:
        """Return the time without a byte after which a request counts as lost: a request that waits for events may be silent longer."""
        waits = request.query.get("wait")
        if isinstance(waits, int):
            return self.timeout + waits
        return max(self.timeout, STREAM_SECONDS) if request.headers.get("Accept") == EVENT_STREAM else self.timeout

    def answer(self, request: Request[T], ended: Received | Broken, attempts: Attempts) -> Response[T]:
        """Return what a call answers, or raise its error."""
        if isinstance(ended, Broken):
            raise self.connection_failed(request, ended, attempts)
        if not 200 <= ended.status < 300:
            raise self.error(request, ended, attempts)
        return Response(_decoded(request, ended), ended.status, ended.headers)

    def connection_failed(self, request: Request[Any], ended: Broken, attempts: Attempts) -> ConnectionFailed:
        """Return the error for a connection that failed for good."""
        times = "" if attempts.number < 2 else f" in {attempts.number} attempts"
        unknown = attempts.lost and request.method != "GET"
        more = ""
        if unknown:
            how = "call again with `idempotency_key=error.idempotency_key`" if attempts.key else "read the record before you repeat it"
            more = f" The request may have been carried out: {how}."
        message = f"no answer from {self.url}{times}: {ended.reason}.{more}"
        return ConnectionFailed(message, outcome_unknown=unknown, idempotency_key=attempts.key)

    def error(self, request: Request[Any], ended: Received, attempts: Attempts) -> TouchbaseError:
        """Return the error for a response that is no success."""
        if ended.status == NOT_MODIFIED:
            return NotModified("the record has not changed since the version that you have")
        body = parse_problem(ended.headers.get("content-type", ""), ended.body)
        if body is not None:
            # With an idempotency key the answer is that of the first attempt that arrived.
            return problem_of(ended.status, body, lost=attempts.lost and attempts.key is None and request.method != "GET")
        where = f"{request.method} {request.path} at {self.url}"
        if location := ended.headers.get("location"):
            to = location.partition("?")[0]
            return UnexpectedAnswer(f"{where} was redirected to {to}: give the address that it leads to as `url`", ended.status)
        hint = "a proxy in front of it has an error" if ended.status >= 500 else "check `url`"
        return UnexpectedAnswer(f"{where} got status {ended.status}, and not from Touchbase: {hint}", ended.status)


def received(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Received:
    """Return a complete response."""
    values = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
    problem = parse_problem(values.get("content-type", ""), body) if status >= 400 else None
    return Received(status, values, body, str((problem or {}).get("code", "")))


def _decoded(request: Request[Any], ended: Received) -> Any:
    if request.answer == "bytes":
        return ended.body
    if not ended.body:
        return None
    media = ended.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.answer == "text":
        return ended.body.decode()
    try:
        if media == "application/json":
            return json.loads(ended.body)
    except ValueError:
        pass
    raise UnexpectedAnswer(f"{request.method} {request.path} got no JSON but {media or 'nothing named'}: check `url`", ended.status)


def _checked(url: str) -> str:
    parts = urlsplit(url.strip())
    if parts.username is not None or parts.password is not None:
        raise ValueError("url must not have a user or password in it: give the key as `key`")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("url must be the address of a Touchbase, such as https://touchbase.example.com")
    _ = parts.port  # raises for an invalid one
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _checked_client(client_id: str | None) -> str | None:
    if client_id is not None and _CLIENT_ID.fullmatch(client_id) is None:
        raise ValueError("client_id must be the id of a client, such as acme: letters, digits and . _ ~ -")
    return client_id
