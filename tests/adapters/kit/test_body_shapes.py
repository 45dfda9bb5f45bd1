"""Bodies of different shapes are normalized to one: events as members' names, answers, fields with a value."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchbase.adapters.kit.body_shapes import answers, plain_value, split_named_members, with_plain_fields

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a.created", "value", "fields", "label", "x"]), inner),
    max_leaves=20,
)
BODY = st.dictionaries(st.sampled_from(["a.created", "lead.updated", "event", "value", "fields", "answers", "label", "x"]), JSON)


@given(BODY)
def test_normalization__of_any_body_keeps_each_plain_member(body: dict[str, object]) -> None:
    for item in split_named_members(body):
        plain = {name: value for name, value in item.items() if not isinstance(value, dict | list)}
        assert plain.items() <= with_plain_fields(item).items()


def test_split_named_members__gives_an_item_for_each_object_below_each_event() -> None:
    body = {"mautic.lead_post_save_update": [{"id": 1}, {"id": 2}], "mautic.email_on_open": {"id": 3}, "source": "m"}

    assert split_named_members(body) == [
        {"source": "m", "id": 1, "event": "mautic.lead_post_save_update"},
        {"source": "m", "id": 2, "event": "mautic.lead_post_save_update"},
        {"source": "m", "id": 3, "event": "mautic.email_on_open"},
    ]


def test_split_named_members__leaves_other_bodies_as_they_are() -> None:
    for body in ({"event": "x", "lead.created": {"id": 1}}, {"reply_message": {"text": "Hi"}}, {"lead.created": "2026-11-20"}, {}):
        assert split_named_members(body) == [body]


def test_with_plain_fields__reads_fields_in_groups() -> None:
    email = {"id": "1", "label": "Email", "type": "text", "value": "ann@example.com"}

    record = with_plain_fields({"id": 5, "fields": {"core": {"email": email}, "social": []}, "phone": {"label": "Phone", "value": "1"}})

    assert (record["email"], record["phone"], record["id"]) == ("ann@example.com", "1", 5)


def test_plain_value__is_the_objects_own_value() -> None:
    assert plain_value({"id": 1, "value": "New", "color": "blue"}) == "New"
    assert plain_value({"value": "x", "owner": {"id": 1}}) == {"value": "x", "owner": {"id": 1}}


def test_answers__are_named_by_their_labels() -> None:
    listed: list[object] = [
        {"label": "Your full name", "value": "Ann Lee"},
        {"question": "Referrer's email", "type": "email", "answer": "ref@example.org"},
        {"title": "Where do we reach you?", "type": "INPUT_EMAIL", "value": "ann@example.com"},
        {"label": "Company", "value": "Acme"},
    ]

    named = answers(listed)

    assert (named["full_name"], named["email"], named["company"]) == ("Ann Lee", "ann@example.com", "Acme")
    assert named["Referrer's email"] == "ref@example.org"
