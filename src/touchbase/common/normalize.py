"""Identity: the normal forms by which a person and a company are recognised again.

What a machine must match is strict (an e-mail address, a domain); where people's data is dirty it is
tolerant (any text is taken as a LinkedIn address). A normal form given again stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import unquote

import email_validator
import idna
from email_validator.exceptions import EmailNotValidError

from touchbase.common.field_limits import Refused

# The library refuses names that lead nowhere in the public DNS (.test, .local, .invalid). Here an address
# is a name for a person, not a promise that mail arrives; emptying this list is the library's own setting.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()

# What nearly every address looks like, decided without the library. Two hyphens in a row (Punycode
# among them), short or numeric top-level names and long addresses are left to it.
_PLAIN_EMAIL = re.compile(
    r"[A-Za-z0-9_!#$%&'*+\-/=?^`{|}~]+(?:\.[A-Za-z0-9_!#$%&'*+\-/=?^`{|}~]+)*"
    r"@(?:[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\.)+[A-Za-z]{2,}"
)
_PLAIN_LENGTH = 64
_PLAIN_DOMAIN = re.compile(r"(?:[a-z0-9]+(?:-+[a-z0-9]+)*\.)+[a-z][a-z0-9]*(?:-+[a-z0-9]+)*")
_OF_SCHEME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-"
_PLAIN_LINKEDIN = re.compile(r"(?:https?://)?(?:[a-z]{2,3}\.)?linkedin\.com/in/([A-Za-z0-9_\-]{1,200})/?")
_AFTER_ADDRESS = " ,;"
_LINKEDIN_HOST = re.compile(r"(?:[a-z0-9\-]+\.)*linkedin\.com")
# A key stands in a unique index, and PostgreSQL takes no more than 2,704 bytes of it.
_KEY_BYTES = 1_000
# What people and exports write where there is no address. Two contacts with "n/a" are not one person.
_NO_ADDRESS = frozenset(
    {"n/a", "na", "n.a.", "none", "null", "nil", "no", "unknown", "undefined", "not found", "not available", "missing", "tbd", "linkedin"}
)


def email_key(email: str) -> str:
    """The normal form of an e-mail address: lower case, the domain in its ASCII form.

    Only the syntax is checked, nothing is looked up. Raises `Refused` when it is no address.
    """
    if len(email) <= _PLAIN_LENGTH and _PLAIN_EMAIL.fullmatch(email):
        return email.lower()
    return _email_key(email)


def _email_key(email: str) -> str:
    if len(email) > _KEY_BYTES:
        raise Refused("email", f"is not an e-mail address: it is longer than one can be ({len(email)} characters)")
    try:
        checked = email_validator.validate_email(email, check_deliverability=False)
    except EmailNotValidError as error:
        raise Refused("email", f"is not an e-mail address: {error}") from None
    local = unicodedata.normalize("NFC", checked.local_part.lower())
    return _bounded(f"{local}@{checked.ascii_domain.lower()}")


def linkedin_key(text: str) -> str | None:
    """The normal form of a LinkedIn address, or what stands in for it; None when nothing identifies anybody.

    A LinkedIn address loses its scheme, host prefix (`www.`, a country), query, fragment and trailing
    slash; the path is percent-decoded and lower-cased, and of a person's or company's page only the page
    itself remains: `linkedin.com/in/jane-doe`. Any other text stands for itself in lower case, so that the
    same text still finds the same contact; except placeholders such as "n/a" and LinkedIn's front page,
    which stand for nobody.
    """
    plain = _PLAIN_LINKEDIN.fullmatch(text)
    if plain is not None:
        return f"linkedin.com/in/{plain[1].lower()}"
    text = text.strip()
    bare = _without_scheme(text)
    host, path = _split_host(bare)
    if _LINKEDIN_HOST.fullmatch(host):
        path = _linkedin_path(path)
        return _bounded(f"linkedin.com/{path}") if path else None
    folded = unicodedata.normalize("NFC", text.casefold())
    if folded in _NO_ADDRESS or not any(char.isalnum() for char in folded):
        return None
    return _bounded(folded)


def linkedin_search_key(text: str) -> str:
    """What to look for when somebody asks for this address: text that stands for nobody finds nobody."""
    return linkedin_key(text) or "-"


def company_domain(text: str) -> str:
    """The domain of a company from a domain, a pasted address of a page, or an e-mail address.

    Lower case, in its ASCII form, without `www.`, port, path and trailing dot. Raises `Refused` when
    what remains is no domain name.
    """
    if _PLAIN_DOMAIN.fullmatch(text) and len(text) <= _PLAIN_LENGTH and "xn--" not in text:
        return _without_www(text)
    host = _split_host(_without_scheme(text.strip()))[0].rpartition("@")[2]
    return _without_www(_ascii_domain(host.rstrip(".")))


def find_email_key(email: str) -> str | None:
    """The normal form of an e-mail address, or None when it is none: for data that nobody can correct."""
    try:
        return email_key(email.strip())
    except Refused:
        return None


def find_company_domain(text: str) -> str | None:
    """The domain of a company, or None when the text holds none: for data that nobody can correct."""
    try:
        return company_domain(text)
    except Refused:
        return None


def _without_scheme(text: str) -> str:
    """The text without the first `https://` or `//` in it, in one pass: a pattern would begin at every letter."""
    before, slashes, rest = text.partition("//")
    if before.endswith(":"):
        word = before[len(before[:-1].rstrip(_OF_SCHEME)) : -1].lstrip("0123456789+.-")
        before = before[: len(before) - len(word) - 1] if word else before
    return before + rest if slashes else text


def _split_host(bare: str) -> tuple[str, str]:
    """Host in lower case without port, and path without query and fragment."""
    bare = re.split(r"[?#]", bare.replace("\\", "/"), maxsplit=1)[0]
    host, _, path = bare.partition("/")
    return re.sub(r":\d*$", "", host).lower(), path


def _linkedin_path(path: str) -> str:
    decoded = unquote(path)
    # A decoded NUL could not be stored, and a replacement character would make strangers equal.
    if "\0" not in decoded and "\ufffd" not in decoded:
        path = decoded
    parts = [part.strip() for part in unicodedata.normalize("NFC", path.lower()).split("/")]
    # A comma or the like at the end comes from the sentence or the table that the address was copied from.
    parts = [unicodedata.normalize("NFC", part) for each in parts if (part := each.rstrip(_AFTER_ADDRESS))]
    if parts and parts[0] in ("in", "company", "school", "showcase"):
        return "/".join(parts[:2]) if len(parts) > 1 else ""
    return "/".join(parts)


def _ascii_domain(host: str) -> str:
    if not host:
        raise Refused("domain", "must hold a domain name such as example.com")
    if len(host) > 253:
        raise Refused("domain", "is longer than a domain name can be (253 characters)")
    # Plain names go their own way: some that exist have hyphens where IDNA keeps them for itself.
    domain = host
    if not host.isascii() or "xn--" in host:
        try:
            domain = idna.encode(host, uts46=True, std3_rules=True).decode("ascii").lower().rstrip(".")
        except (idna.IDNAError, UnicodeError) as error:
            raise Refused("domain", f"is not a domain name: {error}") from None
    if not _is_hostname(domain):
        raise Refused("domain", f"is not a domain name: {domain!r} should look like example.com")
    return domain


def _is_hostname(host: str) -> bool:
    labels = host.split(".")
    if len(host) > 253 or any(len(label) > 63 for label in labels):
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
"""The normal form of each kind of address, or None when the text is none."""
