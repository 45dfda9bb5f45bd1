"""Mentions: the e-mail and LinkedIn addresses that stand anywhere in a kept call, whoever sent it and however it is written.

A call that nobody understands can name a person too. Text is looked through as it came and with its escapes undone
(percent, JSON, HTML), so that `ann%40example.com` and `ann\\u0040example.com` are found, and so is what a gateway or a
queue has written in base64. It errs on the side of finding: of `to=ann@example.com` both readings are told.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from urllib.parse import unquote

from touchbase.common.content_encoding import decoded, from_base64
from touchbase.common.normalize import find_email_key
from touchbase.errors import UnrecognisedPayload
from touchbase.history.identity_links import Ref
from touchbase.suppression.suppression_keys import EMAIL, linkedin_ref

ROUNDS = 3
"""How deep escapes are undone: JSON in a form field in JSON."""
LONGEST_LOCAL = 64
MOST = 10_000
"""Readings of one text that are tried: a body made of nothing else must not hold up its neighbours."""
# Found by the sign in its middle: looking for a beginning would try every letter of a long text.
_AT = re.compile(r"@([\w.\-]{1,255})")
_BETWEEN = re.compile(r"""[\s@<>"(),:;\[\]\\]""")
# What may stand in an address and yet ends the word before it: form fields, paths, quotes.
_BEFORE = re.compile(r"[=&/'|{}!?#*`~^$%]")
_LINKEDIN = re.compile(r"""linkedin\.com/[^\s"'<>\\&,;()\[\]{}|]+""", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]{24,}")
"""What may be base64, of either alphabet; the shortest that could hold an address with its quotes."""
_SIGNS = ("@", "%40", "u0040", "&#", "linkedin")
"""One of these shows that something readable may name somebody; nearly all that looks like base64 is an id."""
_NUMBERED = re.compile(r"&#(?:([xX])0*([0-9a-fA-F]+)|0*([0-9]+))")
"""A character of HTML by its number. The standard library reads any number of digits, and Python raises an error beyond 4,300."""
_MOST_DIGITS = 7
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([/\"\\])|[bfnrt])")


def mentions(headers: Mapping[str, str], query: str, body: bytes) -> set[Ref]:
    """The identities that a call's headers, query and body hold, in normal form."""
    found: set[Ref] = set()
    for text in (_plain(headers, body), query, "\n".join(headers.values())):
        for form in _forms(text):
            for one in (form, *_unpacked(form)):
                found.update(_emails(one))
                found.update(_linkedins(one))
    return found


def _unpacked(text: str) -> Iterator[str]:
    """What stands in base64 in a text, with its escapes undone."""
    for match in islice(_BASE64.finditer(text), MOST):
        with suppress(ValueError):  # no base64, or no text in it: a picture, an id
            inner = from_base64(match[0]).decode()
            if any(sign in inner.lower() for sign in _SIGNS):
                yield from _forms(inner)


def _plain(headers: Mapping[str, str], body: bytes) -> str:
    with suppress(UnrecognisedPayload):  # else what came is all there is
        body = decoded(headers.get("content-encoding", ""), body)
    text = body.decode("utf-8", "replace")
    return text.replace("\0", "")  # UTF-16 reads as Latin then


def _forms(text: str) -> Iterator[str]:
    """The text as it came, then with one layer of escapes after the other undone."""
    for _ in range(ROUNDS):
        yield text
        if "+" in text and text.lstrip()[:1] not in ("{", "["):
            yield unquote(text.replace("+", " "))  # a form's spaces
        plainer = _without_html(_whole(_ESCAPE.sub(_unescaped, unquote(text))))
        if plainer == text:
            return
        text = plainer


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else match[2] or " "


def _without_html(text: str) -> str:
    if "&" not in text:
        return text
    return html.unescape(_NUMBERED.sub(_short, text) if "&#" in text else text)


def _short(match: re.Match[str]) -> str:
    """A numbered character without leading zeros; what stands for one that cannot be where its number is too long."""
    digits = match[2] or match[3]
    return f"&#{match[1] or ''}{digits}" if len(digits) <= _MOST_DIGITS else "\ufffd"


def _whole(text: str) -> str:
    """The text with the halves of characters that JSON writes as two joined, and such as stand alone replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _emails(text: str) -> Iterator[Ref]:
    if "@" not in text:
        return
    for reading in islice(_readings(text), MOST):
        key = find_email_key(reading)
        if key:
            yield ("", EMAIL, key)


def _readings(text: str) -> Iterator[str]:
    """What may be an address: before each sign in its middle there may be several beginnings."""
    for match in _AT.finditer(text):
        local = _BETWEEN.split(text[max(0, match.start() - LONGEST_LOCAL) : match.start()])[-1]
        for start in (0, *(sign.end() for sign in _BEFORE.finditer(local))):
            if local[start:]:
                yield f"{local[start:]}@{match[1].rstrip('.-_')}"


def _linkedins(text: str) -> Iterator[Ref]:
    if "linkedin" not in text.lower():
        return
    for match in islice(_LINKEDIN.finditer(text), MOST):
        ref = linkedin_ref(match[0].rstrip(".:!"))
        if ref is not None:
            yield ref
