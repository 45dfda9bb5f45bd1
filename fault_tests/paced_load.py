"""A paced load that outlives kills of the server, and the time of each of its calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bench.load import Address

from fault_tests.calls import ApiClient, NoResponse, UnknownOutcome
from fault_tests.journal import Journal
from fault_tests.writers import CONTACTS, Step, create, create_once, erase, patch, prepare, webhook

PACE = 0.25
AGAIN = 0.02
"""Seconds after which a call that was refused is followed by the next: refusals then tell how long they last."""


class Span(NamedTuple):
    """A time, in seconds of `perf_counter`."""

    began: float
    ended: float
    what: str = ""


@dataclass
class TimedJournal(Journal):
    """A journal with the times at which calls were refused, or got no answer."""

    refusals: list[Span] = field(default_factory=list)
    silences: list[Span] = field(default_factory=list)
    """Calls without an answer, or with one that says that the outcome is unknown."""
    waits: list[Span] = field(default_factory=list)
    """From the beginning of a caller's first refused call to the end of its next one that was answered otherwise."""
    caller: threading.local = field(default_factory=threading.local)

    def note(self, status: int, seconds: float, what: str) -> bool:
        """Record a response, and for its caller whether it is a refusal."""
        self.caller.is_refused = status in (429, 503)
        return super().note(status, seconds, what)


def read(api: ApiClient, journal: Journal, name: str) -> None:
    """Read a contact that is being patched: it is there, and is not older than the last acknowledged patch."""
    who = int(name.partition("-")[0])
    known = journal.patched[who].acknowledged
    answer = api.call("GET", f"{CONTACTS}/{who}")
    if journal.note(answer.status, answer.seconds, "read") and int(answer.json["last_name"]) < known:
        journal.note_odd(f"read: contact {who} as it was before an acknowledged patch")


class PacedLoad:
    """One caller for each kind of call, until `end`."""

    def __init__(self, address: Address, journal: TimedJournal) -> None:
        self._address, self._journal = address, journal
        self._ended = threading.Event()
        steps: Sequence[Step] = (create, create_once, webhook, patch, erase, read)
        prefixes = {step.__name__: prefix for (step, _), prefix in prepare(ApiClient(address, journal.client), journal, 1).items()}
        prefixes["read"] = prefixes["patch"]
        self._threads = [threading.Thread(target=self._live, args=(step, prefixes.get(step.__name__, step.__name__))) for step in steps]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let each caller finish its call, then return."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _live(self, step: Step, prefix: str) -> None:
        api, journal, number, refused_since = ApiClient(self._address, self._journal.client), self._journal, 0, 0.0
        while not self._ended.is_set():
            number += 1
            began, journal.caller.is_refused = time.perf_counter(), False
            is_answered = self._is_answered(step, api, f"{prefix}-{number}")
            span = Span(began, time.perf_counter(), step.__name__)
            if not is_answered:
                journal.silences.append(span)
            elif journal.caller.is_refused:
                journal.refusals.append(span)
                refused_since = refused_since or began
                api.close()  # the server lets a connection wait after a refusal
            elif refused_since:
                journal.waits.append(Span(refused_since, span.ended))
                refused_since = 0.0
            self._ended.wait(AGAIN if journal.caller.is_refused else PACE)
        api.close()

    def _is_answered(self, step: Step, api: ApiClient, name: str) -> bool:
        try:
            step(api, self._journal, name)
        except UnknownOutcome:
            self._journal.note_unknown()
            return False
        except NoResponse as error:
            if not error.never_sent:
                self._journal.note_unanswered()
            return False
        except Exception as error:  # an acknowledgement that cannot be decoded is unexpected too
            self._journal.note_odd(f"{step.__name__}: {error!r}")
        return True
