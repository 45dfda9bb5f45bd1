"""Names of statuses over time: any renames between any entries, in any order of arrival, give one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from touchbase.history.events import CONTACT, VIA_EMAIL, StoredEvent
from touchbase.history.status import BOUNCE, COMPLAINT, INITIAL, REPLY, RESUBSCRIBE, SENT, STATUS, UNSUBSCRIBE
from touchbase.history.status_words import BOUNCED, CONTACTED, DO_NOT_CONTACT, REPLIED, StatusRename, StatusWords, words_after
from touchbase.records.models import Contact
from touchbase.records.projection import Folded, fold_event, refold_status
from touchbase.statuses.sql.renames import follow_renames, must_be_folded

SAID = {SENT: CONTACTED, REPLY: REPLIED, BOUNCE: BOUNCED, UNSUBSCRIBE: DO_NOT_CONTACT, COMPLAINT: DO_NOT_CONTACT, RESUBSCRIBE: None}
LABELS = ("new", "customer", "Hot", REPLIED, DO_NOT_CONTACT)
"""Few, so that renames meet entries."""
COLUMNS = ("status", "previous_status", "status_changed_us", "status_entry_us", "status_entry_key", "status_cause")

entries = st.tuples(st.sampled_from([*SAID, STATUS, STATUS]), st.sampled_from(LABELS), st.integers(0, 30))
renames = st.tuples(st.just("rename"), st.sampled_from(LABELS), st.sampled_from(LABELS))
jobs = st.just(("job", "", 0))
steps = st.lists(st.one_of(entries, entries, entries, renames, jobs), max_size=14)


def event(effect: str, word: str | None, at: int, number: int) -> StoredEvent:
    """An event that sets a status."""
    return StoredEvent(CONTACT, 1, at, f"k{number}", "e", effect, word, "camp", "email_campaign", None, 1, at, VIA_EMAIL, {})


def allowed(words: StatusWords, before: str, after: str) -> bool:
    """Whether the service would take a rename: neither is a former name, except to go back."""
    return before != after and not words.is_former(before) and words.of(after) in (after, before)


@dataclass
class Service:
    """One record that gets entries and renames as the service applies them: in one step where it may, and a job that comes later."""

    record: Contact
    history: list[StoredEvent] = field(default_factory=list)
    renames: tuple[StatusRename, ...] = ()

    def take(self, step: tuple[str, Any, Any], now: int) -> None:
        words = words_after(self.renames)
        kind, given_step, more = step
        if kind == "rename":
            if allowed(words, given_step, more):
                self.renames += (StatusRename(given_step, more, now, merged=now % 2 == 0),)
        elif kind == "job":
            self.work()
        else:
            entry = event(kind, given_step if kind == STATUS else SAID[kind], max(1, now - more), now)
            self.history.append(entry)
            folded = Folded()
            fold_event(self.record, entry, folded, words)
            if folded.late:
                refold_status(self.record, self.history, words)
            self.check()  # also before the job

    def check(self) -> None:
        expected = Contact(1, 1, 1, 1, initial_status=self.record.initial_status)
        refold_status(expected, self.history, words_after(self.renames))
        assert [getattr(self.record, name) for name in COLUMNS] == [getattr(expected, name) for name in COLUMNS]

    def work(self) -> None:
        words = words_after(self.renames)
        if words.is_outdated(self.record):
            if must_be_folded(self.record, words):
                refold_status(self.record, self.history, words)
            else:
                follow_renames(self.record, words)


@given(steps, st.one_of(st.none(), st.sampled_from(LABELS)))
@settings(max_examples=examples(400), deadline=None)
def test_any_order_of_events_renames_and_jobs__gives_what_the_whole_history_gives(drawn: list[Any], initial: str | None) -> None:
    contact = Contact(1, 1, 1, 1, email="a@example.com", initial_status=initial, status=initial)
    if initial is not None:
        contact.status_entry_us, contact.status_entry_key, contact.status_cause = 1, "", INITIAL
    service = Service(contact)
    for number, step in enumerate(drawn, 2):
        service.take(step, number * 10)
    service.work()
    service.check()


def test_words__follow_a_chain_and_a_way_back() -> None:
    words = words_after([StatusRename("a", "b", 1), StatusRename("b", "c", 2), StatusRename("c", "a", 3)])

    assert [words.of(word) for word in ("a", "b", "c", "d", None)] == ["a", "a", "a", "d", None]
    assert words.words_of("a") == ["a", "b", "c"]
    assert words.is_former("b")
    assert not words.is_former("a")


@pytest.mark.parametrize(
    ("renames", "name", "untouched", "further", "protects"),
    [
        ([("new", "Customer", False)], "Customer", True, False, False),
        ([("do_not_contact", "New", False)], "New", False, True, True),
        ([("do_not_contact", "New", False), ("New", "Old", False)], "Old", False, True, True),
        ([("do_not_contact", "Lead", True)], "Lead", False, True, True),
        ([("do_not_contact", "Lead", True), ("Lead", "Gone", False)], "Gone", False, True, True),
        ([("customer", "new", True)], "new", True, False, False),
        ([("replied", "Interested", False)], "Interested", False, False, False),
        ([], "Interested", False, True, False),
    ],
)
def test_rules__follow_the_meaning(renames: list[tuple[str, str, bool]], name: str, untouched: bool, further: bool, protects: bool) -> None:
    words = words_after([StatusRename(before, after, at, merged) for at, (before, after, merged) in enumerate(renames)])

    assert (words.is_untouched(name), words.is_further_along(name), words.protects(name)) == (untouched, further, protects)


def test_matching__knows_former_words_of_the_declared_set() -> None:
    words = words_after([StatusRename("Replied", "Interested", 1)])

    assert words.matching("replied", ["new", "Interested"]) == "Replied"
    assert words.matching("INTERESTED", ["new", "Interested"]) == "Interested"
    assert words.matching("replied", ["new"]) is None
