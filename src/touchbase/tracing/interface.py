"""Interface of tracing for the other packages: `None` in its place costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from touchbase.common.timestamps import Micros

TracingScope = MutableMapping[str, Any]
"""The ASGI scope of a request."""


class AppliedDelivery(NamedTuple):
    """A delivery whose receipt was recorded, after an attempt to apply it."""

    trace: str
    """The span of the receipt, as it is stored."""
    client_id: str
    id: int
    channel: str
    tool: str | None
    state: str
    """After the attempt; `received` if it is repeated later."""
    attempt: int


class Receipt(Protocol):
    """The span of a webhook that is being stored."""

    @property
    def trace(self) -> str | None:
        """The text to store with the delivery; None if the span is not recorded."""
        ...

    def stored(self, delivery: int, *, is_repeat: bool) -> None:
        """Note the delivery."""


class Outgoing(Protocol):
    """The span of an outgoing request."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers that let the receiver continue the trace."""
        ...

    def answered(self, status: int | None, failure: str) -> None:
        """Note the response, or why there is none."""


class Tracing(Protocol):
    """Makes spans and sends them."""

    def with_start(self, app: Any) -> Any:
        """Wrap the web application: note when each request starts. Only these requests get spans."""

    def begin(self, scope: TracingScope, *, trusted: bool) -> None:
        """Begin the span of a request once; `trusted`: it continues the trace of its HTTP client, which has proved a key."""

    def end(self, scope: TracingScope, status: int, seconds: float) -> str:
        """End the span of a request, also if it was not begun; return the trace's id for the log, blank if there is no span."""

    def receipt(self, scope: TracingScope, channel: str, size: int) -> AbstractContextManager[Receipt]:
        """Record that a webhook is stored."""

    def applied(self, deliveries: Sequence[AppliedDelivery], began: Micros, ended: Micros) -> None:
        """Record an attempt to apply each of these deliveries, which one batch took."""

    def sending(self, url: str, about: Mapping[str, str | int], causes: Sequence[str]) -> AbstractContextManager[Outgoing]:
        """Record an outgoing request; `about`: attributes; `causes`: the stored spans of the receipts that led to it, the newest last."""

    async def close(self) -> None:
        """Send waiting spans, for a few seconds at most."""
