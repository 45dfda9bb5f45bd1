"""`python -m touchbase.translator FD`: read deliveries in a process of its own, which can be stopped at any moment.

It answers one job after the other on a socket, until the other end closes. A signal ends the process when one delivery takes
more processor time than it may: the kernel sends it, so it also ends a regular expression that never returns. It opens no store,
and its environment has no secret.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.common.content_encoding import decoded
from touchbase.common.frames import READY, pack, receive, send, unpack
from touchbase.connections.models import Connection
from touchbase.errors import TouchbaseError, UnrecognisedPayload
from touchbase.events.inbox_batch import look, packed
from touchbase.events.work import ReadResult
from touchbase.events.worker import Read, translator
from touchbase.history.events import Translation
from touchbase.inbox.budget import MEMORY, seconds_for
from touchbase.inbox.delivery import Delivery

_OUT_OF_MEMORY = 3


def main() -> None:
    """Answer jobs until there are no more."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the server finishes its turn first, and then closes the socket
    _limit()
    read = load_adapters().translate
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        send(connection, READY)
        while (job := receive(connection)) is not None:
            try:
                send(connection, answer(read, job))
            except MemoryError:
                os._exit(_OUT_OF_MEMORY)


def answer(read: Read, job: bytes) -> bytes:
    """What came of one job: a request to read, or deliveries to look at."""
    what = unpack(job)
    if isinstance(what, WebhookRequest):
        return pack(_read(read, what))
    connections: Sequence[Connection]
    deliveries: Sequence[Delivery]
    connections, deliveries = what
    translate = translator(read, connections)
    return pack([_looked(each, translate) for each in deliveries])


def _read(read: Read, request: WebhookRequest) -> Translation | Exception:
    _begin(len(request.body))
    try:
        return read(request)
    except MemoryError:
        raise
    except TouchbaseError as error:
        return error
    except Exception as error:
        return RuntimeError(f"{type(error).__name__}: {error}")  # it may be of a kind that cannot be handed over


def _looked(delivery: Delivery, translate: Callable[[Delivery], Translation]) -> ReadResult:
    size = len(delivery.body)
    if encoding := delivery.headers.get("content-encoding"):
        _begin(size)
        with suppress(UnrecognisedPayload):
            size = len(decoded(encoding, delivery.body))
    _begin(size)
    return packed(look(delivery, translate))


def _begin(size: int) -> None:
    """Let the kernel end this process when reading a body of this size takes longer than it may."""
    signal.setitimer(signal.ITIMER_PROF, seconds_for(size))


def _limit() -> None:
    """Bound the memory, and let this process be the first that the kernel ends where memory is short."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(ValueError, OSError):  # the operator's own limit is lower, or this system has none
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, most))
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as place:
        place.write("1000")


if __name__ == "__main__":
    main()
