"""Values as people and tools have put them in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.adapters.kit.extract import address, dig, first, items, linkedin, personal_address, split_name, text
from touchbase.adapters.kit.status_labels import bounce_kind, status_of

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("nora@example.com", "nora@example.com"),
        (" Nora+Tag@Example.COM ", "nora+tag@example.com"),
        ('"Quill, Nora" <nora@example.com>', "nora@example.com"),
        ("<nora@example.com>", "nora@example.com"),
        ("'nora@example.com'", "nora@example.com"),
        ("mailto:nora@example.com", "nora@example.com"),
        ("no-reply@example.com", "no-reply@example.com"),
        ("nörä@exämple.com", "nörä@exämple.com"),
    ],
)
def test_address__normalises_an_email_address(value: str, read: str) -> None:
    assert address(value) == read


@pytest.mark.parametrize(
    "value", [None, "", "nora", "@", "a@", "@b", "a@b@c", "a b@c.co", "a@b.co, c@d.co", 7, {"email": "a@b.co"}, "x" * 400 + "@b.co"]
)
def test_address__is_none_for_an_invalid_value(value: object) -> None:
    assert address(value) is None


@pytest.mark.parametrize("value", ["mailer-daemon@example.com", "Postmaster@example.com", "no-reply@example.com", "noreply+7@example.com"])
def test_personal_address__is_none_for_machine_addresses(value: str) -> None:
    assert personal_address(value) is None


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("https://www.linkedin.com/in/nora,", "https://www.linkedin.com/in/nora"),
        (" linkedin.com/in/nora ", "linkedin.com/in/nora"),
        ("https://www.linkedin.com/sales/lead/ACwAA,NAME_SEARCH", "https://www.linkedin.com/sales/lead/ACwAA,NAME_SEARCH"),
        ("https://www.linkedin.com/company/acme", None),
        ("https://www.linkedin.com/in/", None),
        ("https://www.linkedin.com/", None),
        ("yes", None),
        ("", None),
        ("https://example.com/in/nora", None),
        (["linkedin.com/in/nora"], None),
    ],
)
def test_linkedin__strips_import_residue_from_an_address(value: object, read: str | None) -> None:
    assert linkedin(value) == read


@pytest.mark.parametrize(
    ("value", "read"),
    [("  a ", "a"), (7, "7"), (7.0, "7"), (7.5, "7.5"), (" ", None), (True, None), (None, None), ([], None), ({}, None), (10**300, None),
     (float("nan"), None), ("a\0b", "ab"), ("a\ud800b", "ab"), ("x" * 20_000, "x" * 10_000)],
)  # fmt: skip
def test_text__reads_a_value_as_text(value: object, read: str | None) -> None:
    assert text(value) == read


@given(ANYTHING)
def test_extract_functions__accept_any_value_and_give_storable_text(value: object) -> None:
    for read in (text, address, personal_address, linkedin, status_of):
        found = read(value)
        assert found is None or (found.encode() and "\0" not in found)
    assert bounce_kind(value) in ("hard", "soft", "unknown")
    assert isinstance(items(value), list)


def test_dig__follows_a_path_until_it_breaks() -> None:
    data = {"a": [{"b": 1}]}

    assert dig(data, "a", 0, "b") == 1
    assert dig(data, "a", 1, "b") is None
    assert dig(data, "a", "b") is None


def test_first__takes_the_first_value_present() -> None:
    assert first({"a": None, "b": "", "c": 0}, "a", "b", "c") == 0
    assert first([], "a") is None


def test_items__reads_an_object_with_numeric_keys_as_a_list() -> None:
    assert items({"2": "c", "10": "d", "1": "b"}) == ["b", "c", "d"]
    assert items([1]) == [1]
    assert items({"a": 1}) == items("x") == items({}) == items({"9" * 5_000: 1}) == []


@pytest.mark.parametrize(
    ("label", "status"),
    [
        ("Interested", "interested"), ("not-interested", "not_interested"), ("NOT_INTERESTED", "not_interested"), ("Neutral", "neutral"),
        ("Maybe Later", "maybe_later"), ("meetingBooked", "meeting_booked"), ("Meeting completed", "meeting_completed"), ("No-show",
        "no_show"),
        ("Out Of Office", "out_of_office"), ("wrong person", "wrong_person"), ("Closed", "closed"), ("DNC", "do_not_contact"),
        ("Information Request", "custom:Information Request"), (" 商談中(B) ", "custom:商談中(B)"), (" ", None), (None, None), ({}, None),
        ("Hard no", "not_interested"), ("Contact later", "maybe_later"), ("AUTOREPLY", "out_of_office"),
        ("Lead Opted Out", "do_not_contact"),
        ("Unsubscribe", "do_not_contact"), ("Meeting Request", "custom:Meeting Request"),
        (3, None), ("3", None), ("-1", None), (True, None), ("null", None), ("None", None), ("undefined", None),
        ({"id": 3, "name": "Not Interested"}, "not_interested"), ({"old_name": "Interested", "new_name": None}, None), ({"id": 3}, None),
        ({"value": "hot", "label": "Hot lead"}, "custom:Hot lead"), ({"name": {"name": "Interested"}}, None),
        (["Fair", "Interested"], "interested"), (["Fair", "Spring"], "custom:Fair"), ([{"displayName": "Warm"}], "custom:Warm"),
        ([], None), ([[["Interested"]]], None), ([3, None, "Interested"], "interested"),
    ],
)  # fmt: skip
def test_status_of__maps_known_labels_and_marks_others_custom(label: object, status: str | None) -> None:
    assert status_of(label) == status


@pytest.mark.parametrize(
    ("reasons", "kind"),
    [
        (["HardBounce"], "hard"), (["soft"], "soft"), (["Transient"], "soft"), (["Permanent"], "hard"), ([None, "550 5.1.1 gone"], "hard"),
        (["421 busy"], "soft"), (["4.2.2"], "soft"), (["software said 550"], "hard"), ([""], "unknown"),
        (["gone fishing"], "unknown"), ([], "unknown"),
        (["soft", "550"], "soft"), ([552], "hard"), (["id 15503 of 4501"], "unknown"),
        (["BOUNCE_HARD"], "hard"), (["bounce_soft"], "soft"), (["spam_block"], "soft"), (["MailboxFull"], "soft"),
        (["550 5.2.2 The mailbox is full"], "soft"), (["552 Quota exceeded"], "soft"), (["Inbox full"], "soft"),
        (["552 5.2.2 over the quota"], "soft"), (["the software is old"], "unknown"),
        (["The address couldn't be found"], "hard"), (["The address couldn\u2019t be found"], "hard"), (["Address not found"], "hard"),
        (["Host or domain name not found"], "hard"), (["unknown recipient"], "hard"), (["This account doesn\u2019t exist"], "hard"),
        (["page not found"], "unknown"), (["user found"], "unknown"), (["non-existent mailbox"], "hard"),
        (["550 5.7.1 not accepted for policy reasons"], "soft"), (["550-5.7.26 unauthenticated"], "soft"),
        (["550 5.7.1 user unknown"], "hard"),
        (["550 5.1.1 ... > Our blockchain platform"], "hard"), (["554 Client host blocked"], "soft"),
        (["550 rejected as spam"], "soft"), (["554 High probability of spam"], "soft"),
        (["552 5.3.4 message size exceeds the limit"], "soft"),
        (["552 message exceeds fixed maximum message size"], "soft"), (["550 not taken for policy reasons"], "soft"),
        (["553 5.1.8 Sender address rejected: domain not found"], "soft"), (["450 too many messages"], "soft"),
        (["Unrouteable address"], "hard"), (["550 5.4.1 Recipient address rejected: Access denied"], "hard"),
        (["550 5.1.10 RESOLVER.ADR.RecipientNotFound"], "hard"), (["550 5.1.1 ... > you may find us in spam"], "hard"),
        (["listed on a blocklist"], "soft"),
    ],
)  # fmt: skip
def test_bounce_kind__is_read_from_the_reasons(reasons: list[object], kind: str) -> None:
    assert bounce_kind(*reasons) == kind


@pytest.mark.parametrize(
    ("full", "parts"),
    [
        ("Nora Quill", ("Nora", "Quill")),
        ("Nora", ("Nora", None)),
        ("Nora van der Quill", ("Nora", "van der Quill")),
        (None, (None, None)),
        ("a@b.co", (None, None)),
    ],
)
def test_split_name__splits_at_the_first_space(full: str | None, parts: tuple[str | None, str | None]) -> None:
    assert split_name(full) == parts
