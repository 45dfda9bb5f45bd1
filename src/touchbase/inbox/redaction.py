"""Striking out: a secret that a call shows must not lie in the inbox, in whatever way it is written there."""

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
# A value begins and ends so in JSON (also in JSON inside a text), in form fields, and in either of them escaped once more.
_BEFORE = re.compile(rb"(?:[=\"\n]|%(?:25){0,3}(?:22|3d)|\\u00(?:22|3d)|\A)\Z", re.IGNORECASE)
_AFTER = re.compile(rb"[\"&\\\r\n]|%(?:25){0,3}(?:22|26|5c)|\s{0,9}\Z", re.IGNORECASE)
_LONGEST_MARK = 40
"""Bytes before a secret in which its beginning is looked for."""

# A login at Salesforce: the organisation's id, a mark, and what lets whoever has it in. Nothing else looks like it.
_LOGIN = re.compile(rb"(00D[A-Za-z0-9]{12,15}(?:!|%21|\\u0021))[A-Za-z0-9._]{32,}")
_PACKED = (b"MDBE", b"AwR", b"wME")
"""What base64 makes of its first three letters, one for each place that they may have among three bytes."""
_BASE64 = re.compile(rb"([A-Za-z0-9+/_\-\\\r\n]{64,}+)={0,2}")
"""What may be base64, of either alphabet, in lines or in one; the shortest that could hold a login. It gives no letter back to look at it
again: a body of backslashes would hold the server up for minutes."""


def without_logins(headers: dict[str, str], query: str, body: bytes) -> tuple[dict[str, str], str, bytes]:
    """The call with stars in place of logins at Salesforce, which relays hand on in JSON, in forms and in base64.

    A packed body that holds one is kept unpacked.
    """
    query = _login_struck(query.encode()).decode() if "00D" in query else query
    if _ENCODING not in headers:
        return headers, query, _login_struck(body)
    plain = _unpacked(headers, body)
    struck = _login_struck(plain)
    if struck == plain:
        return headers, query, body
    return {name: value for name, value in headers.items() if name != _ENCODING}, query, struck


def _login_struck(text: bytes) -> bytes:
    if b"00D" in text:
        text = _LOGIN.sub(rb"\1********", text)
    if _PACKED[0] in text or _PACKED[1] in text or _PACKED[2] in text:
        text = _BASE64.sub(_login_struck_within, text)
    return text


def _login_struck_within(match: re.Match[bytes]) -> bytes:
    """This piece of base64 anew, if a login stands in it; else as it came."""
    letters = match[1]
    # A backslash at its end is of the quote that follows it.
    piece = letters.rstrip(b"\\") if letters.endswith(b"\\") else match[0]
    try:
        plain = from_base64(piece.replace(rb"\n", b"").replace(rb"\r", b"").translate(None, b"\\\r\n"))
    except ValueError:
        return match[0]
    struck = _login_struck(plain)
    return match[0] if struck == plain else b64encode(struck) + match[0][len(piece) :]


def without_secrets(secrets: Sequence[str], headers: Mapping[str, str], query: str, body: bytes) -> tuple[dict[str, str], str, bytes]:
    """The call without the secrets that it showed: no such header, no such parameter, stars in the body.

    A packed body that holds one is kept unpacked.
    """
    clean = {name: value for name, value in headers.items() if not any(secret in value for secret in secrets)}
    pieces = [piece for piece in query.split("&") if unquote_plus(piece.partition("=")[2]) not in secrets]
    plain = _unpacked(headers, body)
    struck = _struck(secrets, plain)
    if struck == plain:
        return clean, "&".join(pieces), body
    clean.pop(_ENCODING, None)
    return clean, "&".join(pieces), struck


def _unpacked(headers: Mapping[str, str], body: bytes) -> bytes:
    with suppress(UnrecognisedPayload):
        return decoded(headers.get(_ENCODING, ""), body, LARGEST_SIGNED)
    return body


def _struck(secrets: Sequence[str], body: bytes) -> bytes:
    for secret in secrets:
        plain = secret.encode("utf-8", "surrogateescape")
        # Without an escape in it a body can hold the secret in one spelling only, which is quick to look for.
        if plain in body or b"\\" in body or b"%" in body or b"+" in body:
            body = _spellings(secret).sub(partial(_starred, stars=b"*" * len(secret)), body)
        if secret.isdecimal() and secret.isascii():
            # A number: what takes its place must leave the body readable.
            body = re.sub(rb"(:\s*)" + secret.encode() + rb"(?=\s*[,}])", rb'\1"%b"' % (b"*" * len(secret)), body)
    return body


def _starred(match: re.Match[bytes], stars: bytes) -> bytes:
    start, end, body = match.start(), match.end(), match.string
    alone = _BEFORE.search(body[max(0, start - _LONGEST_MARK) : start]) if start else True
    return stars if alone and _AFTER.match(body, end) else match[0]


@lru_cache(maxsize=1_000)
def _spellings(secret: str) -> re.Pattern[bytes]:
    """The secret with each of its characters as it is, or escaped as JSON, JSON in a text, and forms may escape it."""
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
    """One byte as it is, or as forms escape it, perhaps more than once."""
    return b"(?:%b|%%(?:25){0,3}%b)" % (re.escape(byte), _any_case(f"{byte[0]:02x}"))


def _digit(digit: str) -> bytes:
    """A hex digit in either case, as `_in_form`."""
    return b"(?:" + b"|".join(_in_form(one.encode()) for one in {digit, digit.upper()}) + b")"


def _any_case(digits: str) -> bytes:
    """Hex digits in either case."""
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits).encode()


_BACKSLASHES = _in_form(b"\\") + b"{1,8}"
_SHORT = {'"': b'"', "\\": b"\\", "/": b"/", "\b": b"b", "\f": b"f", "\n": b"n", "\r": b"r", "\t": b"t"}
"""Characters that JSON writes as a backslash and a letter."""
