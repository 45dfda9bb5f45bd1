"""Translator process, `python -m touchbase.translator FD`: reads deliveries and can be stopped at any time.

It handles jobs from a socket until the other end closes. A signal of the kernel ends the process when a delivery exceeds its
processor time, even inside a regular expression. The process opens no store, and its environment has no secrets.
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
from touchbase.connections import Connection
from touchbase.errors import TouchbaseError, UnrecognisedPayload
from touchbase.events import Read, ReadResult, pack_result, read_delivery, translator
from touchbase.history import Translation
from touchbase.inbox import MEMORY, Delivery, seconds_for

_OUT_OF_MEMORY = 3


def main() -> None:
    """Handle jobs until the socket closes."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the server finishes its batch, then closes the socket
    _limit()
    read = load_adapters().translate
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        send(connection, READY)
        while (job := receive(connection)) is not None:
            try:
                send(connection, handle_job(read, job))
            except MemoryError:
                os._exit(_OUT_OF_MEMORY)


def handle_job(read: Read, job: bytes) -> bytes:
    """Return the result of one job: a webhook to translate, or deliveries to read."""
    what = unpack(job)
    if isinstance(what, WebhookRequest):
        return pack(_translate(read, what))
    connections: Sequence[Connection]
    deliveries: Sequence[Delivery]
    connections, deliveries = what
    translate = translator(read, connections)
    return pack([_read_delivery(each, translate) for each in deliveries])


def _translate(read: Read, request: WebhookRequest) -> Translation | Exception:
    _begin(len(request.body))
    try:
        return read(request)
    except MemoryError:
        raise
    except TouchbaseError as error:
        return error
    except Exception as error:
        return RuntimeError(f"{type(error).__name__}: {error}")  # the original may not be picklable


def _read_delivery(delivery: Delivery, translate: Callable[[Delivery], Translation]) -> ReadResult:
    size = len(delivery.body)
    if encoding := delivery.headers.get("content-encoding"):
        _begin(size)
        with suppress(UnrecognisedPayload):
            size = len(decoded(encoding, delivery.body))
    _begin(size)
    return pack_result(read_delivery(delivery, translate))


def _begin(size: int) -> None:
    """Start the processor time limit for a body of this size; the kernel ends the process when it expires."""
    signal.setitimer(signal.ITIMER_PROF, seconds_for(size))


def _limit() -> None:
    """Limit the memory, and make this process the first choice of the kernel's OOM killer."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(ValueError, OSError):  # the operator's own limit is lower, or this system has none
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, most))
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as place:
        place.write("1000")


if __name__ == "__main__":
    main()
