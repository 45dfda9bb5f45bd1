"""Redaction: remove a connection's secrets and Salesforce logins from a webhook before it is stored, in every encoding.

A body is unfolded once: without escapes of JSON (also of JSON inside a string) and without percent-encoding, with a map from its
positions to those in the body as received. The secrets, unfolded alike, are then searched as plain bytes. All of it is linear.
"""

from __future__ import annotations

import re
from array import array
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from urllib.parse import unquote_plus

from touchbase.common.content_encoding import LARGEST_SIGNED, decoded, from_base64
from touchbase.connections.fetch_state import FETCHED
from touchbase.deliveries.delivery import LOADED
from touchbase.deliveries.limits import INLINE_BYTES
from touchbase.errors import UnrecognisedPayload
from touchbase.history.dedupe_keys import EVENT_ENDINGS

# Credentials, the marks of fetched and loaded records, and headers of the transport only.
UNSTORED_HEADERS = frozenset(
    {
        b"authorization", b"proxy-authorization", b"cookie", b"x-api-key", b"x-master-api-key",
        FETCHED.encode(), LOADED.encode(),
        b"host", b"connection", b"keep-alive", b"content-length", b"transfer-encoding", b"te", b"expect",
    }
)  # fmt: skip

_ENCODING = "content-encoding"
# What precedes and follows a value in JSON (also JSON inside a string) and in form fields, possibly escaped once more.
_BEFORE = re.compile(rb"(?:[=\"\n]|%(?:25){0,3}(?:22|3d)|\\u00(?:22|3d)|\A)(?:\\|%(?:25){0,3}5c)*+\Z", re.IGNORECASE)
_AFTER = re.compile(rb"[\"&\\\r\n]|%(?:25){0,3}(?:22|26|5c)|\s{0,9}\Z", re.IGNORECASE)
_LONGEST_MARK = 40
"""Bytes before a secret that `_BEFORE` examines."""
_PERCENT = re.compile(rb"%(?:25){0,3}([0-9A-Fa-f]{2})")
"""A byte, percent-encoded up to four times."""
_BACKSLASHES = re.compile(rb"\\++(?:u([dD][89abAB][0-9a-fA-F]{2})\\++u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([\"/bfnrt]))?")
"""An escape of JSON, with more backslashes the deeper it is nested: surrogates, another letter, a short form; or backslashes alone."""
_SHORT = {b'"': b'"', b"/": b"/", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_PLAIN = re.compile(r"[A-Za-z0-9_.\-]*")
"""Secrets that a body may contain escaped by number only, as nearly all are."""
_ROUNDS = 4
"""Layers of escapes that are unfolded."""

# A Salesforce session id: the organisation's id, an exclamation mark, and the token. Nothing else has this form.
_LOGIN = re.compile(rb"(00D[A-Za-z0-9]{12,15}(?:!|%21|\\u0021))[A-Za-z0-9._]{32,}")
_BASE64_PREFIXES = (b"MDBE", b"AwR", b"wME")
"""Base64 of its first three letters, for each of their three alignments."""
_BASE64 = re.compile(rb"([A-Za-z0-9+/_\-\\\r\n]{64,}+)={0,2}")
"""Possible base64, in either alphabet, with or without line breaks, long enough for a login. The possessive `+` prevents backtracking:
a body of backslashes would otherwise block the server for minutes."""


def redact(secrets: Sequence[str], headers: dict[str, str], query: str, body: bytes) -> tuple[dict[str, str], str, bytes]:
    """Remove headers and parameters that contain a secret; replace it, and Salesforce logins, with asterisks in query and body.

    Relays forward logins in JSON, in forms and in base64. A compressed body that contains any is stored decoded.
    """
    clean = headers
    if secrets:
        clean = {name: value for name, value in headers.items() if not any(secret in value for secret in secrets)}
        query = "&".join(piece for piece in query.split("&") if unquote_plus(piece.partition("=")[2]) not in secrets)
    if "00D" in query:
        query = _redact_logins(query.encode()).decode()
    plain = _decoded(headers, body, LARGEST_SIGNED)
    redacted = _redact_logins(redact_secrets(secrets, plain))
    if redacted == plain:
        return clean, query, body
    return {name: value for name, value in clean.items() if name != _ENCODING}, query, redacted


def needs_process(secrets: Sequence[str], headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether the redaction of a body may take longer than the event loop can wait; a large body is not decoded to its end."""
    if _ENCODING in headers:
        return not _is_small(headers[_ENCODING], body)
    return len(body) > INLINE_BYTES and (bool(secrets) or b"00D" in body or _may_have_base64(body))


def _may_have_base64(text: bytes) -> bool:
    return _BASE64_PREFIXES[0] in text or _BASE64_PREFIXES[1] in text or _BASE64_PREFIXES[2] in text


def _redact_logins(text: bytes) -> bytes:
    if b"00D" in text:
        text = _LOGIN.sub(rb"\1********", text)
    if _may_have_base64(text):
        text = _BASE64.sub(_redact_base64, text)
    return text


def _redact_base64(match: re.Match[bytes]) -> bytes:
    """Return base64 with the login redacted, or the unchanged text if it has none."""
    text = match[1]
    # A backslash at its end escapes the quote after it.
    piece = text.rstrip(b"\\") if text.endswith(b"\\") else match[0]
    try:
        plain = from_base64(piece.replace(rb"\n", b"").replace(rb"\r", b"").translate(None, b"\\\r\n"))
    except ValueError:
        return match[0]
    redacted = _redact_logins(plain)
    return match[0] if redacted == plain else b64encode(redacted) + match[0][len(piece) :]


def redact_secrets(secrets: Sequence[str], body: bytes) -> bytes:
    """Replace secrets with asterisks where they are a whole value: plain, or escaped as in JSON, JSON inside a string, or forms."""
    if not secrets:
        return body
    spans = list[tuple[int, int, bytes]]()
    unfolded = _Unfolded(body, are_plain=all(map(_PLAIN.fullmatch, secrets)))
    for secret in secrets:
        needle, mask = _needle(secret), b"*" * len(secret)
        if needle:
            spans += [(start, end, mask) for start, end in unfolded.find(needle) if _is_value(body, start, end)]
        if secret.isdecimal() and secret.isascii():
            # A JSON number: its replacement must keep the JSON valid.
            number = re.compile(rb":\s*(" + secret.encode() + rb")(?=\s*[,}])")
            spans += [(*match.span(1), b'"%b"' % mask) for match in number.finditer(body)]
    if not spans:
        return body
    pieces, at = list[bytes](), 0
    for start, end, mask in sorted(spans):
        if start >= at:  # two secrets can overlap
            pieces += (body[at:start], mask)
            at = end
    return b"".join([*pieces, body[at:]])


def _is_value(body: bytes, start: int, end: int) -> bool:
    return (not start or _BEFORE.search(body[max(0, start - _LONGEST_MARK) : start]) is not None) and _AFTER.match(body, end) is not None


def _decoded(headers: Mapping[str, str], body: bytes, largest: int) -> bytes:
    with suppress(UnrecognisedPayload):
        return decoded(headers.get(_ENCODING, ""), body, largest)
    return body


def _is_small(encoding: str, body: bytes) -> bool:
    try:
        return len(decoded(encoding, body, INLINE_BYTES)) <= INLINE_BYTES
    except UnrecognisedPayload:
        return False


@lru_cache(maxsize=1_000)
def _needle(secret: str) -> bytes:
    return _Unfolded(secret.encode("utf-8", "surrogateescape")).text


class _Unfolded:
    """A text without its escapes, and where each of its bytes was.

    It has no backslash, since a body may escape one together with the letter after it. With `are_plain`, only escapes by number count.
    """

    def __init__(self, body: bytes, *, are_plain: bool = False) -> None:
        self.text = body
        self._maps: list[tuple[array[int], array[int]]] = []
        """Of each layer: the end of each escape without it and with it."""
        if are_plain and b"%" not in body and b"\\u" not in body:
            return
        for _ in range(_ROUNDS):
            before = len(self._maps)
            if b"%" in self.text:
                self._unfold(_PERCENT, lambda match: bytes((int(match[1], 16),)))
            if b"\\" in self.text:
                self._unfold(_BACKSLASHES, _unescaped)
            if len(self._maps) == before:
                break
        self.text = self.text.replace(b"+", b" ")  # a form's spaces

    def find(self, needle: bytes) -> list[tuple[int, int]]:
        """Return where a text stands in the body as received: starts and ends, of places that do not overlap."""
        places, at = list[tuple[int, int]](), 0
        while (at := self.text.find(needle, at)) >= 0:
            places.append((self._received(at), self._received(at + len(needle))))
            at += len(needle)
        return places

    def _unfold(self, escapes: re.Pattern[bytes], plain: Callable[[re.Match[bytes]], bytes]) -> None:
        pieces, ends, received_ends = list[bytes](), array("q"), array("q")
        at = length = 0
        changed = False
        for match in escapes.finditer(self.text):
            start, end = match.span()
            letters = plain(match)
            pieces += (self.text[at:start], letters)
            length += start - at + len(letters)
            ends.append(length)
            received_ends.append(end)
            changed |= end - start != len(letters)
            at = end
        if changed:
            self.text = b"".join([*pieces, self.text[at:]])
            self._maps.append((ends, received_ends))

    def _received(self, at: int) -> int:
        """Return the position in the body as received."""
        for ends, received_ends in reversed(self._maps):
            last = bisect_right(ends, at) - 1
            if last >= 0:
                at += received_ends[last] - ends[last]
        return at


def _unescaped(match: re.Match[bytes]) -> bytes:
    high, low, unit, short = match.groups()
    if short:
        return _SHORT[short]
    if unit:
        return chr(int(unit, 16)).encode("utf-8", "surrogatepass")
    return bytes.fromhex((high + low).decode()).decode("utf-16-be").encode() if high else b""


def stored_headers(headers: Iterable[tuple[bytes, bytes]]) -> tuple[dict[str, str], str]:
    """Return the headers to store, names in lower case, and those among them that name the event, as one text."""
    stored: dict[str, str] = {}
    naming: list[str] = []
    for raw, value in headers:
        name = raw.lower()
        if name in UNSTORED_HEADERS or name.startswith(b"accept"):
            continue
        text, content = name.decode("latin-1"), value.decode("latin-1")
        stored[text] = f"{stored[text]}, {content}" if text in stored else content
        if name.endswith(EVENT_ENDINGS):
            naming.append(f"{text}: {content}")
    return stored, "\n".join(sorted(naming))
