"""Tools that send webhooks all the time, also to the next server after a kill, and note when each was sent and acknowledged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from bench.load import Address

from fault_tests.calls import ApiClient, NoResponse, UnknownOutcome
from fault_tests.journal import Journal
from fault_tests.writers import webhook

SENDERS = 4
PAUSE, REFUSED_PAUSE = 0.03, 0.02


class Senders:
    """Threads that send webhooks about new people until `end`."""

    def __init__(self, address: Address, journal: Journal) -> None:
        self.times: dict[str, tuple[int, int]] = {}
        """When each acknowledged webhook was sent and acknowledged, in microseconds, by e-mail address."""
        self._journal = journal
        self._address: Address | None = address
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._live, args=(number,)) for number in range(SENDERS)]
        for thread in self._threads:
            thread.start()

    def pause(self) -> None:
        """Send nothing more until `go_on`; requests in progress go on."""
        self._address = None

    def go_on(self, address: Address) -> None:
        """Send to this server."""
        self._address = address

    def end(self) -> None:
        """Let each thread finish its request, then return."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def acknowledges(self, count: int, seconds: float) -> bool:
        """Wait until so many more webhooks are acknowledged; return False after this time."""
        return _grows(lambda: self._journal.acknowledged, count, seconds)

    def are_refused(self, count: int, seconds: float) -> bool:
        """Wait until so many more webhooks are refused; return False after this time."""
        return _grows(lambda: self._journal.refused, count, seconds)

    def _live(self, thread: int) -> None:
        api: ApiClient | None = None
        used: Address | None = None
        number = 0
        while not self._ended.is_set():
            if (address := self._address) is None:
                time.sleep(REFUSED_PAUSE)
                continue
            if api is not None and used != address:
                api.close()
            if api is None or used != address:
                api, used = ApiClient(address, self._journal.client), address
            number += 1
            time.sleep(PAUSE if self._send(api, f"{thread}-{number}@example.com") else REFUSED_PAUSE)
        if api is not None:
            api.close()

    def _send(self, api: ApiClient, email: str) -> bool:
        sent = time.time_ns() // 1000
        try:
            webhook(api, self._journal, email)
        except UnknownOutcome:
            self._journal.note_unknown()
        except NoResponse:
            self._journal.note_unanswered()
        if self._journal.webhooks[email]:
            self.times[email] = sent, time.time_ns() // 1000
        return self._journal.webhooks[email]


def _grows(value: Callable[[], int], count: int, seconds: float) -> bool:
    until, least = time.perf_counter() + seconds, value() + count
    while time.perf_counter() < until:
        if value() >= least:
            return True
        time.sleep(REFUSED_PAUSE)
    return False
