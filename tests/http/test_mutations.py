"""Ten thousand mutated requests: no fault of ours, no answer out of form, and not a row of another client changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from tests.asgi_client import ApiClient, MakeClient, Response
from tests.conftest import ExecuteSql
from tests.http.mutator import Mutator, Request

from touchbase.adapters.registry import load_adapters
from touchbase.auth.authentication import ADMIN, READ, WRITE, add_key
from touchbase.clients.models import DELETING, DELETION_DELAY
from touchbase.clients.removal import removal_of
from touchbase.clients.sql.clients import find_client
from touchbase.common.timestamps import SECOND
from touchbase.connections.service import Connections
from touchbase.consistency.service import Verified, verify
from touchbase.http.problems import STATUS, Problem
from touchbase.inbox.sql.queries import count_inbox
from touchbase.inbox.worker import InboxWorker
from touchbase.sql.store import Store

SEED = 20_261_120
AT_ONCE = 32
HOW_MANY = {("sqlite", "none"): 4_200, ("sqlite", "api-key"): 4_200, ("postgresql", "none"): 800, ("postgresql", "api-key"): 800}
ADAPTERS = load_adapters()
OURS, THEIRS, WORD = "ours", "theirs-and-nobody-elses", "their-private-word"
assert sum(HOW_MANY.values()) == 10_000


@dataclass
class Hand:
    """The application in one mode, with a client of ours that calls and another that must not notice."""

    call: ApiClient
    store: Store
    auth: str

    async def admit(self) -> dict[str, str]:
        """Headers with which our client calls; it is made (again) if it is not there."""
        opened = ApiClient(type(self.call.parts)(store=self.store, clock=self.call.clock), self.call.clock)
        number = await client_number(opened, OURS)
        if self.auth == "none":
            return {"x-client-id": OURS}
        return {"authorization": f"Bearer {await add_key(self.store, number, [READ, WRITE, ADMIN], 'ours', self.call.clock.now)}"}

    async def furnish_theirs(self) -> int:
        """Give the other client one of everything; without keys nothing guards deliveries, so it gets none then."""
        opened = ApiClient(type(self.call.parts)(store=self.store, clock=self.call.clock, senders=ADAPTERS), self.call.clock)
        number, own = await client_number(opened, THEIRS), {"x_client_id": THEIRS}
        company = (await opened.post("/public/v2/companies", {"domain": "theirs.example", "name": WORD}, **own)).json()["id"]
        body = {
            "email": "jane@example.com",
            "first_name": WORD,
            "company_id": company,
            "contact_custom_fields_input": [{"field_name": "Seats", "field_value": "4"}],
        }
        contact = (await opened.post("/public/v2/contacts", body, **own)).json()["id"]
        await opened.patch(f"/public/v2/contacts/{contact}", {"contact_status": "theirs"}, **own)
        connection = {"channel": "crm", "tool": "attio", "secrets": ["their-own-secret"]}
        assert (await opened.post(f"/admin/v1/clients/{THEIRS}/connections", connection)).status == 201
        await add_key(self.store, number, [ADMIN], "theirs", 1)
        if self.auth == "api-key":
            for channel in ("crm", "emailcampaign"):
                await opened("POST", f"/public/{channel}-webhook/{THEIRS}", raw=f'{{"what": "{WORD}"}}'.encode(), attio_signature="0")
            await opened(
                "POST", f"/public/emailcampaign-webhook/{THEIRS}", raw=b'{"event_type": "email_sent", "lead_email": "joe@example.com"}'
            )
            await InboxWorker(self.store, ADAPTERS.translate, self.call.clock).drain()
        return number


async def client_number(opened: ApiClient, name: str) -> int:
    """The number of this client, made if it is not there, and serving again if it was suspended."""
    client = await opened.parts.store.read(find_client(name, 1))
    if client is not None and client.state == DELETING:  # also where it has another id since
        opened.clock.move(DELETION_DELAY / SECOND + 1)
        async for _ in removal_of(opened.parts.store, opened.clock, client):
            pass
    elif client is not None and client.client_id != name:  # a mutated request has given it another id
        assert (await opened.post(f"/admin/v1/clients/{client.client_id}/rotate-id", {"client_id": name})).status == 200
    assert (await opened.post("/admin/v1/clients", {"client_id": name})).status in (201, 409)
    reply = await opened.get("/public/v2/contacts", x_client_id=name)
    if reply.status == 403 and reply.json()["code"] == "client_suspended":
        reply = await opened.post(f"/admin/v1/clients/{name}/resume", {})
    if reply.status == 404 and client is not None:  # it has another id since, and the former one has ended
        reply = await opened.post(f"/admin/v1/clients/{client.client_id}/rotate-id", {"client_id": name})
    assert reply.status == 200
    return await number_of(opened.parts.store, name)


async def number_of(store: Store, name: str) -> int:
    client = await store.read(find_client(name, 1))  # also by a former id
    assert client is not None
    return client.number


async def rows_of(execute_sql: ExecuteSql, number: int, engine: str) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that the store keeps of one client, whichever tables there are."""
    if engine == "sqlite":
        columns = await execute_sql(
            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'client'"
        )
    else:
        columns = await execute_sql(
            "SELECT table_name, column_name FROM information_schema.columns WHERE column_name = 'client' "
            "AND table_schema = current_schema()"
        )
    stored = {table: sorted(map(repr, await execute_sql(f"SELECT * FROM {table} WHERE client = ?", number))) for table, _ in columns}
    stored["client"] = [repr(row) for row in await execute_sql("SELECT * FROM client WHERE id = ?", number)]
    return {table: rows for table, rows in stored.items() if rows}


def faults_of(request: Request, reply: Response) -> Iterator[str]:
    """What is wrong with an answer, whatever the question was."""
    if reply.status == 503:
        if int(reply.headers.get("retry-after", 0)) < 1:
            yield "503 without Retry-After"
    elif not 200 <= reply.status < 500:
        yield f"status {reply.status}"
    if any(set("\r\n\0") & {*name, *value} for name, value in reply.headers.items()):
        yield "a header with a line break"
    if request.method == "HEAD":
        return
    if reply.status >= 400:
        yield from faults_of_problem(reply)
    elif reply.headers.get("content-type", "").startswith("application/json"):
        json.loads(reply.body)


def faults_of_problem(reply: Response) -> Iterator[str]:
    if reply.headers.get("content-type") != "application/problem+json":
        yield f"a problem as {reply.headers.get('content-type')}"
        return
    problem = msgspec.json.decode(reply.body, type=Problem)
    if problem.status != reply.status or STATUS.get(problem.code, reply.status) != reply.status:
        yield f"status {problem.status} and code {problem.code} in an answer with {reply.status}"
    if problem.request_id != reply.headers["x-request-id"] or not problem.detail or not problem.title:
        yield "a problem without its request id, detail or title"
    if problem.code == "invalid" and not problem.errors:
        yield "a problem with nothing in its list of errors"


@pytest.mark.parametrize("auth", ["none", "api-key"])
async def test_mutated_requests__get_valid_responses_and_change_no_other_client(
    store: Store, engine_url: str, execute_sql: ExecuteSql, make_client: MakeClient, auth: str
) -> None:
    engine = "sqlite" if engine_url.startswith("sqlite") else "postgresql"
    hand = Hand(
        make_client(store, auth=auth, senders=ADAPTERS, read=ADAPTERS.translate, protocol_answer=ADAPTERS.protocol_answer), store, auth
    )
    number = await hand.furnish_theirs()
    before = await rows_of(execute_sql, number, engine)
    headers = await hand.admit()
    expected = {"client_id": [OURS], "id": [*"12345678"], "channel": ["crm", "email_campaign"], "tool": ["hubspot", "generic", "instantly"]}
    # With keys nothing may help, not even the other client's name; without them that name is all that it takes.
    mutator = Mutator(SEED, headers, expected, (THEIRS,) if auth == "api-key" else ())
    statuses: dict[int, int] = {}
    faults: list[Any] = []

    async def send(request: Request) -> None:
        if "-webhook/" in request.path and THEIRS in request.path:
            return  # a webhook's address is as good as a password: whoever knows it may send calls
        reply = await hand.call(request.method, request.target, raw=request.body, **request.sendable)
        statuses[reply.status] = statuses.get(reply.status, 0) + 1
        faults.extend((fault, request) for fault in faults_of(request, reply))
        if auth == "api-key" and WORD.encode() in reply.body:
            faults.append(("a word of the other client", request))

    for _ in range(0, HOW_MANY[engine, auth], AT_ONCE):
        await asyncio.gather(*(send(mutator.request()) for _ in range(AT_ONCE)))
        if (await hand.call.get("/public/v2/contacts", **headers)).status != 200:
            headers.update(await hand.admit())
    after = await rows_of(execute_sql, number, engine)
    await InboxWorker(store, ADAPTERS.translate, hand.call.clock, connections=Connections(store, hand.call.clock).of).drain()
    after_work = await rows_of(execute_sql, number, engine)

    assert faults == []
    # The requests got somewhere: records were made, read and refused for many reasons.
    rare = {413} if engine == "sqlite" else set()  # few requests are sent to PostgreSQL
    assert {200, 201, 400, 404, 405, 415, 422, *rare} <= statuses.keys(), statuses
    assert min(statuses[status] for status in (200, 422)) > HOW_MANY[engine, auth] // 25, statuses
    assert before.keys() >= {"client", "api_key", "contact", "company", "custom_field", "event", "connection"}
    assert after == before
    assert after_work == before
    assert (await store.read(count_inbox())).by_state.get("failed", 0) == 0
    assert [difference async for difference in verify(store, await number_of(store, OURS), Verified())] == []
