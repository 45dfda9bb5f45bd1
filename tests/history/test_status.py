"""How a history gives its status."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.common.timestamps import DAY
from touchbase.history.events import VIA_EMAIL, StoredEvent
from touchbase.history.status import BOUNCE, COMPLAINT, MOST_STATUSES, REPLY, RESUBSCRIBE, SENT, STATUS, UNSUBSCRIBE, path_of
from touchbase.history.status_words import NOT_CONTACTED_YET
from touchbase.records.models import Contact
from touchbase.records.projection import Folded, fold_event, refold_status

MONDAY = 1_790_000_000_000_000
WORDS = {SENT: "contacted", REPLY: "replied", BOUNCE: "bounced", UNSUBSCRIBE: "do_not_contact", COMPLAINT: "do_not_contact"}


def entry(effect: str, at: int, status: str | None = None, event: str = "any") -> StoredEvent:
    word = status or WORDS.get(effect)
    return StoredEvent(1, 1, at, f"k{at}", event, effect, word, "tool", "email_campaign", None, 1, at, VIA_EMAIL, {})


def contact(status: str | None = None, created: int = MONDAY) -> Contact:
    return Contact(1, 1, created, created, initial_status=status)


def folded(person: Contact, *entries: StoredEvent) -> tuple[str | None, str | None, int | None]:
    refold_status(person, entries)
    return person.status, person.previous_status, person.status_changed_us


def test_status_at_creation__is_no_change() -> None:
    assert folded(contact("New")) == ("New", None, None)


def test_status_change__stores_the_previous_status_and_its_time() -> None:
    assert folded(contact("New"), entry(STATUS, MONDAY + DAY, "Customer")) == ("Customer", "New", MONDAY + DAY)


def test_first_status__has_no_previous_status() -> None:
    assert folded(contact(), entry(SENT, MONDAY)) == ("contacted", None, MONDAY)


def test_repeated_status__counts_as_one_change() -> None:
    assert folded(contact(), entry(REPLY, MONDAY + 1), entry(REPLY, MONDAY + 2)) == ("replied", None, MONDAY + 1)


def test_late_event__takes_its_place_before_a_later_status() -> None:
    assert folded(contact("Customer"), entry(REPLY, MONDAY - DAY)) == ("Customer", "replied", MONDAY)


@pytest.mark.parametrize(
    ("before", "effect", "after"),
    [
        ("New", SENT, "contacted"),
        ("not contacted yet", SENT, "contacted"),
        ("Prospect", SENT, "Prospect"),
        ("Prospect", REPLY, "replied"),
        ("interested", REPLY, "interested"),
        ("Customer", REPLY, "Customer"),
        ("out_of_office", REPLY, "replied"),
        ("interested", BOUNCE, "bounced"),
        ("Customer", UNSUBSCRIBE, "do_not_contact"),
        ("Customer", COMPLAINT, "do_not_contact"),
        ("Customer", RESUBSCRIBE, "Customer"),
    ],
)
def test_campaign_event__replaces_only_a_less_advanced_status(before: str, effect: str, after: str) -> None:
    assert folded(contact(before), entry(effect, MONDAY + DAY))[0] == after


@pytest.mark.parametrize("effect", [SENT, REPLY, BOUNCE])
def test_unsubscription__outlasts_sends_replies_and_bounces_until_a_status_change(effect: str) -> None:
    person = contact()

    assert folded(person, entry(UNSUBSCRIBE, MONDAY), entry(effect, MONDAY + 1))[0] == "do_not_contact"
    assert folded(person, entry(UNSUBSCRIBE, MONDAY), entry(STATUS, MONDAY + 1, "Customer"))[0] == "Customer"


def test_resubscription__restores_the_status_before_an_unsubscription() -> None:
    entries = (entry(REPLY, MONDAY), entry(UNSUBSCRIBE, MONDAY + 1), entry(RESUBSCRIBE, MONDAY + 2))

    assert folded(contact(), *entries) == ("replied", "do_not_contact", MONDAY + 2)


def test_resubscription__does_not_lift_a_complaint() -> None:
    entries = (entry(UNSUBSCRIBE, MONDAY), entry(COMPLAINT, MONDAY + 1), entry(RESUBSCRIBE, MONDAY + 2))

    assert folded(contact(), *entries)[0] == "do_not_contact"


@pytest.mark.parametrize("word", sorted(NOT_CONTACTED_YET))
@pytest.mark.parametrize(
    ("event", "after"), [("contact.status_changed", "replied"), ("lead_status_changed", None), ("contact.updated", None)]
)
def test_reply__replaces_only_a_crms_word_for_nobody_has_worked_on_them(event: str, after: str | None, word: str) -> None:
    given_entry, reply = entry(STATUS, MONDAY, word.title(), event), entry(REPLY, MONDAY + 3)
    stopped = (entry(UNSUBSCRIBE, MONDAY + 1), entry(RESUBSCRIBE, MONDAY + 2))

    assert folded(contact(), given_entry, reply)[0] == (after or word.title())
    assert folded(contact(), given_entry, *stopped, reply)[0] == (after or word.title())


def test_reply__replaces_no_word_that_a_person_has_confirmed() -> None:
    reported, confirmed = (
        entry(STATUS, MONDAY + step, "New", f"contact.{what}") for step, what in enumerate(("status_changed", "updated"))
    )

    assert folded(contact(), reported, confirmed, entry(REPLY, MONDAY + 3))[0] == "New"


EFFECTS = st.sampled_from([*WORDS, RESUBSCRIBE, STATUS])
STATUS_EVENTS = st.sampled_from(["lead_status_changed", "contact.status_changed"])


@given(
    steps=st.lists(st.tuples(EFFECTS, st.integers(-3, 8), st.sampled_from(["interested", "New"]), STATUS_EVENTS), max_size=8),
    initial=st.sampled_from([None, "New", "Customer"]),
    data=st.data(),
)
def test_any_order_of_arrival__gives_the_status_of_time_order(
    steps: list[tuple[str, int, str, str]], initial: str | None, data: st.DataObject
) -> None:
    entries = [entry(effect, MONDAY + at, word if effect == STATUS else None, event) for effect, at, word, event in steps]
    entries = list({(first_entry.occurred_us, first_entry.key): first_entry for first_entry in entries}.values())
    full_contact, arriving, had = contact(initial), contact(initial), list[StoredEvent]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("touchbase.history.status.MOST_STATUSES", 3)
        refold_status(full_contact, entries)
        refold_status(arriving, [])
        for first in data.draw(st.permutations(entries)):
            had.append(first)
            step = Folded()
            fold_event(arriving, first, step)
            if step.late:
                refold_status(arriving, had)

    assert (arriving.status, arriving.previous_status, arriving.status_changed_us, arriving.status_cause, arriving.status_path) == (
        full_contact.status,
        full_contact.previous_status,
        full_contact.status_changed_us,
        full_contact.status_cause,
        full_contact.status_path,
    )


def test_status_path__has_the_newest_statuses() -> None:
    changes = [entry(STATUS, MONDAY + n, f"s{n}") for n in range(MOST_STATUSES + 20)]
    at_once, one_by_one = contact(), contact()

    refold_status(at_once, changes)
    for change in changes:
        fold_event(one_by_one, change, Folded())

    assert list(path_of(at_once.status_path).items()) == [(MONDAY + n, f"s{n}") for n in range(20, MOST_STATUSES + 20)]
    assert one_by_one.status_path == at_once.status_path
