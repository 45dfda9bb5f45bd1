"""Signature schemes: how tools authenticate webhooks, computed over the raw bytes of a request.

An adapter lists its tool's schemes in `signature_schemes`; one match is enough. Comparisons take constant time. A scheme with a
timestamp rejects requests older than `WINDOW`, which limits replay attacks.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from string import hexdigits
from urllib.parse import parse_qsl

from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import Arrival

WINDOW: Micros = 300 * SECOND
"""Tolerance between a signature's timestamp and our clock, in both directions."""

Check = Callable[[Arrival, str, Micros], bool]
"""Returns whether a request authenticates with a secret at a given time of our clock."""


@dataclass(frozen=True, slots=True)
class SecretForm:
    """The required form of a scheme's secret; `about` describes it to users."""

    about: str
    fits: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Scheme:
    """Signature scheme; `about` describes its header or field to users."""

    about: str
    check: Check
    form: SecretForm | None = None
    """None: any text is accepted as the secret."""
    reads_body: bool = False
    """The check parses the body, so it must not run on the event loop."""
    window: Micros | None = None
    """Maximum age of the signature's timestamp, unless the connection sets one; None: the scheme has no timestamp."""
    is_test: bool = False
    """Matches only the tool's test webhook, which gets a 200 and is dropped."""


def constant_time_equal(signature: str | bytes | None, wanted: str | bytes) -> bool:
    """Compare two texts in constant time."""
    if signature is None:
        return False
    return hmac.compare_digest(_bytes(signature), _bytes(wanted))


def equals_any(signatures: Iterable[str | bytes | None], wanted: str | bytes) -> bool:
    """Return whether one of these texts equals another; all are compared, so that the time does not reveal which."""
    is_equal = False
    for signature in signatures:
        is_equal |= constant_time_equal(signature, wanted)
    return is_equal


def is_recent(text: str | None, now: Micros, unit: Micros = SECOND, *, past: Micros = WINDOW) -> bool:
    """Return whether a timestamp in whole units (default: seconds) is near our clock, or at most `past` ago."""
    return text is not None and text.isascii() and text.isdigit() and len(text) < 20 and -WINDOW <= now - int(text) * unit <= past


def window_of(arrival: Arrival, usual: Micros = WINDOW) -> Micros:
    """Return the maximum age of a signature's timestamp: the connection's setting, else the tool's default."""
    decided = arrival.settings.signature_max_age
    return usual if decided is None else decided * SECOND


def hmac_digest(secret: str | bytes, message: bytes, digest: str = "sha256") -> bytes:
    """Return the HMAC of a message."""
    return hmac.digest(_bytes(secret), message, digest)


def unbase64(text: str, *, of_urls: bool = False) -> bytes | None:
    """Decode base64; None if the text is not base64."""
    try:
        return b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if of_urls else None, validate=True)
    except (binascii.Error, ValueError):
        return None


def _is_base64(secret: str) -> bool:
    return len(unbase64(secret.removeprefix("whsec_")) or b"") >= 8


BASE64 = SecretForm("the key in base64, usually behind `whsec_`, as the tool shows it", _is_base64)
HEX = SecretForm("the key in hex digits, as the tool shows it", lambda secret: len(secret) % 2 == 0 and not set(secret) - set(hexdigits))


def hmac_body(header: str, *, digest: str = "sha256", prefix: str = "", is_base64: bool = False) -> Scheme:
    """The usual scheme: a header with the HMAC of the body in hex or base64, optionally after a prefix."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        signature, digested = arrival.headers.get(header), hmac_digest(secret, arrival.body, digest)
        if signature is None:
            return False
        signature = signature.removeprefix(prefix)
        return constant_time_equal(signature, b64encode(digested)) if is_base64 else constant_time_equal(signature.lower(), digested.hex())

    shown = f" behind `{prefix}`" if prefix else ""
    return Scheme(f"header `{header}`: HMAC-{digest.upper()} of the body in {'base64' if is_base64 else 'hex'}{shown}", check)


_DIGITS_OF_SECONDS = 11
_MILLISECOND: Micros = 1_000


def hmac_timed(
    header: str, over: str, *, time_header: str = "", part: str = "", prefix: str = "", window: Micros = WINDOW, shown: str = "5 minutes"
) -> Scheme:
    """A header with the HMAC-SHA256 of time and body in hex; `over` has `TIME` and `BODY` in their order, such as `TIME.BODY`.

    The time, in seconds or milliseconds, is in its own header, or beside the signature: `t=...,v1=...` with the part `v1`.
    """
    before, after = over.split("BODY")

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        at, signature = arrival.headers.get(time_header, ""), arrival.headers.get(header)
        if part:
            parts = dict(piece.strip().partition("=")[::2] for piece in (signature or "").split(","))
            at, signature = parts.get("t", ""), parts.get(part)
        unit = SECOND if len(at) <= _DIGITS_OF_SECONDS else _MILLISECOND
        if signature is None or not is_recent(at, now, unit, past=window_of(arrival, window)):
            return False
        message = before.replace("TIME", at).encode() + arrival.body + after.replace("TIME", at).encode()
        return constant_time_equal(signature.removeprefix(prefix).lower(), hmac_digest(secret, message).hex())

    where = f"`{header}`, `t=...,{part}=...`" if part else f"`{header}`" + (f" behind `{prefix}`" if prefix else "")
    time = f", `TIME` being `{time_header}`" if time_header else ""
    return Scheme(f"header {where}: HMAC-SHA256 in hex over `{over}`{time}; {shown}", check, window=window)


def contains_secret(arrival: Arrival, secret: str) -> bool:
    """Return whether a request contains the secret itself: in a header, as basic authentication, or as a query parameter."""
    shown: list[str | bytes | None] = [*arrival.headers.values(), *(value for _, value in _parameters(arrival.query))]
    scheme, _, credentials = arrival.headers.get("authorization", "").partition(" ")
    shown.append(unbase64(credentials.strip()) if scheme.lower() == "basic" else credentials.strip())
    return equals_any(shown, secret)


BEARER = "the secret itself, in any header (also as `Authorization: Bearer` or `Basic`) or as a parameter of the address, `?token=`"
"""Available to every tool, unless its secret is a public key."""


def standard_webhooks(prefix: str = "webhook-") -> Scheme:
    """Standard Webhooks: HMAC over id, timestamp and body; one of several signatures must match."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        number, at = arrival.headers.get(f"{prefix}id"), arrival.headers.get(f"{prefix}timestamp")
        key = unbase64(secret.removeprefix("whsec_"))
        if number is None or at is None or key is None or not is_recent(at, now, past=window_of(arrival)):
            return False
        wanted = b64encode(hmac_digest(key, b"%b.%b.%b" % (_bytes(number), _bytes(at), arrival.body))).decode()
        signatures = arrival.headers.get(f"{prefix}signature", "").split()
        return equals_any([signature.removeprefix("v1,") for signature in signatures if signature.startswith("v1,")], wanted)

    about = f"header `{prefix}signature`: Standard Webhooks (`v1,` and HMAC-SHA256 in base64) over id, time and body; 5 minutes"
    return Scheme(about, check, form=BASE64, window=WINDOW)


def _parameters(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return []


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
