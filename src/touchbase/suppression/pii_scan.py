"""Find the e-mail and LinkedIn addresses in a stored webhook, in any tool's format.

An unrecognised webhook can name a person too. Text is searched as received and with its escapes decoded (percent, JSON,
HTML), so that `ann%40example.com` and `ann\\u0040example.com` are found, and inside base64, which gateways and queues use.
It prefers false positives: `to=ann@example.com` is reported with and without `to=`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from urllib.parse import unquote

from touchbase.common.content_encoding import decoded, from_base64
from touchbase.common.normalize import find_email_key
from touchbase.errors import UnrecognisedPayload
from touchbase.history import Ref
from touchbase.suppression.suppression_keys import EMAIL, linkedin_ref

ROUNDS = 3
"""Layers of escapes that are decoded: JSON in a form field in JSON."""
MAX_LOCAL_LENGTH = 64
MAX_MATCHES = 10_000
"""Candidates tried in one text, so that a body full of them does not delay other deliveries."""
# Starts from the @: to search for the beginning of an address would try every character of a long text.
_AT = re.compile(r"@([\w.\-]{1,255})")
_BETWEEN = re.compile(r"""[\s@<>"(),:;\[\]\\]""")
# Characters that an address may contain, but that may also precede one: form fields, paths, quotes.
_BEFORE = re.compile(r"[=&/'|{}!?#*`~^$%]")
_LINKEDIN = re.compile(r"""linkedin\.com/[^\s"'<>\\&,;()\[\]{}|]+""", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]{24,}")
"""Possible base64, of either alphabet; at least as long as an address with its quotes."""
_SIGNS = ("@", "%40", "u0040", "&#", "linkedin")
"""Decoded base64 without one of these contains no address; most of what looks like base64 is an id."""
_NUMBERED = re.compile(r"&#(?:([xX])0*([0-9a-fA-F]+)|0*([0-9]+))")
"""A numeric character reference of HTML. The standard library reads any number of digits; Python raises an error beyond 4,300."""
_MOST_DIGITS = 7
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([/\"\\])|[bfnrt])")


def find_identities(headers: Mapping[str, str], query: str, body: bytes) -> set[Ref]:
    """Return the identities in a webhook's headers, query and body, in normal form."""
    found: set[Ref] = set()
    for text in (_plain(headers, body), query, "\n".join(headers.values())):
        for form in _forms(text):
            for one in (form, *_from_base64(form)):
                found.update(_emails(one))
                found.update(_linkedins(one))
    return found


def contains_text(plain: bytes, text: str) -> bool:
    """Return whether a decompressed body contains a text in any case, as received or with escapes or base64 decoded."""
    wanted = text.casefold()
    body = plain.decode("utf-8", "replace").replace("\0", "")
    return any(wanted in one.casefold() for form in _forms(body) for one in chain((form,), _from_base64(form, ())))


def _from_base64(text: str, signs: Collection[str] = _SIGNS) -> Iterator[str]:
    """Yield the texts that a text contains as base64, with their escapes decoded; only those with one of `signs`, if there are any."""
    for match in islice(_BASE64.finditer(text), MAX_MATCHES):
        with suppress(ValueError):  # not base64, or not text: a picture, an id
            inner = from_base64(match[0]).decode()
            if not signs or any(sign in inner.lower() for sign in signs):
                yield from _forms(inner)


def _plain(headers: Mapping[str, str], body: bytes) -> str:
    with suppress(UnrecognisedPayload):  # then the body is searched as received
        body = decoded(headers.get("content-encoding", ""), body)
    text = body.decode("utf-8", "replace")
    return text.replace("\0", "")  # UTF-16 reads as Latin then


def _forms(text: str) -> Iterator[str]:
    """Yield the text as received, then with each further layer of escapes decoded."""
    for _ in range(ROUNDS):
        yield text
        if "+" in text and text.lstrip()[:1] not in ("{", "["):
            yield unquote(text.replace("+", " "))  # a form's spaces
        plainer = _without_html(_join_surrogates(_ESCAPE.sub(_unescaped, unquote(text))))
        if plainer == text:
            return
        text = plainer


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else match[2] or " "


def _without_html(text: str) -> str:
    if "&" not in text:
        return text
    return html.unescape(_NUMBERED.sub(_without_zeros, text) if "&#" in text else text)


def _without_zeros(match: re.Match[str]) -> str:
    """Return a character reference without leading zeros; the replacement character where its number is too long."""
    digits = match[2] or match[3]
    return f"&#{match[1] or ''}{digits}" if len(digits) <= _MOST_DIGITS else "\ufffd"


def _join_surrogates(text: str) -> str:
    """Join surrogate pairs, which JSON writes as two escapes; replace lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _emails(text: str) -> Iterator[Ref]:
    if "@" not in text:
        return
    for candidate in islice(_email_candidates(text), MAX_MATCHES):
        key = find_email_key(candidate)
        if key:
            yield ("", EMAIL, key)


def _email_candidates(text: str) -> Iterator[str]:
    """Yield possible addresses: each @ can have several possible beginnings before it."""
    for match in _AT.finditer(text):
        local = _BETWEEN.split(text[max(0, match.start() - MAX_LOCAL_LENGTH) : match.start()])[-1]
        for start in (0, *(sign.end() for sign in _BEFORE.finditer(local))):
            if local[start:]:
                yield f"{local[start:]}@{match[1].rstrip('.-_')}"


def _linkedins(text: str) -> Iterator[Ref]:
    if "linkedin" not in text.lower():
        return
    for match in islice(_LINKEDIN.finditer(text), MAX_MATCHES):
        ref = linkedin_ref(match[0].rstrip(".:!"))
        if ref is not None:
            yield ref
