"""Normal forms: what is the same person and the same company, however it is written."""

from __future__ import annotations

from contextlib import suppress

import email_validator
import idna
import pytest
from email_validator.exceptions import EmailNotValidError
from hypothesis import example, given
from hypothesis import strategies as st

from touchbase.common import normalize
from touchbase.common.field_limits import InvalidText
from touchbase.common.normalize import (
    company_domain,
    email_key,
    email_text,
    find_company_domain,
    find_email_key,
    former_linkedin_key,
    linkedin_key,
    linkedin_search_key,
)

LOCAL = "aZ09_!#$%&'*+-/=?^`{|}~.\"@ é"
HOST = "aZ09-._é。x@"
INTERNATIONAL = "a1-éßΩςא٠ع中々ー\u0301\u200d\u00ad\uff41\uff0e⒈\ud800\ue000"
labels = st.sampled_from(["example", "xn--mnchen-3ya", "a--b", "ab--c", "1"])
addresses = st.builds(
    "{}@{}{}".format,
    st.text(LOCAL, max_size=8),
    st.lists(st.text(HOST, min_size=1, max_size=6) | labels, max_size=3).map(".".join),
    st.sampled_from(["", ".com", ".c", ".1", ".x1", ".test", ".local", ".invalid", ".é", ".xn--p1ai", ".-a", ".a-"]),
)  # fmt: skip


def by_the_library(email: str) -> str | None:
    try:
        checked = email_validator.validate_email(email, check_deliverability=False)
    except EmailNotValidError:
        return None
    return f"{checked.local_part.lower()}@{checked.ascii_domain}"


@given(addresses | st.emails() | st.text(max_size=20))
@example("a@b.co")
@example("a@b..co")
@example("a" * 60 + "@b.co")
@example("a@" + "b" * 62 + ".co")
@example("a@b.c--d.co")
@example("a@1.2.3.4")
@example("a@b.co\n")
def test_find_email_key__agrees_with_the_email_validator_library(email: str) -> None:
    assert find_email_key(email) == by_the_library(email_text(email))


@given(
    st.builds(
        "{}@{}{}".format,
        st.sampled_from(["jane", "é", '"q"', "", "a b", "x" * 65]),
        st.lists(st.text(INTERNATIONAL, min_size=1, max_size=4) | labels | st.just("XN--4dbc"), max_size=3).map(".".join),
        st.sampled_from(["", ".com", ".1", ".1b", ".é", ".א", ".", "。", "]"]),
    )
)
@example("jane@אב.1.com")
@example("jane@é.9bc")
@example("jane@é.com。")
@example("jane@" + ".".join(["éa" * 3] * 4))
@example("x" * 64 + "@" + ".".join(["é", *["a" * 50] * 4]))
def test_find_email_key__of_international_domains_agrees_with_the_email_validator_library(email: str) -> None:
    assert find_email_key(email) == by_the_library(email_text(email))


HANGUL = "".join(map(chr, range(0xAC00, 0xAC00 + 248)))


@given(st.text(min_size=1, max_size=40) | st.text("aé中\U00010400", min_size=1, max_size=60))
def test_least_punycode__is_no_longer_than_the_encoded_label(label: str) -> None:
    with suppress(UnicodeError):
        assert normalize._least_punycode(label) <= len(label.encode("punycode"))


@pytest.mark.parametrize(
    "domain",
    [
        f"{HANGUL[::5]}.com",
        f"{HANGUL[:240]}.com",
        ".".join(HANGUL[at : at + 40] for at in range(0, 240, 40)),
        ".".join(HANGUL[:120]),
        ".".join(["xn--mnchen-3ya"] * 16),
    ],
)
def test_normal_forms__encode_no_domain_that_is_too_long(domain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    monkeypatch.setattr(idna, "alabel", lambda label: encoded.append(label) or label.encode())

    with pytest.raises(InvalidText, match="too many letters outside ASCII"):
        email_key(f"jane@{domain}")
    with pytest.raises(InvalidText, match="too many letters outside ASCII"):
        company_domain(domain)

    assert encoded == []


def test_email_key__of_a_long_ascii_address_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(email_validator, "validate_email")
    address = "J" * 64 + "@" + ".".join(["A" * 62] * 3)

    assert email_key(address) == address.lower()


@given(addresses | st.emails())
def test_find_email_key__is_idempotent(email: str) -> None:
    key = find_email_key(email)

    assert key is None or find_email_key(key) == key


@pytest.mark.parametrize(
    ("email", "key"),
    [
        ("Jane.Doe@Example.COM", "jane.doe@example.com"),
        ("jane+x@münchen.example", "jane+x@xn--mnchen-3ya.example"),
        ("JANÉ@example.com", "jané@example.com"),
        ("jane@corp.local", "jane@corp.local"),
        ("jane@example.test", "jane@example.test"),
        ("jane@localhost.invalid", "jane@localhost.invalid"),
        ("o'brien/x=y@example.com", "o'brien/x=y@example.com"),
    ],
)
def test_email_key__is_lower_case_with_an_ascii_domain(email: str, key: str) -> None:
    assert email_key(email) == key


@pytest.mark.parametrize(
    "text",
    [
        "Jane Doe <jane@example.com>", "<jane@example.com>", "mailto:jane@example.com", "MAILTO:jane@example.com?subject=hi",
        "'jane@example.com'",
        '"jane@example.com"', '["jane@example.com"]', "jane@example.com.", "jane@example.com,", "\u200bjane@example.com\ufeff",
        "\u00a0jane@example.com ", "jane@example.com <jane@example.com>",
        "=?utf-8?q?J=C3=BCrgen?= <jane@example.com>", "Doe, Jane <jane@example.com>",
    ],
)  # fmt: skip
def test_email_key__is_equal_for_every_way_to_write_an_address(text: str) -> None:
    assert email_key(text) == "jane@example.com"
    assert email_text(text) == "jane@example.com"


@given(st.text(max_size=80) | st.text("<>@,;. \"'a", max_size=40))
def test_email_text__of_any_text_with_an_address_has_nothing_more_to_remove(text: str) -> None:
    if find_email_key(text) is not None:
        assert email_text(email_text(text)) == email_text(text)


@pytest.mark.parametrize(
    "email",
    [
        "",
        "jane",
        "jane@",
        "@example.com",
        "jane@example",
        "a b@example.com",
        "Jane <jane at example.com>",
        "a@b@c.co",
        "a@-b.co",
        "N/A",
        "a@b.co,c@d.co",
        "a@b.co; c@d.co",
        "A <a@b.co>, C <c@d.co>",
        "c@d.co <a@b.co>",
    ],
)
def test_email_key__refuses_an_invalid_address_with_a_reason(email: str) -> None:
    with pytest.raises(InvalidText, match=r"^is not an e-mail address: .+") as refused:
        email_key(email)

    assert refused.value.code == "email"


PROFILE = "linkedin.com/in/jane-doe"


@pytest.mark.parametrize(
    ("text", "former"),
    [
        ("https://www.linkedin.com/sales/lead/ACwAAA,NAME_SEARCH,x1?a=b", "linkedin.com/sales/lead/acwaaa,name_search,x1"),
        ("https://www.linkedin.com/mwlite/in/Jos%C3%A9/details", "linkedin.com/mwlite/in/josé/details"),
        ("https://www.linkedin.com/in/Jane-Doe\u200b/de", "linkedin.com/in/jane-doe\u200b"),
        ("https%3A%2F%2Fwww.LinkedIn.com%2Fin%2FJane-Doe", "https%3a%2f%2fwww.linkedin.com%2fin%2fjane-doe"),
        ("https://www.linkedin.com/in/Jane-Doe", None),
        ("https://www.linkedin.com/in/jos%C3%A9/", None),
        ("https://www.linkedin.com/company/acme", None),
        ("Jane on the Network", None),
    ],
)
def test_former_linkedin_key__is_what_a_profile_had_before_if_it_was_another(text: str, former: str | None) -> None:
    assert former_linkedin_key(text) == former


@pytest.mark.parametrize(
    "text",
    [
        "https://www.linkedin.com/in/jane-doe",
        "http://linkedin.com/in/Jane-Doe/",
        "HTTPS://WWW.LINKEDIN.COM/in/JANE-DOE/",
        "linkedin.com/in/jane-doe",
        "//www.linkedin.com/in/jane-doe",
        " https://uk.linkedin.com/in/jane-doe?trk=public_profile#top ",
        "https://de.linkedin.com/in/jane-doe/en",
        "https://www.linkedin.com/in/jane-doe/details/experience/",
        "https://m.linkedin.com/in/jane%2Ddoe",
        "https://www.linkedin.com:443//in//jane-doe//",
        "https://www.linkedin.com/in/jane-doe,",
        "https://www.linkedin.com/in/jane-doe/, ;",
        "linkedin.com/in/jane-doe%2C?trk=x",
        "https://https://www.linkedin.com/in/jane-doe",
        "http://https//www.linkedin.com/in/jane-doe",
        "https:/www.linkedin.com/in/jane-doe",
        "https://www.linkedin.com/mwlite/in/jane-doe",
        "https%3A%2F%2Fwww.linkedin.com%2Fin%2Fjane-doe",
        "\u200bhttps://www.linkedin.com/in/jane-doe\u200b",
        "<https://www.linkedin.com/in/jane-doe>",
    ],
)
def test_linkedin_key__is_equal_for_every_form_of_a_profile_address(text: str) -> None:
    assert linkedin_key(text) == PROFILE


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("https://www.linkedin.com/in/jos%C3%A9-%c3%91", "linkedin.com/in/josé-ñ"),
        ("https://www.linkedin.com/in/jose\u0301", "linkedin.com/in/josé"),
        ("https://www.linkedin.com/pub/jane-doe/1/2/3", "linkedin.com/pub/jane-doe/1/2/3"),
        ("https://www.linkedin.com/sales/lead/ACwAAA,NAME_SEARCH,x1", "linkedin.com/in/acwaaa"),
        ("https://www.linkedin.com/sales/people/ACwAAA,NAME_SEARCH", "linkedin.com/in/acwaaa"),
        ("https://www.linkedin.com/in/ACwAAA", "linkedin.com/in/acwaaa"),
        ("https://www.linkedin.com/talent/profile/AEMAAA?x=1", "linkedin.com/in/aemaaa"),
        ("https://www.linkedin.com/recruiter/profile/123,AbC,CAP", "linkedin.com/talent/123"),
        ("/in/jane-doe", None),
        ("https://www.linkedin.com/in/a%00b", "linkedin.com/in/a%00b"),
        ("https://www.linkedin.com/in/%ff", "linkedin.com/in/%ff"),
    ],
)
def test_linkedin_key__of_other_profile_addresses(text: str, key: str | None) -> None:
    assert linkedin_key(text) == key


@pytest.mark.parametrize(
    "text",
    [
        "n/a", "N/A ", "none", "-", "--", "...", "unknown", "LinkedIn", "linkedin.com", "https://www.linkedin.com/in/", " ",
        "https://www.linkedin.com/in/null", "linkedin.com/in/undefined", "private profile", "Jane on the Network",
        "@JaneDoe", "jane-doe", "https://www.linkedin.com/company/Example/about/", "https://www.linkedin.com/school/mit",
        "https://www.linkedin.com/feed/", "https://www.linkedin.com/search/results/people/?keywords=jane", "https://lnkd.in/xyz",
        "https://www.linkedin.com/pub/dir/Jane/Doe", "https://notlinkedin.com/in/jane-doe", "https://linkedin.com.example/in/jane-doe",
        "https://example.com/?u=linkedin.com/in/jane-doe", "https://www.linkedin.com/sales/company/123",
    ],
)  # fmt: skip
def test_linkedin_key__is_none_for_what_names_no_person(text: str) -> None:
    assert linkedin_key(text) is None
    assert linkedin_key(linkedin_search_key(text)) is None


@given(
    st.text(max_size=60) | st.builds("linkedin.com/in/{}".format, st.text(max_size=30)) | st.text(max_size=30).map(lambda text: text * 100)
)
def test_linkedin_key__of_any_text_can_be_indexed(text: str) -> None:
    key = linkedin_key(text)

    if key is not None and "\0" not in text and text.isprintable():
        assert "\0" not in key
        assert 0 < len(key.encode("utf-8", "surrogatepass")) <= 1_000


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("example.com", "example.com"),
        ("WWW.Example.Com", "example.com"),
        ("https://www.example.com:8443/about?a=b#c", "example.com"),
        ("example.com.", "example.com"),
        ("http://user:secret@example.com/", "example.com"),
        ("jane@example.com", "example.com"),
        ("//example.com", "example.com"),
        ("example.com\\about", "example.com"),
        ("münchen.example", "xn--mnchen-3ya.example"),
        ("XN--MNCHEN-3YA.example", "xn--mnchen-3ya.example"),
        ("例子。广告", "xn--fsqu00a.xn--4rr70v"),
        ("exam\u200bple.com", "example.com"),
        ("www.com", "www.com"),
        ("www.co.uk", "co.uk"),
        ("sub.example.co.uk", "sub.example.co.uk"),
        ("r3---sn-x.example.com", "r3---sn-x.example.com"),
        ("intranet.local", "intranet.local"),
    ],
)
def test_company_domain__is_extracted_from_addresses_and_pasted_text(text: str, domain: str) -> None:
    assert company_domain(text) == domain


@pytest.mark.parametrize(
    "text",
    ["", " ", "acme", "acme inc", "Acme, Inc.", "192.0.2.1", "http://[::1]/", "a..com", "-a.com", "a-.com", "a_b.com", "xn--zz--.com",
     "a." + "b" * 64, "a" * 250 + ".com", ("a" * 60 + ".") * 5 + "com", "https://", "/about", "javascript:alert(1)", "\0.com", "com"],
)  # fmt: skip
def test_company_domain__refuses_text_without_a_domain_with_a_reason(text: str) -> None:
    with pytest.raises(InvalidText) as refused:
        company_domain(text)

    assert refused.value.code == "domain"
    assert refused.value.detail


@given(st.text(max_size=40) | st.text(HOST, max_size=40))
def test_find_company_domain__is_idempotent(text: str) -> None:
    domain = find_company_domain(text)

    assert domain is None or company_domain(domain) == domain
    assert domain is None or (domain.isascii() and len(domain) <= 253)


def test_company_domain__equals_the_domain_of_an_email_key() -> None:
    assert normalize.email_key("jane@MÜNCHEN.example").partition("@")[2] == company_domain("https://www.münchen.example/")
