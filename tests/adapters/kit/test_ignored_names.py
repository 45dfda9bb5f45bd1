"""Names that raise no alarm: known words that say nothing of a person, and never one of an event that does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.adapters.conftest import Recorded

from touchbase.adapters.kit.declarative import TableAdapter
from touchbase.adapters.kit.event_types import meaning_of
from touchbase.adapters.kit.ignored_names import _RULES, reason_to_ignore
from touchbase.adapters.registry import Adapters
from touchbase.history.events import EMAIL_CAMPAIGN, NOT_ABOUT_A_RECORD

CARRYING = frozenset(
    {
        "reply", "replies", "replied", "response", "responded", "answer", "answered", "inbound", "incoming", "message", "mail", "email",
        "sent", "unsubscribe", "unsubscribed", "unsub", "subscribed", "opt", "optout", "consent", "gdpr", "erase", "redact", "bounce",
        "bounced", "bounces", "hard", "soft", "undeliverable", "invalid", "rejected", "blocked", "suppressed", "spam", "complaint",
        "complained", "abuse", "blacklisted", "dnc", "suppression", "status", "stage", "interested", "meeting", "booked", "call", "demo",
        "lost", "won", "qualified", "disqualified", "wrong", "merged", "open", "opened", "click", "clicked", "delivered", "list",
        "audience", "newsletter", "mailing", "preferences",
    }
)  # fmt: skip
"""Words of events that carry a reply, an opt-out, a bounce, a status, or what became of a mail."""
LISTED = sorted({word for rule in _RULES for word in rule.keys | rule.verbs | rule.fillers})


@pytest.mark.parametrize(
    "name",
    [
        "ping", "webhook.test", "testing.testEvent", "WEBHOOK_VERIFIED", "subscriber.added_to_group", "subscriber.removed_from_group",
        "subscriber.added_to_segment", "contact_tag_added", "tagging", "checkpoint", "opportunity_status", "orders/create",
        "checkouts/update", "attempted", "message_read", "suspension", "linked_in_messenger.nothing_scheduled",
    ],
)  # fmt: skip
def test_name__that_says_nothing_of_a_person_is_no_event_of_one(name: str) -> None:
    assert meaning_of(name).event == "other"


@given(
    some.lists(some.sampled_from(LISTED), max_size=6), some.sampled_from(sorted(CARRYING)), some.integers(0, 6), some.sampled_from("._ -/")
)
def test_any_name_with_a_word_of_a_persons_event__is_not_ignored(listed: list[str], carrying: str, place: int, between: str) -> None:
    assert reason_to_ignore(between.join([*listed[:place], carrying, *listed[place:]])) is None


def test_names_of_the_tools__that_are_about_a_person_are_not_ignored(adapters: Adapters) -> None:
    tables = [adapter for adapter in adapters._by_name[EMAIL_CAMPAIGN].values() if isinstance(adapter, TableAdapter)]
    names = {name for table in tables for name, meaning in table.meanings.items() if meaning.event not in NOT_ABOUT_A_RECORD}

    assert len(names) > 150
    assert {name for name in names if reason_to_ignore(name)} == set()


def test_fixtures__with_an_event_of_a_person_have_no_name_that_is_ignored(adapters: Adapters, all_fixtures: tuple[Recorded, ...]) -> None:
    for recorded in all_fixtures:
        events = adapters.translate(recorded.request, recorded.tool).events
        names = [event.source_event for event in events if event.about is not None and event.source_event]
        assert [name for name in names if reason_to_ignore(name)] == [], recorded.id
