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
def test_crm_value__is_read_by_its_name_or_label(value: object, read: str) -> None:
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
def test_crm_value__without_a_name_is_displayed_raw_and_gives_no_option(value: object, read: str) -> None:
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
def test_crm_value__without_content_is_empty(value: object) -> None:
    assert display_text(value) is None


def test_email_address__is_found_in_a_list_under_its_own_key() -> None:
    listed = [{"emailAddress": "b@example.com", "primary": False}, {"emailAddress": "Ada@Example.com", "primary": True}]

    assert email_address(listed) == "ada@example.com"


@pytest.mark.parametrize("flag", [{"is_default": True}, {"primary_address": "1"}, {"type": "primary"}, {"label": "Primary"}])
def test_email_address__prefers_the_one_marked_primary(flag: dict[str, object]) -> None:
    assert email_address([{"email": "b@example.com", "type": "work"}, {"email": "ada@example.com", **flag}]) == "ada@example.com"


def test_record_list__is_displayed_by_names_and_gives_no_option() -> None:
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
def test_email_address__takes_the_first_of_several_in_a_text(several: object) -> None:
    assert email_address(several) == "ada@example.com"


@pytest.mark.parametrize("none", ["a@b@c", "@, @", "ada@example.com b@example.com"])
def test_email_address__is_none_for_a_malformed_text(none: str) -> None:
    assert email_address(none) is None


@pytest.mark.parametrize(
    "page", ["n.a.", "N.A", "t.b.d", "https://linktr.ee/orbit", "sites.google.com/view/orbit", "https://bit.ly/3x", "St. Gallen"]
)
def test_host__is_none_for_placeholders_and_shared_sites(page: str) -> None:
    assert host(page) is None


@pytest.mark.parametrize("page", ["HTTPS://www.Orbit.example:8080/de?x=1", "orbit.example.", "//orbit.example", "www.orbit.example"])
def test_host__takes_the_domain_of_a_web_address(page: str) -> None:
    assert host(page) == "orbit.example"
