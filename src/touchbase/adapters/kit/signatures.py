"""Proofs of origin: the schemes by which tools prove who they are, over the raw bytes of a call.

An adapter names its tool's schemes in `proofs`; any of them that holds is proof. Comparing takes the same
time whatever is compared. A scheme with a time in it refuses calls that are older than `WINDOW`, so that
one that somebody has overheard is soon worth nothing.
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
"""How far the time in a signature may be from ours, to either side."""

Check = Callable[[Arrival, str, Micros], bool]
"""Whether a call proves to know a secret, at this time of ours."""


@dataclass(frozen=True, slots=True)
class Form:
    """The form that a scheme's secret must have; `about` names it to people."""

    about: str
    fits: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way of proving; `about` says it to people: what stands where."""

    about: str
    check: Check
    form: Form | None = None
    """None: any text may be its secret."""
    reads_body: bool = False
    """Whether the check parses the body, so that it must not run on the event loop."""
    window: Micros | None = None
    """How old the time in its signature may be, unless the connection says otherwise; None: it has no time."""
    is_test: bool = False
    """Proves only that this is the tool's test call, which is answered and dropped."""


def same(given: str | bytes | None, wanted: str | bytes) -> bool:
    """Whether two texts are equal, found out in a time that tells nothing about them."""
    if given is None:
        return False
    return hmac.compare_digest(_bytes(given), _bytes(wanted))


def one_of(given: Iterable[str | bytes | None], wanted: str | bytes) -> bool:
    """Whether one of these texts is equal to another; all are looked at, so that time does not tell which it was."""
    found = False
    for one in given:
        found |= same(one, wanted)
    return found


def in_time(text: str | None, now: Micros, unit: Micros = SECOND, *, past: Micros = WINDOW) -> bool:
    """Whether a time in whole units (seconds, unless told) is near to ours, or not longer ago than `past`."""
    return text is not None and text.isascii() and text.isdigit() and len(text) < 20 and -WINDOW <= now - int(text) * unit <= past


def window_of(arrival: Arrival, usual: Micros = WINDOW) -> Micros:
    """How old the time in a call's signature may be: what its connection says, else the tool's usual window."""
    decided = arrival.settings.signature_max_age
    return usual if decided is None else decided * SECOND


def keyed(secret: str | bytes, message: bytes, digest: str = "sha256") -> bytes:
    """The keyed hash (HMAC) of a message."""
    return hmac.digest(_bytes(secret), message, digest)


def unbase64(text: str, *, of_urls: bool = False) -> bytes | None:
    """What a base64 text holds; None when it is none."""
    try:
        return b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if of_urls else None, validate=True)
    except (binascii.Error, ValueError):
        return None


def _is_base64(secret: str) -> bool:
    return len(unbase64(secret.removeprefix("whsec_")) or b"") >= 8


BASE64 = Form("the key in base64, usually behind `whsec_`, as the tool shows it", _is_base64)
HEX = Form("the key in hex digits, as the tool shows it", lambda secret: len(secret) % 2 == 0 and not set(secret) - set(hexdigits))


def hashed_body(header: str, *, digest: str = "sha256", prefix: str = "") -> Scheme:
    """The usual scheme: a header holds the keyed hash of the body in hex, perhaps behind a prefix."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        given = arrival.headers.get(header)
        return given is not None and same(given.removeprefix(prefix).lower(), keyed(secret, arrival.body, digest).hex())

    shown = f" behind `{prefix}`" if prefix else ""
    return Scheme(f"header `{header}`: HMAC-{digest.upper()} of the body in hex{shown}", check)


def presented(arrival: Arrival, secret: str) -> bool:
    """Whether a call shows the secret itself: in a header, as user and password, or as a parameter of its address."""
    shown: list[str | bytes | None] = [*arrival.headers.values(), *(value for _, value in _parameters(arrival.query))]
    scheme, _, credentials = arrival.headers.get("authorization", "").partition(" ")
    shown.append(unbase64(credentials.strip()) if scheme.lower() == "basic" else credentials.strip())
    return one_of(shown, secret)


SHOWN = "the secret itself, in any header (also as `Authorization: Bearer` or `Basic`) or as a parameter of the address, `?token=`"
"""What every tool may do, unless its secret is a public key, which anybody may know."""


def standard_webhooks(prefix: str = "webhook-") -> Scheme:
    """Standard Webhooks: id, time and body hashed together; of several signatures one must hold."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        number, at = arrival.headers.get(f"{prefix}id"), arrival.headers.get(f"{prefix}timestamp")
        key = unbase64(secret.removeprefix("whsec_"))
        if number is None or at is None or key is None or not in_time(at, now, past=window_of(arrival)):
            return False
        wanted = b64encode(keyed(key, b"%b.%b.%b" % (_bytes(number), _bytes(at), arrival.body))).decode()
        given = arrival.headers.get(f"{prefix}signature", "").split()
        return one_of([signature.removeprefix("v1,") for signature in given if signature.startswith("v1,")], wanted)

    about = f"header `{prefix}signature`: Standard Webhooks (`v1,` and HMAC-SHA256 in base64) over id, time and body; 5 minutes"
    return Scheme(about, check, form=BASE64, window=WINDOW)


def _parameters(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return []


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
