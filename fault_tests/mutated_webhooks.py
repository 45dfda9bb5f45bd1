"""Fuzzed webhooks: the adapters' fixtures with parts repeated, cut, swapped, encoded and replaced.

Each goes through all that a sender's bytes reach without a key: recognising and translating by every way, the scan of an erasure,
and every check of a signature. Nothing but a refusal may come of it, within the budget that a delivery has.
"""

from __future__ import annotations

import ast
import gzip
import json
import random
import re
import resource
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote_from_bytes

import touchbase.adapters.registry
from touchbase.adapters.registry import Adapters, load_adapters
from touchbase.common.timestamps import SECOND
from touchbase.connections.models import Arrival, Connection
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.limits import seconds_for
from touchbase.history.events import CHANNELS
from touchbase.inbox.worker import translator
from touchbase.projection.inbox_batch import read_delivery
from touchbase.sandbox.pool import MEMORY

HOME = Path(touchbase.adapters.registry.__file__).parent
NOW = 1_790_000_000 * SECOND
LARGEST = 256 * 1024
"""Bytes of a mutated body: what takes too long at this size takes far too long at the largest."""
POISON = (
    b"&#" + b"9" * 5_000, b"&#x" + b"f" * 5_000, b"9" * 5_000, b"9" * 18, b"-1e" + b"9" * 400, b"1e309", b"NaN", b"null", b"true", b"0",
    b"\\ud800", b"\\u0000", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"[" * 3_000, b'{"a":' * 3_000, b'"', b"\\", b"}", b"]", b"{}", b"[]",
    b"%", b"%00%zz", b"[a][", b" " * 5_000, b"\r\n", b"@" * 3_000, b"a@b.co,", b"a." * 3_000, b"-" * 3_000,
    b'content-disposition: form-data; name="', b"category updated to ", b"exceed_", b"linkedin.com/in/", b"<a>",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"2026-11-20T09:30:00+99:99",
)  # fmt: skip
HEADER = re.compile(r"[a-z]+(?:-[a-z0-9]+)+")
SECRETS = ("a secret of theirs", "ab" * 32, "whsec_c2VjcmV0c2VjcmV0")
SCHEMED = ("sha256=", "v1=", "v1,", "t=1790000000,v1=", "Basic ", "Bearer ", "")


@dataclass(slots=True)
class Call:
    """One webhook request."""

    channel: str
    headers: dict[str, str]
    query: str
    body: bytes


@dataclass(slots=True)
class Tally:
    """Totals of a run."""

    calls: int = 0
    checks: int = 0
    slowest: float = 0.0
    """CPU seconds of the slowest webhook."""
    faults: list[str] = field(default_factory=list)


@lru_cache(maxsize=1)
def recorded() -> list[Call]:
    """Load the fixtures of all adapters."""
    calls: list[Call] = []
    for channel in CHANNELS:
        for file in sorted((HOME / channel).glob("*/fixtures/*.json")):
            request = json.loads(file.read_text(encoding="utf-8"))["request"]
            body = request["text"].encode() if "text" in request else json.dumps(request["body"]).encode()
            headers = {name.lower(): str(value) for name, value in request.get("headers", {}).items()}
            calls.append(Call(channel, headers, request.get("query", ""), body))
    return calls


@lru_cache(maxsize=1)
def headers() -> list[str]:
    """Header names that adapters or signature checks may read: every string in their source that looks like one."""
    results = {f"{whose}-{what}" for whose in ("svix", "webhook") for what in ("id", "timestamp", "signature")}  # made of two texts there
    for file in HOME.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and HEADER.fullmatch(node.value.lower()):
                results.add(node.value.lower())
    return sorted(results)


@lru_cache(maxsize=1)
def adapters() -> Adapters:
    """Load the adapters."""
    return load_adapters()


def mutated(rng: random.Random) -> Call:
    """Pick a fixture and mutate it."""
    start = rng.choice(recorded())
    call = Call(start.channel, dict(start.headers), start.query, start.body)
    for _ in range(rng.randint(1, 5)):
        call.body = rng.choice(MUTATIONS)(rng, call.body)[:LARGEST]
    if rng.random() < 0.3:
        call.headers[rng.choice(headers())] = _value(rng)
    if rng.random() < 0.2:
        call.query = (call.query + "&" + rng.choice(POISON).decode("latin-1"))[:8_000]
    if rng.random() < 0.2:
        call.headers["content-encoding"], call.body = "gzip", gzip.compress(call.body)[: rng.choice((LARGEST, 100))]
    if rng.random() < 0.05:
        call.channel = rng.choice(CHANNELS)
    return call


def _value(rng: random.Random) -> str:
    poison = rng.choice(POISON).replace(b"\0", b"").decode("latin-1")
    return (rng.choice(SCHEMED) + rng.choice((poison, b64encode(poison.encode()).decode(), "0" * 64)))[:8_000]


def _place(rng: random.Random, body: bytes) -> int:
    return rng.randint(0, len(body))


def _slice(rng: random.Random, body: bytes) -> bytes:
    start = _place(rng, body)
    return body[start : start + rng.choice((1, 8, 60, 400))]


def _poisoned(rng: random.Random, body: bytes) -> bytes:
    at = _place(rng, body)
    return body[:at] + rng.choice(POISON) * rng.choice((1, 1, 3, 200)) + body[at:]


def _repeated(rng: random.Random, body: bytes) -> bytes:
    at = _place(rng, body)
    return body[:at] + _slice(rng, body) * rng.choice((2, 30, 3_000)) + body[at:]


def _value_poisoned(rng: random.Random, body: bytes) -> bytes:
    """A value in JSON exchanged for poison, or made of it: what is around it can still be read."""
    values = list(re.finditer(rb'"[^"\\]*+"|-?\d+(?:\.\d+)?|true|false|null', body[:LARGEST]))
    if not values:
        return body
    value = rng.choice(values)
    poison = rng.choice(POISON)
    text = json.dumps(poison.decode("latin-1") * rng.choice((1, 50))).encode()
    return body[: value.start()] + rng.choice((poison, text, b"[" + text + b"]", b'{"email": ' + text + b"}")) + body[value.end() :]


def _cut(rng: random.Random, body: bytes) -> bytes:
    at = _place(rng, body)
    return body[:at] + body[at + rng.choice((1, 5, 10**6)) :]


def _crossed(rng: random.Random, body: bytes) -> bytes:
    at = _place(rng, body)
    return body[:at] + _slice(rng, rng.choice(recorded()).body) + body[at:]


def _flipped(rng: random.Random, body: bytes) -> bytes:
    at = _place(rng, body)
    return body[:at] + bytes([rng.randrange(256)]) + body[at + 1 :]


def _as_form(rng: random.Random, body: bytes) -> bytes:
    return rng.choice((b"payload=", b"a[b][]=", b"data[][x]=")) + quote_from_bytes(body).encode()


def _as_multipart(rng: random.Random, body: bytes) -> bytes:
    head = b'--b\r\nContent-Disposition: form-data; name="payload"' + rng.choice((b"", b' content-disposition: form-data; name="a"' * 500))
    return head + b"\r\n\r\n" + body + b"\r\n--b--\r\n"


def _wrapped(rng: random.Random, body: bytes) -> bytes:
    return rng.choice(
        (
            b'[{"headers": {}, "query": {}, "body": ' + body + b"}]",
            b'{"payload": ' + json.dumps(body.decode("latin-1")).encode() + b"}",
            b'{"message": {"data": "' + b64encode(body) + b'"}}',
            b"[" + b",".join([body] * 40) + b"]",
        )
    )


Mutation = Callable[[random.Random, bytes], bytes]
MUTATIONS: tuple[Mutation, ...] = (
    _poisoned, _repeated, _value_poisoned, _value_poisoned, _value_poisoned, _cut, _crossed, _flipped, _as_form, _as_multipart, _wrapped,
)  # fmt: skip


def try_out(call: Call, rng: random.Random, tally: Tally) -> None:
    """Pass a webhook to the adapters, signature checks and PII scan; record violations."""
    tools = adapters().tools(call.channel)
    named = [None, *rng.sample(tools, 3)]
    before, peak = time.process_time(), _peak()
    for tool in named:
        delivery = Delivery(1, "acme", 1, call.channel, "received", NOW, tool, verified=tool is not None, guarded=True)
        delivery.headers, delivery.query, delivery.body = call.headers, call.query, call.body
        looked = read_delivery(delivery, translator(adapters().translate))
        if looked.why is not None:
            tally.faults.append(f"{tool}: {looked.why}: {call!r:.2000}")
    _check_signatures(call, rng, tally)
    took = (time.process_time() - before) / len(named)
    tally.calls += 1
    tally.slowest = max(tally.slowest, took)
    if took > seconds_for(len(call.body)):
        tally.faults.append(f"took {took:.1f} s: {call!r:.2000}")
    if _peak() - peak > MEMORY:
        tally.faults.append(f"took more memory than {MEMORY} bytes: {call!r:.2000}")


def _peak() -> int:
    """The most bytes that this process has ever held: what else ran in it may have held many before."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _check_signatures(call: Call, rng: random.Random, tally: Tally) -> None:
    named = {**call.headers, **{name: _value(rng) for name in rng.sample(headers(), 6)}}
    url = f"https://hooks.example/public/{call.channel}-webhook/acme?{call.query}"
    arrival = Arrival(call.channel, "POST", url, named, call.query, call.body)
    for tool in adapters().tools(call.channel):
        connection = Connection(1, call.channel, tool, NOW, NOW, [rng.choice(("a secret of theirs", "ab" * 32, "whsec_c2VjcmV0c2VjcmV0"))])
        try:
            if adapters().verify_signature(connection, arrival, NOW):
                tally.faults.append(f"{tool}: proved: {arrival!r:.2000}")
        except Exception as error:
            tally.faults.append(f"{tool}: the check of a signature broke: {type(error).__name__}: {error}: {arrival!r:.2000}")
        tally.checks += 1
