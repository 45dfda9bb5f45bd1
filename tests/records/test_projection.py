"""Dates, fields and what the timeline tells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchbase.history.events import VIA_API, VIA_EMAIL, VIA_LINK, Detail, StoredEvent
from touchbase.history.last_writer_wins import CARRIED, DELIBERATE, beats
from touchbase.history.status import (
    BOUNCE,
    COMPLAINT,
    CRM_STATUS,
    INITIAL,
    REPLY,
    RESUBSCRIBE,
    SENT,
    STATUS,
    UNSUBSCRIBE,
    StatusWalk,
    advance_status,
)
from touchbase.records.models import Contact
from touchbase.records.projection import Folded, fold_event, refold_entries, refold_status
from touchbase.records.timelines import TimelineChange, explain

NOON = 1_790_000_000_000_000


def event(at: int, effect: str = "", detail: Detail | None = None, via: int = VIA_EMAIL, status: str | None = None) -> StoredEvent:
    return StoredEvent(1, 1, at, f"k{at}", "any", effect, status, "tool", "crm", None, 1, at, via, detail or {})


def fold(contact: Contact, *events: StoredEvent) -> Contact:
    for first_event in events:
        fold_event(contact, first_event, Folded())
    refold_status(contact, events)
    return contact


def test_fold__sets_the_earliest_first_sent_and_the_latest_last_sent_time() -> None:
    contact = fold(Contact(1, 1, NOON, NOON), event(NOON + 5, SENT), event(NOON + 1, SENT), event(NOON + 3, SENT))

    assert (contact.first_sent_us, contact.last_sent_us, contact.last_reply_us) == (NOON + 1, NOON + 5, None)


def test_fold__leaves_the_last_reply_time_for_an_older_reply() -> None:
    contact = fold(Contact(1, 1, NOON, NOON), event(NOON + 5, REPLY), event(NOON + 1, REPLY))

    assert contact.last_reply_us == NOON + 5


EFFECTS = {SENT: "contacted", REPLY: "replied", BOUNCE: "bounced", UNSUBSCRIBE: "do_not_contact", COMPLAINT: "do_not_contact"}
entries = st.lists(
    st.one_of(
        st.sampled_from([*EFFECTS.items(), (RESUBSCRIBE, None)]),
        st.tuples(st.sampled_from([STATUS, CRM_STATUS]), st.sampled_from(["new", "interested", "lead"])),
    ),
    max_size=30,
)


@given(entries, st.sampled_from([None, "new", "interested"]), st.integers(0, 30))
def test_any_status_history__has_the_same_fold_without_its_repeats(
    entries_value: list[tuple[str, str | None]], initial: str | None, created: int
) -> None:
    folded, expected = (Contact(1, 1, NOON + created, NOON, initial_status=initial) for _ in range(2))
    named = [(NOON + at, f"k{at}", effect, status) for at, (effect, status) in enumerate(entries_value)]

    refold_entries(folded, named)

    walk = StatusWalk()
    for at, key, effect, status in sorted([*named, *([(expected.created_us, "", INITIAL, initial)] if initial else [])]):
        advance_status(expected, effect, status, at, key, walk)
    expected.status_path = walk.status_path
    assert folded == expected


def test_fold_event__changes_nothing_for_an_opened_email() -> None:
    folded = Folded()
    fold_event(Contact(1, 1, NOON, NOON), event(NOON), folded)

    assert folded == Folded()


def test_fold__fills_an_empty_name_from_a_campaign_tool_and_replaces_none() -> None:
    contact = Contact(1, 1, NOON, NOON, first_name="Ann")
    unnamed = Contact(1, 2, NOON, NOON)
    carried = event(NOON + 1, detail={"carried": {"first_name": "Bob"}})

    assert fold(contact, carried).first_name == "Ann"
    assert fold(unnamed, carried).first_name == "Bob"


def test_fold__lets_the_last_writer_win_among_crm_writes() -> None:
    newer = event(NOON + 9, detail={"fields": {"first_name": "Cy"}})
    older = event(NOON + 4, detail={"fields": {"first_name": "Bob"}})

    assert fold(Contact(1, 1, NOON, NOON, first_name="Ann"), newer, older).first_name == "Cy"


STAMPS = st.tuples(st.sampled_from([CARRIED, DELIBERATE]), st.integers(0, 5), st.sampled_from("abc"))


@given(st.lists(STAMPS, min_size=1, max_size=6, unique=True), st.data())
def test_beats__chooses_the_same_winner_in_any_order(stamps: list[tuple[int, int, str]], data: st.DataObject) -> None:
    def winner(order: list[tuple[int, int, str]]) -> tuple[int, int, str]:
        best = order[0]
        for item in order[1:]:
            best = item if beats(item, best) else best
        return best

    assert winner(data.draw(st.permutations(stamps))) == winner(stamps)


async def test_explain__lists_the_changes_of_each_event_newest_first() -> None:
    contact = Contact(1, 1, NOON, NOON, initial_status="New")
    sent = event(NOON + 1, SENT, status="contacted")
    patched = event(
        NOON + 2, STATUS, {"changed": [["contact_status", "Customer", "contacted"], ["plan", "pro", None]]}, VIA_API, "Customer"
    )
    renamed = event(NOON + 3, detail={"fields": {"last_name": "Lee"}}, via=VIA_LINK)

    reported = await explain(fold(contact, sent, patched, renamed), [renamed, sent, patched])

    assert reported == [
        (renamed, [TimelineChange("last_name", "Lee", None)]),
        (patched, [TimelineChange("contact_status", "Customer", "contacted"), TimelineChange("plan", "pro", None)]),
        (
            sent,
            [
                TimelineChange("contact_status", "contacted", "New"),
                TimelineChange("first_campaign_email_sent", "2026-09-21T14:13:20.000001Z", None),
                TimelineChange("last_campaign_email_sent", "2026-09-21T14:13:20.000001Z", None),
            ],
        ),
    ]
