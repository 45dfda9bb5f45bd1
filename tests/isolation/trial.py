"""The trial: B goes the whole walk, beside A or alone, and everything that tells of A is a fault."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.asgi_client import Response
from tests.isolation import world as w
from tests.isolation.probe import Try, client_queries, leave, probe, tries
from tests.isolation.walk import Known, known_of, requests_of
from tests.isolation.world import Request, Side, World

from touchbase.clients.sql.clients import rotate_client_id
from touchbase.common.timestamps import DAY
from touchbase.consistency.service import Verified, verify
from touchbase.search.sql.index import index_records
from touchbase.sql.store import Store

Opened = Callable[[], Awaitable[Store]]

_RANDOM = re.compile(r"api:[0-9a-f]{16}:[0-9a-f]+")
"""Keys of writes through the interface; a process makes them up."""
REFUSED = (403, 404, 422)
VOLATILE = ("x-request-id", "date")
HANDLES = re.compile(rb"(\"handle\":\"|handle='|, \\*')[a-z2-7]{8}(?=\\*['\"])")
"""Random names of clients, in bodies and in rows."""
REQUEST_IDS = re.compile(rb"""["'][0-9a-f]{24}["']""")
AUDIT = ("/team/v1/audit-events", "/team/v1/changes")
AUDIT_IDS = re.compile(rb'"next_cursor":"[^"]*"|[0-9a-f]{24}|[0-9]{16}-|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]*Z')
"""Ids of entries of the audit log and the history and of their requests, cursors with them, and times: the world's own acts have the
machine's."""
HUBSPOT = f"/admin/v1/clients/{w.CLIENT_B}/connections/crm/hubspot"
FIRST = [
    Request("POST", "/public/v2/contacts", {"email": "b4@b.example", "first_name": "Gone"}),
    Request("GET", "/public/v2/contacts?email=b4@b.example"),
]
"""What B does before anything else: whom it erases next."""
PUSHES = f"/admin/v1/clients/{w.CLIENT_B}/connections/email_campaign/{w.PUSHED_TO}/pushes"
OWN = [
    Request("GET", PUSHES),
    *(Request("POST", f"{PUSHES}/retry", {"events": [f"evt_{number}"]}) for number in range(1, 7)),
    Request("POST", f"{PUSHES}/retry", {}),
    Request("GET", f"/admin/v1/clients/{w.CLIENT_B}"),
    Request("POST", HUBSPOT.removesuffix("/crm/hubspot"), {"channel": "crm", "tool": "hubspot", "access_token": "token-of-b"}),
    Request("PATCH", HUBSPOT, {"settings": {"status_labels": {"Won": "customer"}}}),
    Request("GET", HUBSPOT.removesuffix("/crm/hubspot")),
    Request("GET", HUBSPOT),
    Request("POST", f"/public/crm-webhook/{w.CLIENT_B}", raw=json.dumps(w.hubspot(9, w.PARKED_OBJECT, "email", "b3@b.example")).encode()),
    Request("POST", f"/public/crm-webhook/{w.CLIENT_B}", raw=json.dumps(w.hubspot(10, w.OBJECT_OF_A, "firstname", "Thin")).encode()),
    Request("PATCH", HUBSPOT, {"access_token": "another-token-of-b"}),
    Request("GET", HUBSPOT),
    Request("DELETE", HUBSPOT),
    Request("GET", HUBSPOT.removesuffix("/crm/hubspot")),
    Request("POST", f"/admin/v1/clients/{w.CLIENT_B}/rotate-id", {"client_id": w.OTHER_B}),
    Request("POST", f"/admin/v1/clients/{w.CLIENT_B}/rotate-id", {}),
    Request("POST", f"/admin/v1/clients/{w.CLIENT_B}/rotate-id", {"client_id": w.CLIENT_B}),
    Request("PATCH", f"/admin/v1/clients/{w.CLIENT_B}", {"name": "B"}),
    Request("GET", f"/admin/v1/clients/{w.CLIENT_B}"),
    Request("POST", "/admin/v1/keys", {"name": "second"}),
    Request("POST", "/public/v2/companies", {"domain": "once.example"}, headers=(("Idempotency-Key", "of-b"),)),
    Request("POST", "/public/v2/companies", {"domain": "once.example"}, headers=(("Idempotency-Key", "of-b"),)),
    Request("PUT", f"/admin/v1/clients/{w.CLIENT_B}", {"settings": {"on_duplicate": "return"}}),
    Request("POST", "/public/v2/contacts", {"email": "b1@b.example"}),
    Request("POST", "/public/v2/companies?on_duplicate=update", {"domain": "b.example", "name": "B again"}),
]
"""B's own life: the same tools, objects and settings that A has."""
CHANGE: dict[str, Any] = {"first_name": "Bo"}
EACH: dict[str, list[tuple[str, str, Any]]] = {
    "/public/v2/contacts": [("PATCH", "", CHANGE), ("GET", "", None), ("GET", "/timeline", None), ("GET", "/export", None)],
    "/public/v2/companies": [("PATCH", "", {"name": "Bo"}), ("GET", "", None), ("GET", "/timeline", None)],
    "/admin/v1/deliveries": [("GET", "", None), ("POST", "/replay", None)],
    "/admin/v1/keys": [("GET", "", None), ("POST", "/rotate", {}), ("DELETE", "", None)],
}
"""What B does with each record of its own."""


@dataclass
class Told:
    """What B was answered."""

    request: Request
    status: int
    headers: dict[str, str]
    body: bytes

    def faults(self, said: set[str]) -> list[str]:
        """What it tells of A that B has not said itself, in this call or before, and what B should not have found."""
        leaked = w.words(json.dumps(self.headers).encode() + self.body) - said
        result = [f"{self} tells {sorted(leaked)}"] if leaked else []
        if self.status >= 500:
            result.append(f"{self} broke")
        if self.request.foreign and self.status not in REFUSED:
            result.append(f"{self} is found")
        return result

    def __str__(self) -> str:
        about = " ".join(str(part) for part in (self.request.body, dict(self.request.headers)) if part)
        return f"{self.request.method} {self.request.target} {about} is answered {self.status} {self.body[:300]!r}"


@dataclass
class Trial:
    """What came of a walk."""

    facts: list[Told] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


async def settle_b(world: World, store: Store) -> tuple[int, str]:
    """B's number and key; it has things of its own, all of them later than A's."""
    await world.begin(w.LATER_IDS)
    world.tokens.begin(w.TOKENS_OF_B)
    world.clock.now = w.TIME_OF_B
    number, key = await world.join(store, w.CLIENT_B)
    b = world.side(store, w.CLIENT_B, number, key)
    company = await b.sure("POST", "/public/v2/companies", {"domain": "b.example", "name": "B"})
    for email in ("b1@b.example", "b2@b.example"):
        await b.sure("POST", "/public/v2/contacts", {"email": email, "company_id": company["id"]})
    await b.sure("POST", "/public/v2/suppressions", {"entries": [{"value": "b5@b.example"}, {"value": "b6@b.example"}]})
    await w.push(b, "token-of-b")
    await store.write(index_records(number))  # else a probe would take its notes
    return number, key


async def look_at_a(world: World, store: Store) -> tuple[Side, Known]:
    """A, furnished, and what B may have got to know of it."""
    await world.begin(w.FIRST_IDS)
    world.tokens.begin(w.TOKENS_OF_A)
    world.clock.now = w.TIME_OF_A
    number, key = await world.join(store, w.FORMER_A)
    await store.write(rotate_client_id(number, w.CLIENT_A, w.TIME_OF_B + 1000 * DAY))
    a = world.side(store, w.CLIENT_A, number, key)
    await w.settle_people(store, number)
    await w.furnish(a)
    await world.execute_sql("UPDATE idempotency_key SET expires_us = ?", w.NEVER)
    empty = [table for table, rows in (await world.dump(number)).items() if not rows]
    assert empty == [], "A has nothing in these tables: say in tests/isolation/world.py how it gets there"
    return a, await known_of(world, a)


@dataclass
class Plan:
    """What B tries, made of what there is of A."""

    requests: list[Request]
    tries: list[Try]
    questions: list[Any]


async def plan_of(world: World, a: Side, expected: Known, b: int) -> Plan:
    """Everything to be tried by the client of the number `b`."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for table in await world.tables():
        columns = [row[0] for row in await world.columns(table)]
        execute_sql = await world.execute_sql(f"SELECT {', '.join(columns)} FROM {table} WHERE client = ?", a.number)
        rows[table] = [dict(zip(columns, row, strict=True)) for row in execute_sql]
    rows["sealed"] = [{**row, "old": row[column], "new": "x"} for row in rows["connection"] for column in ("secrets", "access_token")]
    rows["sealed"] += [{**row, "old": row["secrets"], "new": "x"} for row in rows["webhook_endpoint"]]
    rows["sealed"] += [{**row, "old": row["content"], "new": "x"} for row in rows["refused_body"]]
    rows["replays"] = [{**row, "by": "x", "delivery_id": 1} for row in rows["refused_body"]]
    rows["claimed"] = [{**row, "until_us": row["next_us"]} for row in rows["fetch_state"]]
    rows["words"] = [{"client": a.number, "record": 2 * row["id"], "words": "x"} for row in rows["contact"]]
    rows["copies"] = [{**row, "record_id": number} for row in rows["message"] for number in expected.contacts]
    act = dict.fromkeys(("id", "actor_id", "via", "action", "target_type", "target_id", "request_id", "address"), "x")
    rows["acts"] = [{**act, "at_us": 1, "about_client": b, "change_id": row["request_id"]} for row in rows["change"][:1]]
    return Plan(requests_of(expected), tries(b, rows), list(client_queries(b, expected)))


async def walk(world: World, opened: Opened, b: tuple[int, str], plan: Plan, *, like: Sequence[Told] = ()) -> Trial:
    """B sends all requests, lives its own life, is verified, and is put to the probes; with `like`, the first other answer is the last."""
    world.clock.now = w.TIME_OF_B + DAY
    world.tokens.begin(w.LATER_TOKENS_OF_B)
    store = await opened()
    side, trial = world.side(store, w.CLIENT_B, *b), Trial()
    said: set[str] = set()
    async for reported in _lived(side, plan.requests):
        trial.facts.append(reported)
        said |= reported.request.words()
        trial.faults += reported.faults(said)
        if like and reported != like[len(trial.facts) - 1]:
            trial.faults.append(f"{reported}, and {like[len(trial.facts) - 1]} where A is not")
        if like and trial.faults:
            return trial
    verified = Verified()
    differences = [str(item) async for item in verify(store, side.number, verified)]
    for text in (
        repr((differences, verified)), *await probe(store, plan.tries, plan.questions), *await leave(store, side.number)
    ):  # fmt: skip
        trial.facts.append(
            Told(
                Request("PROBE", ""), 0, {}, REQUEST_IDS.sub(b"some request", HANDLES.sub(rb"\1random", _RANDOM.sub("api", text).encode()))
            )
        )
        if like and trial.facts[-1] != like[len(trial.facts) - 1]:
            trial.faults.append(f"{trial.facts[-1]}, and {like[len(trial.facts) - 1]} where A is not")
    return trial


async def _lived(side: Side, requests: Sequence[Request]) -> AsyncIterator[Told]:
    for request in FIRST:
        result = await _send(side, request)
        yield result
    erased = json.loads(result.body)["data"][0]["id"]
    yield await _send(side, Request("DELETE", f"/public/v2/contacts/{erased}?erase=true"))
    for restore in ("", "?restore_erased=true"):  # it is lifted again, so that B has erased nobody in the end
        yield await _send(side, Request("POST", f"/public/v2/contacts{restore}", {"email": "b4@b.example"}))
    for request in (*requests, *OWN):
        yield await _send(side, request)
    for path, calls in EACH.items():
        page = await _send(side, Request("GET", f"{path}?limit=200"))
        yield page
        for number in [item.get("id", item.get("key_id")) for item in json.loads(page.body)["data"]]:
            if path == "/admin/v1/keys" and number in side.key:
                continue  # the key that it calls with
            for method, tail, body in calls:
                yield await _send(side, Request(method, f"{path}/{number}{tail}", body))
    # What was put back is applied again, and changes nothing; then everything is looked at once more.
    await side.drain()
    for target in ("/public/v2/contacts", "/public/v2/companies", "/admin/v1/deliveries", "/admin/v1/deliveries/groups"):
        yield await _send(side, Request("GET", f"{target}?limit=200"))


async def _send(side: Side, request: Request) -> Told:
    headers = {name.replace("-", "_"): value for name, value in request.headers}
    reply = await side(request.method, request.target, request.body, request.raw, **headers)
    side.call.clock.move(0.001)
    if request.raw is not None:
        await side.drain()
    return Told(request, reply.status, {k: v for k, v in reply.headers.items() if k not in VOLATILE}, _body(reply, request))


def _body(reply: Response, request: Request) -> bytes:
    """The body without the request's own random id."""
    body = reply.body.replace(reply.headers.get("x-request-id", "-").encode(), b"")
    body = HANDLES.sub(rb"\1random", body)
    if request.target.startswith(AUDIT):
        body = AUDIT_IDS.sub(b"random", body)
    return REQUEST_IDS.sub(b'"some request"', body)  # of the requests that a timeline names
