"""Members of CRM records that say that a person wants no mail, and changes that take it back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.adapters.kit.crm import COMPANY, CONTACT, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape
from touchbase.adapters.kit.opt_outs import is_opt_out_member
from touchbase.history.events import Event

SHAPES = {kind: RecordShape(kind, email=("email",), domain=("domain",)) for kind in (CONTACT, COMPANY)}
NAMES = (
    "hs_email_optout", "HasOptedOutOfEmail", "is_unsubscribed", "Email_Opt_Out", "emailoptout", "DNC", "doNotContact", "donotemail",
    "Unsubscribed from all email", "opted_out", "emailBlacklisted",
)  # fmt: skip
OTHERS = (
    "DoNotCall",
    "HasOptedOutOfFax",
    "sms_opt_out",
    "phoneNumberIsOptedOut",
    "subscribed",
    "opt_in",
    "unsubscribe_url",
    "contact_list",
)


def item(record: dict[str, Any], changed: dict[str, Any] | None = None, kind: str = CONTACT, what: str = UPDATED) -> list[Event]:
    whole = {"email": "ann@example.com", "domain": "example.com", **record}
    return CrmItem(SHAPES[kind], what, kind, "7", "x", 1, record=whole, changed=changed).events()[1:]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [True, "true", 1, "1", "Yes", "X"])
def test_member__that_says_no_mail_is_an_opt_out_of_the_person(name: str, value: object) -> None:
    (event,) = item({name: value})

    assert (event.event, event.email, event.object_type, event.object_id) == ("email_unsubscribed", "ann@example.com", CONTACT, "7")
    assert [change.property for change in event.changed] == [name]


@given(st.sampled_from(NAMES + OTHERS), st.sampled_from([False, "false", 0, "0", "No", None, "", [], {}, "maybe"]))
def test_any_member__that_does_not_say_yes_is_no_opt_out(name: str, value: object) -> None:
    assert item({name: value}) == []


@pytest.mark.parametrize("name", OTHERS)
def test_member__about_calls_texts_or_lists_is_no_opt_out(name: str) -> None:
    assert not is_opt_out_member(name)
    assert item({name: True}) == []


def test_opt_out__may_be_a_time_or_a_list_of_channels() -> None:
    assert [event.event for event in item({"unsubscribed_at": "2026-11-20T09:30:00Z"})] == ["email_unsubscribed"]
    assert [event.event for event in item({"doNotContact": [{"reason": 1, "channel": "email"}]})] == ["email_unsubscribed"]
    assert [(event.event, event.kind) for event in item({"doNotContact": [{"reason": 2, "channel": "email"}]})] == [
        ("email_bounced", "hard")
    ]
    assert item({"doNotContact": [{"reason": 1, "channel": "sms"}]}) == []


def test_opt_out__is_of_a_present_person_alone() -> None:
    assert item({"is_unsubscribed": True}, kind=COMPANY) == []
    assert item({"is_unsubscribed": True}, what=DELETED) == []


def test_change_from_yes_to_no__is_an_opt_in() -> None:
    assert [event.event for event in item({}, {"is_unsubscribed": (False, True)})] == ["email_resubscribed"]
    assert [event.event for event in item({}, {"is_unsubscribed": ("false", NOT_SENT)})] == ["email_resubscribed"]


def test_no_opt_out__among_other_members_is_no_opt_in() -> None:
    assert item({"is_unsubscribed": False}) == []
    assert item({}, {"is_unsubscribed": (False, NOT_SENT), "name": ("Ann", NOT_SENT)}) == []
    assert item({}, {"is_unsubscribed": (False, False)}) == []


def test_opt_out_of_one_topic__is_a_change_of_preferences() -> None:
    (event,) = item({}, {"hs_email_optout_12345": ("true", NOT_SENT)})

    assert (event.event, event.changed[0].property) == ("email_preferences_changed", "hs_email_optout_12345")
