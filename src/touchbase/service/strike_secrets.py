"""Striking out: a secret that a call shows must not lie in the inbox, in whatever way it is written there."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from urllib.parse import quote, quote_plus, unquote_plus

from touchbase.domain.encoding import LARGEST_SIGNED, decoded, from_base64
from touchbase.domain.errors import UnrecognisedPayload

_ENCODING = "content-encoding"
_ESCAPE = re.compile("%[0-9A-F]{2}")
# A value begins and ends so in JSON (also in JSON inside a text), in form fields, and in either of them escaped once more.
_BEFORE, _AFTER = rb'(?:(?<=[="\n])|(?<=%22)|(?<=%3D)|(?<=%3d)|\A)', rb'(?=["&\\\r\n]|%22|%26|\s*\Z)'

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
        for shown in _written(secret):
            if shown in body:
                body = re.sub(_BEFORE + re.escape(shown) + _AFTER, b"*" * len(secret), body)
        if secret.isdecimal() and secret.isascii():
            # A number: what takes its place must leave the body readable.
            body = re.sub(rb"(:\s*)" + secret.encode() + rb"(?=\s*[,}])", rb'\1"%b"' % (b"*" * len(secret)), body)
    return body


def _written(secret: str) -> set[bytes]:
    """The secret as JSON, JSON in a text, and forms write it."""
    found = {secret, quote(secret, safe=""), quote(secret), quote_plus(secret)}
    found |= {_ESCAPE.sub(lambda escape: escape[0].lower(), one) for one in found}
    told = {json.dumps(secret, ensure_ascii=only_ascii)[1:-1] for only_ascii in (True, False)}
    told |= {one.replace("/", "\\/") for one in told}
    return {one.encode("utf-8", "surrogateescape") for one in found | told | {json.dumps(one)[1:-1] for one in told}}
