"""Redaction: remove a connection's secrets and Salesforce logins from a webhook before it is stored, in every encoding."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from urllib.parse import unquote_plus

from touchbase.common.content_encoding import LARGEST_SIGNED, decoded, from_base64
from touchbase.errors import UnrecognisedPayload

_ENCODING = "content-encoding"
# What precedes and follows a value in JSON (also JSON inside a string) and in form fields, possibly escaped once more.
_BEFORE = re.compile(rb"(?:[=\"\n]|%(?:25){0,3}(?:22|3d)|\\u00(?:22|3d)|\A)\Z", re.IGNORECASE)
_AFTER = re.compile(rb"[\"&\\\r\n]|%(?:25){0,3}(?:22|26|5c)|\s{0,9}\Z", re.IGNORECASE)
_LONGEST_MARK = 40
"""Bytes before a secret that `_BEFORE` examines."""

# A Salesforce session id: the organisation's id, an exclamation mark, and the token. Nothing else has this form.
_LOGIN = re.compile(rb"(00D[A-Za-z0-9]{12,15}(?:!|%21|\\u0021))[A-Za-z0-9._]{32,}")
_BASE64_PREFIXES = (b"MDBE", b"AwR", b"wME")
"""Base64 of its first three letters, for each of their three alignments."""
_BASE64 = re.compile(rb"([A-Za-z0-9+/_\-\\\r\n]{64,}+)={0,2}")
"""Possible base64, in either alphabet, with or without line breaks, long enough for a login. The possessive `+` prevents backtracking:
a body of backslashes would otherwise block the server for minutes."""


def redact_logins(headers: dict[str, str], query: str, body: bytes) -> tuple[dict[str, str], str, bytes]:
    """Replace Salesforce logins with asterisks; relays forward them in JSON, in forms and in base64.

    A compressed body that contains one is stored decoded.
    """
    query = _redact_logins(query.encode()).decode() if "00D" in query else query
    if _ENCODING not in headers:
        return headers, query, _redact_logins(body)
    plain = _decoded(headers, body)
    redacted = _redact_logins(plain)
    if redacted == plain:
        return headers, query, body
    return {name: value for name, value in headers.items() if name != _ENCODING}, query, redacted


def _redact_logins(text: bytes) -> bytes:
    if b"00D" in text:
        text = _LOGIN.sub(rb"\1********", text)
    if _BASE64_PREFIXES[0] in text or _BASE64_PREFIXES[1] in text or _BASE64_PREFIXES[2] in text:
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


def redact_secrets(secrets: Sequence[str], headers: Mapping[str, str], query: str, body: bytes) -> tuple[dict[str, str], str, bytes]:
    """Remove headers and parameters that contain a secret, and replace it with asterisks in the body.

    A compressed body that contains one is stored decoded.
    """
    clean = {name: value for name, value in headers.items() if not any(secret in value for secret in secrets)}
    pieces = [piece for piece in query.split("&") if unquote_plus(piece.partition("=")[2]) not in secrets]
    plain = _decoded(headers, body)
    redacted = _redact_secrets(secrets, plain)
    if redacted == plain:
        return clean, "&".join(pieces), body
    clean.pop(_ENCODING, None)
    return clean, "&".join(pieces), redacted


def _decoded(headers: Mapping[str, str], body: bytes) -> bytes:
    with suppress(UnrecognisedPayload):
        return decoded(headers.get(_ENCODING, ""), body, LARGEST_SIGNED)
    return body


def _redact_secrets(secrets: Sequence[str], body: bytes) -> bytes:
    for secret in secrets:
        plain = secret.encode("utf-8", "surrogateescape")
        # Without an escape character the body can contain the secret in one spelling only, which is fast to find.
        if plain in body or b"\\" in body or b"%" in body or b"+" in body:
            body = _spellings(secret).sub(partial(_mask, mask=b"*" * len(secret)), body)
        if secret.isdecimal() and secret.isascii():
            # A JSON number: its replacement must keep the JSON valid.
            body = re.sub(rb"(:\s*)" + secret.encode() + rb"(?=\s*[,}])", rb'\1"%b"' % (b"*" * len(secret)), body)
    return body


def _mask(match: re.Match[bytes], mask: bytes) -> bytes:
    start, end, body = match.start(), match.end(), match.string
    is_value = _BEFORE.search(body[max(0, start - _LONGEST_MARK) : start]) if start else True
    return mask if is_value and _AFTER.match(body, end) else match[0]


@lru_cache(maxsize=1_000)
def _spellings(secret: str) -> re.Pattern[bytes]:
    """Return a pattern of the secret, each character plain or escaped as in JSON, JSON inside a string, or forms."""
    return re.compile(b"".join(map(_spelling, secret)))


def _spelling(letter: str) -> bytes:
    units = letter.encode("utf-16-be", "surrogatepass")
    as_json = b"".join(_BACKSLASHES + _in_form(b"u") + b"".join(map(_digit, units[at : at + 2].hex())) for at in range(0, len(units), 2))
    ways = [b"".join(_in_form(bytes([byte])) for byte in letter.encode("utf-8", "surrogateescape")), as_json]
    if letter in _SHORT:
        ways.append(_BACKSLASHES + _in_form(_SHORT[letter]))
    if letter == " ":
        ways.append(rb"\+")
    return b"(?:" + b"|".join(ways) + b")"


def _in_form(byte: bytes) -> bytes:
    """Return a pattern of one byte, plain or percent-encoded up to four times."""
    return b"(?:%b|%%(?:25){0,3}%b)" % (re.escape(byte), _any_case(f"{byte[0]:02x}"))


def _digit(digit: str) -> bytes:
    """Return a pattern of a hex digit in either case, plain or percent-encoded."""
    return b"(?:" + b"|".join(_in_form(one.encode()) for one in {digit, digit.upper()}) + b")"


def _any_case(digits: str) -> bytes:
    """Return a pattern of hex digits in either case."""
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits).encode()


_BACKSLASHES = _in_form(b"\\") + b"{1,8}"
_SHORT = {'"': b'"', "\\": b"\\", "/": b"/", "\b": b"b", "\f": b"f", "\n": b"n", "\r": b"r", "\t": b"t"}
"""Characters that JSON escapes as a backslash and a letter."""
