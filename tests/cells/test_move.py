"""Moving a client to another database: nothing of it is lost, in whichever step the move stops, and no other client notices."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient, Response
from tests.conftest import ENCRYPTION_KEYS
from tests.house import House, read
from tests.objects.bucket_server import bucket_server

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.models import ACTIVE
from touchbase.clients.sql.clients import find_client
from touchbase.clients.sql.removal import count_client_rows
from touchbase.errors import NotFound, StoreUnavailable, UnusableStore, WrongState
from touchbase.history.events import Translation
from touchbase.inbox.sql.commands import replay_deliveries
from touchbase.inbox.worker import InboxWorker
from touchbase.jobs.sql import list_jobs
from touchbase.objects.bodies import BodyLoader
from touchbase.objects.bucket import Bucket
from touchbase.objects.worker import BodyMover
from touchbase.routing import move as moving
from touchbase.routing.move import Moved, move_client
from touchbase.routing.router import CellRouter
from touchbase.routing.set_up import add_cell
from touchbase.sql.store import Store
from touchbase.storage.store_copy import ClientRows
from touchbase.stores import open_client_rows, open_store

OPEN = partial(open_store, encryption_keys=ENCRYPTION_KEYS)
SENT = {"event": "email_sent", "email": "ada@example.com", "at": 9}


class Killed(BaseException):
    """The end of a process, which runs no handler."""


@pytest.fixture
async def router(store: Store, cell_urls: list[str]) -> AsyncIterator[CellRouter]:
    """A home store on either engine and two cells, all with one encryption key."""
    for name, url in zip(("eu", "us"), cell_urls, strict=True):
        await add_cell(store, name, url, OPEN, 7)
    made = CellRouter(store, OPEN)
    await made.start(follow=False)
    yield made
    for cell in made.cells.values():
        await cell.close()


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "_SWITCH_SECONDS", 0)


@pytest.fixture
def call(router: CellRouter, make_client: MakeClient) -> ApiClient:
    return make_client(router, read=read)


@pytest.fixture
async def house(call: ApiClient, router: CellRouter) -> House:
    """A client of the home store, with records, a history, a key, a do-not-contact entry and an endpoint with a secret."""
    made = await House.of(call, "acme")
    assert router.placement.cell_of(made.number) == 0
    company = await made.request("POST", "/public/v2/companies", {"domain": "example.com"})
    assert company.status == 201
    await made.contact(email="ada@example.com", first_name="Ada", company_id=company.json()["id"])
    await made.hook("camp", SENT, apply=False)
    await InboxWorker(router.home, read, made.call.clock).drain()
    assert (await made.request("POST", "/public/v2/suppressions", {"kind": "email", "value": "no@example.com"})).status in (200, 201)
    return made


class Steps:
    """Calls of a move in turn: `before` runs before each, and may end the move there."""

    def __init__(self, router: CellRouter, home: str) -> None:
        self.router, self.home = router, home
        self.before: Callable[[str], Awaitable[None]] = nothing

    async def run(self, target: str) -> Moved:
        """Move the client acme."""
        moved = await move_client(self.router, self.home, "acme", target, self._open, lambda *_: None)
        await self.router.refresh()
        return moved

    async def _open(self, url: str) -> ClientRows:
        rows = await open_client_rows(url)
        for name in ("fence", "insert", "execute", "open_fence"):
            setattr(rows, name, self._watched(name, getattr(rows, name)))
        return rows

    def _watched(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **named: Any) -> Any:
            await self.before(f"{name} {args[0].name}" if name == "insert" else name)
            return await method(*args, **named)

        return call


async def nothing(step: str) -> None: ...


@pytest.fixture
def steps(router: CellRouter, engine_url: str) -> Steps:
    return Steps(router, engine_url)


async def seen(house: House) -> object:
    """Return everything that a user sees of the client."""
    contacts = await house.listed()
    numbers = [each["id"] for each in contacts]
    suppressions = (await house.request("GET", "/public/v2/suppressions")).json()
    feed = (await house.request("GET", "/public/v2/events")).json()
    return (
        contacts,
        [await house.timeline(number) for number in numbers],
        await house.states(),
        suppressions,
        feed,
        await house.differences(),
    )


async def test_move__of_a_contact_with_a_thousand_addresses_keeps_them_and_the_limit(house: House, steps: Steps) -> None:
    parts = [[f"p{part}-{number}@example.com" for number in range(50)] for part in range(20)]
    first, *others = [await house.contact(emails=emails) for emails in parts]
    merge = await house.merge(first, *others)

    await steps.run("eu")
    await steps.run("us")
    await steps.run("home")

    assert sorted((await house.get(first))["emails"]) == sorted(chain.from_iterable(parts))
    one_more = {"emails": [parts[0][0], "more@example.com"]}
    assert (await house.request("POST", "/public/v2/contacts?on_duplicate=update", one_more)).status == 422
    await house.undo(first, merge["merge_id"])
    assert [sorted((await house.get(number))["emails"]) for number in (first, *others)] == [sorted(part) for part in parts]
    assert await house.differences() == []


async def rows_in(router: CellRouter, number: int) -> list[int]:
    """Return the numbers of rows of a client in the home store and the two cells."""
    return [await store.read(count_client_rows(number)) for store in router.stores().values()]


async def test_move__changes_nothing_that_a_user_sees(router: CellRouter, house: House, steps: Steps) -> None:
    before, rows = await seen(house), await rows_in(router, house.number)

    for target, cell in (("eu", 1), ("us", 2), ("home", 0)):
        moved = await steps.run(target)

        assert (moved.target, router.placement.cell_of(house.number)) == (target, cell)
        counts = await rows_in(router, house.number)
        assert counts[cell] >= rows[0]
        assert sum(counts) == counts[cell]
        assert await seen(house) == before
    number = (await house.listed())[0]["id"]
    await house.hook("camp", SENT | {"event": "email_replied", "at": 10}, apply=False)
    await InboxWorker(router.home, read, house.call.clock).drain()
    assert (await house.get(number))["contact_status"] == "replied"
    assert await house.contact(email="eve@example.com") != number


async def test_move__refuses_writes_and_serves_reads_and_others_meanwhile(call: ApiClient, house: House, steps: Steps) -> None:
    other = await House.of(call, "other")
    answers: list[Response] = []

    async def ask(step: str) -> None:
        if step == "insert event":
            answers.extend([
                await house.request("POST", "/public/v2/contacts", {"email": "new@example.com"}),
                await house.request("GET", "/public/v2/contacts"),
                await other.request("POST", "/public/v2/contacts", {"email": "new@example.com"}),
            ])  # fmt: skip
            with pytest.raises(AssertionError, match="client_moving"):
                await house.hook("camp", SENT | {"at": 11}, apply=False)

    steps.before = ask
    await steps.run("eu")

    assert [answer.status for answer in answers] == [503, 200, 201]
    assert (answers[0].problem["code"], answers[0].headers["retry-after"]) == ("client_moving", "5")
    assert await house.contact(email="new@example.com")


@pytest.mark.parametrize("step", ["insert event", "open_fence"])
async def test_move__lists_of_all_clients_have_each_row_once_meanwhile(house: House, steps: Steps, step: str) -> None:
    """While rows are in both databases: before the switch all of them, and behind it until the last is removed, also after a kill."""

    def of_no_tool(request: WebhookRequest) -> Translation:
        return Translation(None, [])

    assert (await house.call.post("/public/crm-webhook/acme", raw=b"\x00")).status == 200
    await InboxWorker(steps.router.home, of_no_tool, house.call.clock).drain()
    job = await house.request("POST", "/public/v2/contacts/exports", {})
    assert (job.status, (await house.call.post("/admin/v1/keys", {"name": "ours", "client_id": "acme"})).status) == (201, 201)
    names = {"clients": "client_id", "deliveries": "id", "deliveries/groups": "example_id", "keys": "key_id"}

    async def listed() -> list[list[Any]]:
        pages = [[row[name] for row in (await house.call.get(f"/admin/v1/{path}")).json()["data"]] for path, name in names.items()]
        return [*pages, [row.id for row in await steps.router.read(list_jobs(None, 50))]]

    before, seen_meanwhile = await listed(), []

    async def look(name: str) -> None:
        if name == step:
            await steps.router.refresh()  # servers follow the directory
            seen_meanwhile.append(await listed())

    steps.before = look
    await steps.run("eu")
    await steps.run("us")
    await steps.run("home")

    assert all(before)
    assert seen_meanwhile
    assert [lists for lists in seen_meanwhile if lists != before] == []


async def test_move__killed_at_any_step_and_repeated_loses_nothing(router: CellRouter, house: House, steps: Steps) -> None:
    before = await seen(house)
    calls: list[str] = []

    async def count(step: str) -> None:
        calls.append(step)

    steps.before = count
    await steps.run("eu")
    await steps.run("home")
    total = len(calls) // 2
    for number in range(0, total + 1, max(1, total // 6)):

        async def kill(step: str, at: int = number) -> None:
            calls.append(step)
            if len(calls) > at:
                raise Killed

        calls.clear()
        steps.before = kill
        with suppress(Killed):
            await steps.run("eu")
        steps.before = nothing
        if number % 2:  # the operator thinks better of it
            await steps.run("home")
        else:
            await steps.run("eu")
            assert await seen(house) == before
            await steps.run("home")
        assert await seen(house) == before
        client = await router.read(find_client("acme", 0))
        assert client is not None
        assert client.state == ACTIVE
        counts = await rows_in(router, house.number)
        assert counts[0] == sum(counts)
        await house.contact(email=f"new{number}@example.com")
        before = await seen(house)


async def test_move__of_a_copy_that_differs_leaves_the_client_where_it_was(router: CellRouter, house: House, steps: Steps) -> None:
    before = await seen(house)

    async def lose(step: str) -> None:
        if step == "insert event":
            raise UnusableStore("the disk is full")

    steps.before = lose
    with pytest.raises(UnusableStore, match="the disk is full"):
        await steps.run("eu")

    assert await seen(house) == before
    counts = await rows_in(router, house.number)
    assert counts[0] == sum(counts)
    assert await house.contact(email="eve@example.com")


async def test_move__into_a_database_that_goes_down_leaves_the_client_served(
    router: CellRouter, house: House, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await seen(house)

    async def down(*_: object) -> None:
        raise StoreUnavailable("connection refused")

    async def go_down(step: str) -> None:
        if step == "insert event":
            monkeypatch.setattr(moving, "_remove", down)
            await down()

    steps.before = go_down
    with pytest.raises(StoreUnavailable, match="connection refused"):
        await steps.run("eu")
    monkeypatch.undo()

    assert await seen(house) == before
    assert await house.contact(email="eve@example.com")
    steps.before = nothing
    await steps.run("home")
    counts = await rows_in(router, house.number)
    assert counts[0] == sum(counts)


async def test_move__of_a_client_that_another_command_moves_is_refused(house: House, steps: Steps) -> None:
    async def move_too(step: str) -> None:
        if step == "insert event":
            with pytest.raises(UnusableStore, match="another `touchbase clients move`"):
                await Steps(steps.router, steps.home).run("us")

    before = await seen(house)
    steps.before = move_too
    await steps.run("eu")

    assert await seen(house) == before


async def test_move__names_what_cannot_be_moved(call: ApiClient, house: House, steps: Steps) -> None:
    with pytest.raises(NotFound, match="no database 'mars'"):
        await steps.run("mars")
    assert (await call.post("/admin/v1/clients/acme/suspend")).status == 200
    with pytest.raises(WrongState, match="suspended"):
        await steps.run("eu")


async def test_a_move__carries_references_to_object_storage_and_removes_no_object(house: House, steps: Steps, router: CellRouter) -> None:
    async with bucket_server() as server:
        bucket = Bucket(server.settings(), "tests", house.call.clock)
        for store in (router.home, *(cell.store for cell in router.cells.values())):
            store.load_bodies = BodyLoader(bucket)  # type: ignore[attr-defined]
        before = (await house.call("GET", "/admin/v1/deliveries/1")).json()["body"]
        assert await BodyMover(router.home, bucket, house.call.clock).move_all() == 1
        objects = dict(server.objects)

        await steps.run("eu")

        await BodyMover(router.home, bucket, house.call.clock).remove()
        assert server.objects == objects != {}
        assert (await house.call("GET", "/admin/v1/deliveries/1")).json()["body"] == before
        (eu,) = (cell.store for cell in router.cells.values() if cell.cell.name == "eu")
        await house.call.parts.store.write(replay_deliveries(house.number, [1], house.call.clock()))
        await BodyMover(eu, bucket, house.call.clock).restore()
        await InboxWorker(eu, read, house.call.clock).drain()
        assert (await house.call("GET", "/admin/v1/deliveries/1")).json()["state"] == "applied"
        await bucket.close()
