"""Requests to every route of the description, and what becomes of them when a seeded hand mutates them."""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import touchbase
from touchbase.routes import description

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "get", "")
TEXTS = (
    "", " ", "0", "-1", "1", "2", "7", "null", "NaN", "true", "9007199254740991", "9007199254740992", "1e400", "99999999999999999999999",
    "\x00", "a\x00b", "é", "\u202e", "\U0001d54f", "..", "../..", "%2e%2e", "%00", "%", "%zz", "'", "' OR 1=1 --", '"', ";", "$1", "{}",
    "[]", "<b>",
    "a@b", "jane@example.com", "x" * 201, "x" * 12_000, "example.com", "https://linkedin.com/in/x", "2026-11-20T09:30:00Z", "9999-99-99",
    "crm", "email_campaign", "hubspot", "generic", "received", "failed", "error", "update", "FLAT", "AAAA", "eyJhIjoxfQ",
    "tb_live_x_y_00000000",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 2**53, 2**63, 2**64, -(2**63) - 1, 1e308, 0.5, float("nan"), float("inf"), [], {}, [[]], [None],
    {"": ""}, "\ud800",
    *TEXTS,
)  # fmt: skip
HEADERS = (
    "content-type", "content-encoding", "accept", "if-match", "if-none-match", *["x-client-id"] * 4, "authorization", "x-api-key",
    "x-request-id", "idempotency-key", "origin", "host", "cookie", "expect", "prefer", "x-forwarded-for", "x-hubspot-signature",
    "content-length",
)  # fmt: skip
KINDS = (
    "application/json", "application/merge-patch+json", "text/plain", "application/x-www-form-urlencoded", "text/csv",
    "application/json; charset=x", "multipart/form-data; boundary=x", "",
)  # fmt: skip

BOMB = gzip.compress(b" " * 40_000_000, 1)
OFTEN = 15
"""How many places a text that is worth trying has among the usual ones."""


@dataclass
class Request:
    """One request before it is sent."""

    method: str
    path: str
    query: list[tuple[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def target(self) -> str:
        return f"{self.path}?{urlencode(self.query, errors='surrogatepass')}" if self.query else self.path

    @property
    def sendable(self) -> dict[str, str]:
        """The headers as a parser could have let them through."""
        return {
            name: re.sub(r"[\x00-\x1f\x7f]", "", value.encode("utf-8", "replace").decode("latin-1")) for name, value in self.headers.items()
        }


def fixtures() -> list[tuple[str, dict[str, str], bytes]]:
    """Channel, headers and body of every tool's sample calls."""
    results = []
    for path in sorted(Path(touchbase.__file__).parent.glob("adapters/*/*/fixtures/*.json")):
        request = json.loads(path.read_text(encoding="utf-8"))["request"]
        body = request.get("body", request.get("body_text", ""))
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        results.append((path.parts[-4], {name.lower(): value for name, value in request.get("headers", {}).items()}, raw))
    return results


class Mutator:
    """Makes requests, sound ones and then worse; the same seed makes the same ones."""

    def __init__(self, seed: int, headers: dict[str, str], expected: dict[str, list[str]], texts: tuple[str, ...] = ()) -> None:
        self._random = random.Random(seed)
        self._headers = headers
        self._known = expected
        self._texts = TEXTS + texts * OFTEN
        self._values = VALUES + texts * OFTEN
        document = description("1", keys_needed=True)
        self._schemas: dict[str, Any] = document["components"]["schemas"]
        self._routes = [
            (method.upper(), path, [*item.get("parameters", []), *operation["parameters"]], operation.get("requestBody"))
            for path, item in document["paths"].items()
            for method, operation in item.items()
            if method != "parameters"
        ]
        self._calls = fixtures()
        self._turn = 0

    def request(self) -> Request:
        """The next request: routes in turn, each as it should be and then mutated up to four times."""
        self._turn += 1
        sound = self._sound(*self._routes[self._turn % len(self._routes)])
        for _ in range(self._random.choice((1, 1, 2, 3, 4))):
            sound = self._random.choice(MUTATIONS)(self, sound)
        return sound

    def _sound(self, method: str, path: str, parameters: list[Any], body: Any) -> Request:
        new_request = Request(method, path, headers=dict(self._headers))
        for parameter in parameters:
            value = self._like(parameter["name"], parameter["schema"])
            if parameter["in"] == "path":
                new_request.path = new_request.path.replace(f"{{{parameter['name']}}}", quote(value, safe=""))
            elif parameter["in"] == "query" and self._random.random() < 0.4:
                new_request.query.append((parameter["name"], value))
        new_request.path = re.sub(r"\{\w+\}", "1", new_request.path)
        if body is not None:
            self._add_body(new_request, body["content"])
        return new_request

    def _like(self, name: str, schema: Any) -> str:
        if name in self._known:
            return self._random.choice(self._known[name])
        schema = self._schemas.get(schema.get("$ref", "").rpartition("/")[2], schema)
        if schema.get("type") == "boolean":
            return self._random.choice(("true", "false"))
        if "enum" in schema:
            return str(self._random.choice(schema["enum"]))
        return self._random.choice(("1", "2", "3", "20")) if schema.get("type") == "integer" else self._random.choice(self._texts)

    def _add_body(self, new_request: Request, content: dict[str, Any]) -> None:
        kind, described = self._random.choice(list(content.items()))
        name = described.get("schema", {}).get("$ref", "").rpartition("/")[2]
        if name:
            example = self._schemas[name].get("examples", [{}])[0] or self._filled(self._schemas[name])
            one_of_many = str(self._random.randrange(60))
            text = json.dumps(example).replace("jane", f"jane{one_of_many}").replace("www.example", f"www.example{one_of_many}")
            new_request.headers["content-type"], new_request.body = kind, text.encode()
            return
        channel = "crm" if "crm" in new_request.path else "email_campaign"
        _, headers, new_request.body = self._random.choice([call for call in self._calls if call[0] == channel])
        new_request.headers = {**headers, **new_request.headers}

    def _filled(self, schema: Any) -> dict[str, Any]:
        return {name: self.value() for name in schema.get("properties", {}) if self._random.random() < 0.5}

    def value(self) -> Any:
        return self._random.choice(self._values)

    def method(self, new_request: Request) -> Request:
        return replace(new_request, method=self._random.choice(METHODS))

    def path(self, new_request: Request) -> Request:
        pieces = new_request.path.split("/")
        place = self._random.randrange(1, len(pieces))
        new = quote(self._random.choice(self._texts), safe=self._random.choice(("", "/%.")))
        change = self._random.randrange(4)
        pieces[place : place + 1] = [[new], [], [pieces[place], new], [pieces[place], pieces[place]]][change]
        return replace(new_request, path="/".join(pieces) or "/")

    def query(self, new_request: Request) -> Request:
        query = list(new_request.query)
        names = ["limit", "cursor", "structure", "on_duplicate", "client", "state", "token", "id", *(name for name, _ in query)]
        change = self._random.randrange(3)
        if change and query:
            place = self._random.randrange(len(query))
            query[place : place + 1] = [] if change == 1 else [query[place], (query[place][0], self._random.choice(self._texts))]
        else:
            query.append((self._random.choice(names), self._random.choice(self._texts)))
        return replace(new_request, query=query)

    def header(self, new_request: Request) -> Request:
        name = self._random.choice(HEADERS)
        return replace(
            new_request, headers={**new_request.headers, name: self._random.choice(KINDS if name == "content-type" else self._texts)}
        )

    def drop_header(self, new_request: Request) -> Request:
        stored = self._random.choice([*new_request.headers, "content-type"])
        return replace(
            new_request, headers={name: value for name, value in new_request.headers.items() if name != stored or name in self._headers}
        )

    def bytes(self, new_request: Request) -> Request:
        body, hand = bytearray(new_request.body), self._random
        for _ in range(hand.choice((1, 1, 3, 20))):
            place = hand.randrange(len(body) + 1)
            body[place : place + hand.choice((0, 1, 1, 5))] = hand.randbytes(hand.choice((0, 1, 1, 4)))
        return replace(new_request, body=bytes(body))

    def wrapping(self, new_request: Request) -> Request:
        kinds: tuple[Callable[[bytes], bytes], ...] = (
            lambda body: b"",
            lambda body: body * 2,
            lambda body: b"[" + body + b"]",
            lambda body: b"[" * 300,
            lambda body: b'{"a":' * 70 + b"1" + b"}" * 70,
            lambda body: b"\xef\xbb\xbf" + body,
            lambda body: body.decode("latin-1").encode("utf-16"),
            lambda body: b" " * 1_100_000 + body,
            lambda body: body[: len(body) // 2],
        )
        return replace(new_request, body=self._random.choice(kinds)(new_request.body))

    def packing(self, new_request: Request) -> Request:
        packed = self._random.choice((gzip.compress(new_request.body), gzip.compress(new_request.body)[:-3], BOMB, new_request.body))
        encoding = self._random.choice(("gzip", "GZIP", "deflate", "br", "gzip, gzip"))
        return replace(new_request, body=packed, headers={**new_request.headers, "content-encoding": encoding})

    def structure(self, new_request: Request) -> Request:
        try:
            tree = json.loads(new_request.body)
        except (ValueError, RecursionError):
            return self.bytes(new_request)
        full = [copy.deepcopy(tree)]
        place, key = self._node(full)
        change = self._random.randrange(4)
        if change == 0 and isinstance(place, dict):
            place[self._random.choice(self._texts)] = place.pop(key)
        elif change == 1:
            del place[key]
        elif change == 2 and isinstance(place, list):
            place.append(place[key])
        else:
            place[key] = self.value()
        text = json.dumps(full[0] if full else None, ensure_ascii=self._random.random() < 0.7)
        if self._random.random() < 0.05:
            text = text.replace('": ', '": 1, "email": ', 1)
        return replace(new_request, body=text.encode("utf-8", "surrogatepass"))

    def _node(self, full: list[Any]) -> tuple[Any, Any]:
        """A place in a tree, any of them with like odds."""
        places: list[tuple[Any, Any]] = []
        waiting: list[Any] = [full]
        while waiting:
            at = waiting.pop()
            for key in at if isinstance(at, dict) else range(len(at)):
                places.append((at, key))
                if isinstance(at[key], (dict, list)):
                    waiting.append(at[key])
        return self._random.choice(places)


MUTATIONS: tuple[Callable[[Mutator, Request], Request], ...] = (
    Mutator.method, Mutator.path, Mutator.path, Mutator.query, Mutator.query, Mutator.header, Mutator.header, Mutator.drop_header,
    Mutator.bytes, Mutator.bytes, Mutator.wrapping, Mutator.packing, *[Mutator.structure] * 6,
)  # fmt: skip
