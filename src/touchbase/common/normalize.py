"""Normal forms of e-mail addresses, LinkedIn profiles and domains, which identify contacts and companies: one for every way in.

What people and programs write around an address is removed first; the rest is validated. Of LinkedIn's pages only a person's profile
identifies somebody. The normal form of a normal form is itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import unquote_to_bytes

import email_validator
import idna
from email_validator.exceptions import EmailNotValidError

from touchbase.common.field_limits import EMAIL, URL, InvalidText

# The library rejects names outside the public DNS (.test, .local, .invalid). Here an address identifies a person,
# whether mail arrives or not; clearing this list is the library's documented way to allow them.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()

# The form of nearly all addresses, accepted without the library. It decides about two hyphens in a row, and short
# or numeric top-level names.
_PLAIN_EMAIL = re.compile(
    r"[A-Za-z0-9_!#$%&'*+\-/=?^`{|}~]+(?:\.[A-Za-z0-9_!#$%&'*+\-/=?^`{|}~]+)*"
    r"@(?:[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\.)+[A-Za-z]{2,}"
)
_LONGEST_LABEL, _LONGEST_DOMAIN, _LONGEST_LOCAL = 63, 253, 64
LONGEST_PUNYCODE = 100
"""Characters of all labels of a domain that are encoded (`xn--...`), together: encoding takes about 10 microseconds a letter."""
_PLAIN_DOMAIN = re.compile(r"(?:[a-z0-9]+(?:-+[a-z0-9]+)*\.)+[a-z][a-z0-9]*(?:-+[a-z0-9]+)*")
_OF_SCHEME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-"
_PLAIN_LINKEDIN = re.compile(r"(?:https?://)?(?:[a-z]{2,3}\.)?linkedin\.com/in/([A-Za-z0-9_\-]{1,200})/?")
_AROUND = " \t\r\n\u00a0\"'`\u2018\u2019\u201c\u201d,;[]()<>{}"
"""Quotes, brackets and separators that lists, spreadsheets and JSON leave around an address."""
_INVISIBLE = dict.fromkeys([0x00AD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF])
"""Characters without a width, which come with text that was copied from a page."""
_ANY_DOMAIN = "example.com"
_TOO_LONG = f"it has too many letters outside ASCII: its encoded labels (`xn--...`) may have {LONGEST_PUNYCODE} characters together"
_AFTER_ADDRESS = " ,;"
_LINKEDIN_HOST = re.compile(r"(?:[a-z0-9\-]+\.)*linkedin\.com")
# Keys are in a unique index, where PostgreSQL allows at most 2,704 bytes.
_KEY_BYTES = 1_000
_NOTHING = frozenset(
    {
        "", "-", "--", "n/a", "na", "n.a.", "none", "null", "nil", "nan", "no", "unknown", "undefined", "not found", "not available",
        "missing", "tbd", "#n/a", "no email", "no email found", "email not found", "private profile", "linkedin member",
    }
)  # fmt: skip
"""Texts that exports write for an unknown value. Two contacts with "n/a" are not one person."""
_NO_PROFILE = _NOTHING | {"me", "edit", "unavailable", "linkedin", "false", "true", "0", "[object object]"}
"""Names below `/in/` that are no person's."""
_SCHEMES = re.compile(r"\A(?:https?(?::|(?=/))|/)+", re.IGNORECASE)
_BEFORE_PROFILE = frozenset({"mwlite", "m", "mobile", "comm"})
_LONGEST_LINKEDIN = 2_048


def is_nothing(text: str) -> bool:
    """Return whether a text stands for an unknown value, such as `N/A`."""
    return len(text) < 30 and text.strip().casefold() in _NOTHING


def email_text(text: str) -> str:
    """Return the address in a text, without the text around it, in its letters.

    `Ann Lee <ann@example.com>`, `mailto:ann@example.com?subject=x`, quotes, brackets, a dot or comma at the end, characters without a
    width. Other text is only trimmed, also several addresses: none of them may be dropped in silence.
    """
    if _PLAIN_EMAIL.fullmatch(text) or len(text) > _LONGEST_LINKEDIN:
        return text
    text = text.translate(_INVISIBLE)
    name, opening, inner = text.partition("<")
    inner, _, behind = inner.partition(">")
    if opening and "@" in inner and "@" not in behind and ("@" not in name or name.strip(_AROUND) == inner.strip(_AROUND)):
        text = inner
    address = text.strip(_AROUND).rstrip(".")
    if address[:7].lower() == "mailto:":
        address = address[7:].partition("?")[0]
    return address.strip(_AROUND)


def email_key(email: str) -> str:
    """Return the normal form of an e-mail address: lower case, the domain in its ASCII form.

    Only the syntax is checked, without DNS, after `email_text`. Raises `InvalidText` for other text.
    """
    if len(email) <= EMAIL and _PLAIN_EMAIL.fullmatch(email) and (len(email) <= _LONGEST_LABEL or _has_short_parts(email)):
        return email.lower()
    return _email_key(email_text(email))


def _has_short_parts(email: str) -> bool:
    local, _, domain = email.partition("@")
    return len(local) <= _LONGEST_LOCAL and len(domain) <= _LONGEST_DOMAIN and max(map(len, domain.split("."))) <= _LONGEST_LABEL


def _email_key(email: str) -> str:
    if len(email) > EMAIL:
        raise InvalidText("email", f"is not an e-mail address: it is too long ({len(email)} characters)")
    local, _, host = email.rpartition("@")
    encoded = _is_encoded(host)
    try:
        domain = _email_domain(host) if encoded else ""
        checked = email_validator.validate_email(f"{local}@{_ANY_DOMAIN}" if encoded else email, check_deliverability=False)
    except (EmailNotValidError, UnicodeError) as error:
        raise InvalidText("email", f"is not an e-mail address: {error}") from None
    local = unicodedata.normalize("NFC", checked.local_part.lower())
    key = f"{local}@{domain or checked.ascii_domain.lower()}"
    if encoded and max(len(email.encode()), len(f"{checked.local_part}@{domain}".encode())) > EMAIL:
        raise InvalidText(
            "email", f"is not an e-mail address: it is too long ({EMAIL} bytes are allowed, also after its domain is encoded)"
        )
    return _bounded(key)


def linkedin_key(text: str) -> str | None:
    """Return the normal form of a LinkedIn profile, `linkedin.com/in/jane-doe`; None for any text that names no person's profile.

    `/in/NAME` of any country or mobile page, percent-encoded or with a doubled scheme; the old `/pub/NAME/1/2/3`; Sales Navigator's and
    Recruiter's profile ids, which also stand as `/in/ID`. A company's page, a search, a feed, a short link, another site, `/in/null` and a
    placeholder name nobody.
    """
    plain = _PLAIN_LINKEDIN.fullmatch(text)
    if plain is not None:
        slug = plain[1].lower()
        return None if slug in _NO_PROFILE else f"linkedin.com/in/{slug}"
    if len(text) > _LONGEST_LINKEDIN:
        return None
    text = text.translate(_INVISIBLE).strip(_AROUND)
    if "%2f" in text[:_LONGEST_LINKEDIN].lower() and "://" not in text:
        text = _percent_decoded(text)
    host, path = _split_host(_SCHEMES.sub("", text, count=1))
    if not _LINKEDIN_HOST.fullmatch(host):
        return None
    parts = [part for part in (part.strip().rstrip(_AFTER_ADDRESS) for part in _decoded_path(path).split("/")) if part]
    if parts and parts[0] in _BEFORE_PROFILE:
        del parts[0]
    page, names = _profile(parts)
    return None if not names or names[0] in _NO_PROFILE else _bounded("/".join(("linkedin.com", page, *names)))


def _profile(parts: list[str]) -> tuple[str, list[str]]:
    """Return the kind of a profile's address and its name or id; no name for another page."""
    match parts:
        case ["in", name, *_]:
            return "in", [name]
        case ["pub", "dir", *_]:  # a list of people of one name
            return "", []
        case ["pub", name, *number]:
            return "pub", [name, *number[:3]]
        case ["sales", "lead" | "people" | "profile", name, *_]:
            return "in", [name.partition(",")[0]]
        case ["talent" | "recruiter", "profile", name, *_]:
            return "in" if name.startswith("a") else "talent", [name.partition(",")[0]]
    return "", []


def _decoded_path(path: str) -> str:
    decoded = _percent_decoded(path)
    # A decoded NUL could not be stored, and a replacement character would make different addresses equal.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path if "\0" in decoded or "\ufffd" in decoded else decoded).lower())


def _percent_decoded(text: str) -> str:
    return unquote_to_bytes(text.encode("utf-8", "replace")).decode("utf-8", "replace")  # many times faster than `unquote`


def former_linkedin_key(text: str) -> str | None:
    """Return the key that a profile's address had before only profiles were keys; None if it is the same now, or the text is no profile's.

    Hashes of that key cannot be converted: an erased person is recognised by the hash of either.
    """
    if _PLAIN_LINKEDIN.fullmatch(text) or (key := linkedin_key(text)) is None:
        return None
    host, path = _split_host(_without_scheme(text.strip()))
    if _LINKEDIN_HOST.fullmatch(host):
        parts = [part for part in (part.strip().rstrip(_AFTER_ADDRESS) for part in _decoded_path(path).split("/")) if part]
        former = "/".join(("linkedin.com", *(parts[:2] if parts[0] == "in" else parts)))
    else:
        former = unicodedata.normalize("NFC", text.strip().casefold())
    return None if former == key else _bounded(former)


def linkedin_search_key(text: str) -> str:
    """Return the key to search for; text that identifies no person matches no contact."""
    return linkedin_key(text) or "-"


def company_domain(text: str) -> str:
    """Return the domain of a company from a domain, the URL of a page, or an e-mail address.

    Lower case, in its ASCII form, without `www.`, port, path and trailing dot. Raises `InvalidText` if the
    rest is not a domain name.
    """
    if _PLAIN_DOMAIN.fullmatch(text) and len(text) <= _LONGEST_LABEL and "xn--" not in text:
        return _without_www(text)
    host = _split_host(_without_scheme(text[:URL].strip()))[0].rpartition("@")[2]
    return _without_www(_ascii_domain(host.rstrip(".")))


def find_email_key(email: str) -> str | None:
    """Return the normal form of an e-mail address, or None for other text: for webhooks, whose senders cannot correct it."""
    try:
        return email_key(email)
    except InvalidText:
        return None


def find_company_domain(text: str) -> str | None:
    """Return the domain of a company, or None if the text contains none: for webhooks, as `find_email_key`."""
    try:
        return company_domain(text)
    except InvalidText:
        return None


def _without_scheme(text: str) -> str:
    """Remove the first `https://` or `//`, in one pass: a regular expression would start at every letter."""
    before, slashes, host = text.partition("//")
    if before.endswith(":"):
        word = before[len(before[:-1].rstrip(_OF_SCHEME)) : -1].lstrip("0123456789+.-")
        before = before[: len(before) - len(word) - 1] if word else before
    return before + host if slashes else text


def _split_host(bare: str) -> tuple[str, str]:
    """Return the host in lower case without port, and the path without query and fragment."""
    bare = re.split(r"[?#]", bare.replace("\\", "/"), maxsplit=1)[0]
    host, _, path = bare.partition("/")
    return re.sub(r":\d*$", "", host).lower(), path


def _ascii_domain(host: str) -> str:
    if not host:
        raise InvalidText("domain", "must contain a domain name such as example.com")
    if len(host) > _LONGEST_DOMAIN:
        raise InvalidText("domain", "is longer than a domain name may be (253 characters)")
    # ASCII names skip IDNA: some existing ones have hyphens at positions that IDNA reserves.
    domain = host
    if _is_encoded(host):
        try:
            labels = _mapped_labels(host)
            domain = ".".join(_encoded(labels if labels[-1] else labels[:-1]))
        except UnicodeError as error:
            raise InvalidText("domain", f"is not a domain name: {error}") from None
    if not _is_hostname(domain):
        raise InvalidText("domain", f"is not a domain name: {domain!r} should look like example.com")
    return domain


def _is_encoded(host: str) -> bool:
    return not host.isascii() or "xn--" in host.lower()


def _mapped_labels(host: str) -> list[str]:
    """Return the labels in the form that is encoded: lower case, composed. Raises `IDNAError`."""
    return idna.uts46_remap(host, std3_rules=True).split(".")


def _encoded(labels: list[str]) -> list[str]:
    """Return labels in ASCII. Raises `IDNAError`, also for more letters outside ASCII than any domain in use has."""
    least = [len(label) if label.isascii() else len("xn--") + _least_punycode(label) for label in labels if _is_encoded(label)]
    if max(least, default=0) > _LONGEST_LABEL or sum(least) > LONGEST_PUNYCODE or sum(map(len, labels)) + len(labels) > _LONGEST_DOMAIN + 1:
        raise idna.IDNAError(_TOO_LONG)
    encoded = [idna.alabel(label).decode("ascii") for label in labels]
    if sum(len(label) for label in encoded if label.startswith("xn--")) > LONGEST_PUNYCODE or sum(map(len, encoded)) + len(encoded) > 254:
        raise idna.IDNAError(_TOO_LONG)
    return encoded


def _least_punycode(label: str) -> int:
    """Return a lower bound of a label's length in Punycode, in a fraction of the time: encoding is quadratic (RFC 3492, 6.3)."""
    letters = sorted(code for code in map(ord, label) if code >= 0x80)
    before, code = len(label) - len(letters), 0x80 - 1
    least = before + (before > 0)
    for following in letters:
        delta = max(0, following - code - 1) * (before + 1)
        least += 1 + (delta >= 36) + (delta >= 36 * 35) + (delta >= 36 * 35 * 35)
        before, code = before + 1, following
    return least


def _email_domain(host: str) -> str:
    """Return the domain of an address in ASCII, with the verdict of the email-validator library, which encodes it several times."""
    if any(unicodedata.category(char)[0] == "C" for char in host):
        raise idna.IDNAError("The part after the @-sign contains unsafe characters")
    labels = _mapped_labels(host)
    encoded = _encoded(labels)
    if len(encoded) == 1 or not encoded[-1][-1].isalpha():
        raise idna.IDNAError("The part after the @-sign is not a domain such as example.com")
    texts = [idna.ulabel(label) if label.startswith("xn--") else label for label in labels]
    if any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for text in texts for char in text):
        for text in texts:
            idna.check_bidi(text, check_ltr=True)
    return ".".join(encoded)


def _is_hostname(host: str) -> bool:
    labels = host.split(".")
    if len(host) > _LONGEST_DOMAIN or any(len(label) > _LONGEST_LABEL for label in labels):
        return False
    return _PLAIN_DOMAIN.fullmatch(host) is not None


def _without_www(domain: str) -> str:
    while domain.startswith("www.") and "." in domain[4:]:
        domain = domain[4:]
    return domain


def _bounded(key: str) -> str:
    raw = key.encode("utf-8", "surrogatepass")
    return key if len(raw) <= _KEY_BYTES else f"sha256:{sha256(raw).hexdigest()}"


ADDRESS_KEYS: dict[str, Callable[[str], str | None]] = {
    "email": find_email_key,
    "linkedin_url": linkedin_key,
    "domain": find_company_domain,
}
"""By field, the function that returns the normal form of an address, or None for other text."""
