"""Load: what one burst of it showed, and which generator makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.bodies import Shape


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address as a URL."""
        return f"http://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Burst:
    """One burst of load as the callers saw it."""

    requests: int
    """Answered with 2xx, or counted in `errors`."""
    seconds: float
    errors: int
    p50_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float
    wanted_rate: float | None = None
    """Of an open loop: the fixed rate at which requests were due."""
    late_p99_ms: float | None = None
    """Of an open loop: how late the generator itself was ready to send; it is part of every latency here."""

    @property
    def rate(self) -> float:
        """Good answers a second."""
        return (self.requests - self.errors) / self.seconds


Closed = Callable[[Address, Shape, int, float], Burst]
"""Address, shape, connections, seconds."""
AtRate = Callable[[Address, Shape, int, float, float], Burst]
"""The same, and requests a second."""


@dataclass(frozen=True, slots=True)
class Generator:
    """What makes the load."""

    name: str
    closed: Closed
    at_rate: AtRate
