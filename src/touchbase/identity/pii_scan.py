"""Find the e-mail and LinkedIn addresses in a stored webhook, in any tool's format.

An unrecognised webhook can name a person too. Text is searched as received and with its escapes decoded (percent, JSON,
HTML), so that `ann%40example.com` and `ann\\u0040example.com` are found, and inside base64, which gateways and queues use.
It prefers false positives: `to=ann@example.com` is reported with and without `to=`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from urllib.parse import unquote

from touchbase.common.content_encoding import decoded, from_base64
from touchbase.common.html_text import unescape
from touchbase.common.normalize import find_email_key
from touchbase.erasure_marks import EMAIL, linkedin_refs
from touchbase.errors import UnrecognisedPayload
from touchbase.history.identity_links import Ref

ROUNDS = 3
"""Layers of escapes that are decoded: JSON in a form field in JSON."""
MAX_LOCAL_LENGTH = 64
MAX_MATCHES = 20_000
"""Different candidates tried in one webhook, and pieces of possible base64 in one window."""
WINDOW = 256 * 1024
OVERLAP = 8 * 1024
"""Bytes that are searched at once, and bytes of them that the next window repeats: more than an address in any encoding has."""
LONGEST_LINK = 2_000
# Starts from the @: to search for the beginning of an address would try every character of a long text.
_AT = re.compile(r"@([\w.\-]{1,255})")
_BETWEEN = re.compile(r"""[\s@<>"(),:;\[\]\\]""")
# Characters that an address may contain, but that may also precede one: form fields, paths, quotes.
_BEFORE = re.compile(r"[=&/'|{}!?#*`~^$%]")
_LINKEDIN = re.compile(r"""linkedin\.com/[^\s"'<>\\&,;()\[\]{}|]+""", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]{24,}")
"""Possible base64, of either alphabet; at least as long as an address with its quotes."""
_SIGNS = ("@", "%40", "u0040", "&#", "linkedin")
"""Decoded base64 without one of these contains no address; most texts that look like base64 are ids."""
_PACKED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x9c", b"\x78\xda")
"""How compressed bodies begin."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([/\"\\])|[bfnrt])")


class Unsearchable(Exception):
    """A webhook cannot be searched completely within the limits."""


def find_identities(headers: Mapping[str, str], query: str, body: bytes) -> set[Ref]:
    """Return the identities in a webhook's headers, query and body, in normal form. Raises `Unsearchable`."""
    search = _IdentitySearch()
    for text in (_plain(headers, body), query.encode("utf-8", "replace"), "\n".join(headers.values()).encode("utf-8", "replace")):
        for part in _parts(text):
            search.add(part)
    return search.refs


def contains_text(plain: bytes, text: str) -> bool:
    """Return whether a decompressed body contains a text in any case, as received or with escapes or base64 decoded."""
    wanted = text.casefold()
    return any(wanted in part.casefold() for part in _parts(plain, ()))


def _parts(text: bytes, signs: Collection[str] = _SIGNS) -> Iterator[str]:
    """Yield a text in windows, each in all its forms, with its base64 parts decoded (only with one of `signs`, if there are any).

    The forms of a whole text would take a hundred times its memory.
    """
    is_form = text.lstrip()[:1] not in (b"{", b"[")
    for start in range(0, max(1, len(text) - OVERLAP), WINDOW - OVERLAP):
        window = text[start : start + WINDOW].decode("utf-8", "replace").replace("\0", "")  # UTF-16 reads as Latin then
        is_last = start + WINDOW >= len(text)
        for form in _forms(window, is_form):
            yield form
            for inner in _from_base64(form, is_cut=start > 0, is_last=is_last):
                if not signs or any(sign in inner.lower() for sign in signs):
                    yield from _forms(inner, is_form=inner.lstrip()[:1] not in ("{", "["))


def _from_base64(text: str, *, is_cut: bool, is_last: bool) -> Iterator[str]:
    """Yield the texts that a window contains as base64. At the window's ends it may be a part of a longer one."""
    for match in islice(_BASE64.finditer(text), MAX_MATCHES):
        is_part = (is_cut and match.start() == 0) or (not is_last and match.end() == len(text))
        for packed in (match[0][shift:] for shift in range(4 if is_cut and match.start() == 0 else 1)):
            with suppress(ValueError):  # not base64, or not text: a picture, an id
                yield _part_of_text(from_base64(packed[: len(packed) // 4 * 4])) if is_part else from_base64(packed).decode()


def _part_of_text(raw: bytes) -> str:
    """Decode UTF-8 that may begin and end within a letter; raises `UnicodeDecodeError`."""
    begin = next((at for at, byte in enumerate(raw[:4]) if byte & 0xC0 != 0x80), 0)
    return codecs.getincrementaldecoder("utf-8")().decode(raw[begin:])


def _plain(headers: Mapping[str, str], body: bytes) -> bytes:
    try:
        return decoded(headers.get("content-encoding", ""), body)
    except UnrecognisedPayload as error:
        if body.startswith(_PACKED):
            raise Unsearchable(error.detail) from None
        return body  # it is searched as received


def _forms(text: str, is_form: bool) -> Iterator[str]:
    """Yield the text as received, then with each further layer of escapes decoded."""
    for _ in range(ROUNDS):
        yield text
        if is_form and "+" in text:
            yield unquote(text.replace("+", " "))  # a form's spaces
        plainer = unescape(_join_surrogates(_ESCAPE.sub(_unescaped, unquote(text))))
        if plainer == text:
            return
        text = plainer


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else match[2] or " "


def _join_surrogates(text: str) -> str:
    """Join surrogate pairs, which JSON writes as two escapes; replace lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class _IdentitySearch:
    """Identities found in one webhook so far, and the candidates that were tried."""

    def __init__(self) -> None:
        self.refs: set[Ref] = set()
        self._tried: set[str] = set()

    def add(self, text: str) -> None:
        """Search a text."""
        if "@" in text:
            for candidate in _email_candidates(text):
                if self._is_new(candidate) and (key := find_email_key(candidate)):
                    self.refs.add(("", EMAIL, key))
        if "linkedin" in text.lower():
            for match in _LINKEDIN.finditer(text):
                candidate = match[0][:LONGEST_LINK].rstrip(".:!")
                if self._is_new(candidate):
                    self.refs |= linkedin_refs(candidate)

    def _is_new(self, candidate: str) -> bool:
        if candidate in self._tried:
            return False
        if len(self._tried) >= MAX_MATCHES:
            raise Unsearchable(f"it has more than {MAX_MATCHES} possible addresses")
        self._tried.add(candidate)
        return True


def _email_candidates(text: str) -> Iterator[str]:
    """Yield possible addresses: each @ can have several possible beginnings before it."""
    for match in _AT.finditer(text):
        local = _BETWEEN.split(text[max(0, match.start() - MAX_LOCAL_LENGTH) : match.start()])[-1]
        for start in (0, *(sign.end() for sign in _BEFORE.finditer(local))):
            if local[start:]:
                yield f"{local[start:]}@{match[1].rstrip('.-_')}"
