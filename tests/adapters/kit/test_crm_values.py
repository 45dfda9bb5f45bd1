"""Values of CRMs in the many forms in which they come: what people read of them, and the address among several."""

from __future__ import annotations

import pytest

from touchbase.adapters.kit.crm_values import display_text, email_address, host, option_text

WORK = {"label": "work", "value": "12", "primary": True}
ADDRESS = {"label": "business", "address_1": "Ring 1", "city": "Bonn", "state": "", "country": "DE"}


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"name": "Orbit", "people_count": 1, "value": 4}, "Orbit"),
        ({"id": 9, "name": "Una", "email": "una@example.net"}, "Una"),
        ({"id": 1, "label": "Hot"}, "Hot"),
        ({"label": "Hot", "value": "3"}, "Hot"),
        ({"value": 12.5, "currency": "EUR"}, "12.5"),
        ({"primaryEmail": "ada@example.com", "additionalEmails": None}, "ada@example.com"),
        ({"number": "12", "category": "work"}, "12"),
        (["North", "South"], "North, South"),
        ([WORK, {"label": "home", "value": "13", "primary": False}], "12, 13"),
        ([{"email": "ada@example.com", "type": "office"}], "ada@example.com"),
    ],
)
def test_a_value_is_read_by_its_names(value: object, read: str) -> None:
    assert (display_text(value), option_text(value)) == (read, read)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ([1, 2], "[1, 2]"),
        ({"city": "Bonn", "zip": None}, '{"city": "Bonn", "zip": null}'),
        (ADDRESS, '{"label": "business", "address_1": "Ring 1", "city": "Bonn", "state": "", "country": "DE"}'),
        ([[1, "x"]], '[[1, "x"]]'),
        ({"id": 5, "name": None}, "5"),
    ],
)
def test_a_value_without_names_is_shown_as_it_came_and_is_no_choice(value: object, read: str) -> None:
    assert (display_text(value), option_text(value)) == (read, None)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        [],
        {},
        [{"label": "work", "value": "", "primary": True}],
        {"primaryLinkUrl": "", "primaryLinkLabel": "", "secondaryLinks": None},
        [{"email": "", "type": "office"}],
    ],
)
def test_a_value_that_holds_nothing_is_empty(value: object) -> None:
    assert display_text(value) is None


def test_the_address_is_found_under_its_own_name_in_a_list() -> None:
    listed = [{"emailAddress": "b@example.com", "primary": False}, {"emailAddress": "Ada@Example.com", "primary": True}]

    assert email_address(listed) == "ada@example.com"


@pytest.mark.parametrize("flag", [{"is_default": True}, {"primary_address": "1"}, {"type": "primary"}, {"label": "Primary"}])
def test_the_address_that_is_said_to_be_the_first_is_taken(flag: dict[str, object]) -> None:
    assert email_address([{"email": "b@example.com", "type": "work"}, {"email": "ada@example.com", **flag}]) == "ada@example.com"


def test_records_in_a_list_are_shown_by_their_names_and_are_no_choices() -> None:
    contacts = [{"id": "c1", "name": "Ada", "emails": [], "phones": [], "title": ""}]

    assert (display_text(contacts), option_text(contacts)) == ("Ada", None)


@pytest.mark.parametrize(
    "several",
    [
        "ada@example.com, b@example.com",
        "Ada@Example.com;b@example.com",
        "Ada Lace <ada@example.com>, B <b@example.com>",
        "mailto:ada@example.com\nb@example.com",
        [{"email": "ada@example.com,b@example.com"}],
    ],
)
def test_the_first_of_several_addresses_in_a_text_is_taken(several: object) -> None:
    assert email_address(several) == "ada@example.com"


@pytest.mark.parametrize("none", ["a@b@c", "@, @", "ada@example.com b@example.com"])
def test_a_text_that_is_no_list_of_addresses_holds_none(none: str) -> None:
    assert email_address(none) is None


@pytest.mark.parametrize(
    "page", ["n.a.", "N.A", "t.b.d", "https://linktr.ee/orbit", "sites.google.com/view/orbit", "https://bit.ly/3x", "St. Gallen"]
)
def test_what_stands_in_the_place_of_a_page_is_no_domain(page: str) -> None:
    assert host(page) is None


@pytest.mark.parametrize("page", ["HTTPS://www.Orbit.example:8080/de?x=1", "orbit.example.", "//orbit.example", "www.orbit.example"])
def test_the_domain_is_what_is_left_of_a_page(page: str) -> None:
    assert host(page) == "orbit.example"
