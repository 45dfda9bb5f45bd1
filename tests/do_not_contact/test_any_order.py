"""Any sequence of requests and webhooks: nothing but its explicit end lifts an opt-out."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import MakeClient
from tests.do_not_contact.conftest import CONTACTS, LIST, DoNotContact, read
from tests.examples import examples

from touchbase.clients.sql.clients import find_client
from touchbase.imports.report import ImportOptions
from touchbase.imports.rows import ContactCells, ValidRow
from touchbase.imports.sql import import_rows
from touchbase.imports.table import Row
from touchbase.records.create import creation_of
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.sql.store import Store

HYPOTHESIS = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
CLIENTS = itertools.count(1)
STATUSES = ("new", "customer", "do_not_contact", "DNC")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "unsubscribe",
                "list",
                "status",
                "email",
                "further",
                "unset",
                "put",
                "import",
                "merge",
                "undo",
                "delete",
                "restore",
                "create",
                "crm_status",
                "replay",
                "end",
            )
        ),
        st.integers(0, 5),
        st.integers(0, 3),
    ),
    min_size=6,
    max_size=16,
)


@dataclass
class World:
    """The contacts of one client, and which of them must be suppressed."""

    dnc: DoNotContact
    client: str
    contacts: dict[int, str] = field(default_factory=dict)
    """Id -> present address."""
    deleted: dict[int, str] = field(default_factory=dict)
    merges: list[tuple[int, int, int, dict[int, bool]]] = field(default_factory=list)
    """Survivor, merge, the other one, and who was suppressed before."""
    suppressed: set[int] = field(default_factory=set)
    gone: dict[str, bool] = field(default_factory=dict)
    """Last address of a deleted contact -> whether it was suppressed."""
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    async def request(self, method: str, path: str, body: object = None) -> Any:
        self.dnc.call.clock.move(1)
        return await self.dnc.call(method, path, body, x_client_id=self.client)

    def new_address(self) -> str:
        return f"p{next(self.numbers)}@example.com"

    async def hook(self, **event: Any) -> None:
        self.dnc.call.clock.move(1)
        reply = await self.dnc.call("POST", f"/public/crm-webhook/{self.client}", [{"occurred_us": self.dnc.call.clock.now, **event}])
        assert reply.status == 200
        await self.dnc.work()

    async def create(self, email: str, **fields: str) -> None:
        reply = await self.request("POST", CONTACTS, {"email": email, **fields})
        assert reply.status == 201, reply
        number = reply.json()["id"]
        self.contacts[number] = email
        if self.gone.get(email):
            self.suppressed.add(number)

    async def step(self, name: str, which: int, second: int) -> None:  # noqa: PLR0912, PLR0915 - one branch for each kind of step
        ids = sorted(self.contacts)
        number = ids[which % len(ids)] if ids else 0
        status = STATUSES[second]
        if name == "create" or not ids:
            free = [address for address in self.gone if address not in self.contacts.values()]
            await self.create(free[which % len(free)] if free and second else self.new_address())
        elif name == "unsubscribe":
            await self.hook(event="email_unsubscribed", email=self.contacts[number], key=f"k{next(self.numbers)}")
            self.suppressed.add(number)
        elif name == "list":
            assert (await self.request("POST", LIST, {"value": self.contacts[number]})).status in (200, 201)
            self.suppressed.add(number)
        elif name == "crm_status":
            await self.hook(event="contact.status_changed", email=self.contacts[number], status=status, key=f"k{next(self.numbers)}")
        elif name == "status":
            assert (await self.request("PATCH", f"{CONTACTS}/{number}", {"contact_status": status})).status == 200
        elif name == "put":
            body = {"email": self.contacts[number], "contact_status": status}
            assert (await self.request("PUT", f"{CONTACTS}?match=email", body)).status == 200
        elif name == "import":
            await self.import_row(self.contacts[number], status)
        elif name in ("further", "unset"):
            body = {"emails": [self.contacts[number], self.new_address()]} if name == "further" else {"email": None}
            shown = await self.request("PATCH", f"{CONTACTS}/{number}", body)
            if shown.json().get("email") is None:  # a contact without an address cannot be told from others here
                shown = await self.request("PATCH", f"{CONTACTS}/{number}", {"email": self.new_address()})
            assert shown.status == 200
            self.contacts[number] = shown.json()["email"]
        elif name == "email":
            self.contacts[number] = address = self.new_address()
            assert (await self.request("PATCH", f"{CONTACTS}/{number}", {"email": address})).status == 200
        elif name == "merge" and len(ids) > 1:
            await self.merge(number, ids[(which + 1 + second % (len(ids) - 1)) % len(ids)])
        elif name == "undo" and self.merges:
            await self.undo()
        elif name == "delete":
            assert (await self.request("DELETE", f"{CONTACTS}/{number}")).status == 200
            self.deleted[number] = self.contacts.pop(number)
            self.gone[self.deleted[number]] = number in self.suppressed
            self.merges = [item for item in self.merges if item[0] != number]
        elif name == "restore" and self.deleted:
            back = sorted(self.deleted)[which % len(self.deleted)]
            if (await self.request("POST", f"{CONTACTS}/{back}/restore")).status == 200:
                self.contacts[back] = self.deleted.pop(back)
        elif name == "replay":
            [*deliveries] = (await self.dnc.call.get(f"/admin/v1/deliveries?client={self.client}")).json()["data"]
            for delivery in deliveries[:1]:
                await self.dnc.replay(delivery["id"])
        elif name == "end":
            await self.end(number)
        if name in ("status", "put", "crm_status", "import") and status in ("do_not_contact", "DNC") and number in self.contacts:
            self.suppressed.add(number)

    async def import_row(self, email: str, status: str) -> None:
        """Import a row about an address."""
        store, now = self.dnc.call.parts.store, self.dnc.call.clock()
        client = await store.read(find_client(self.client))
        assert client is not None
        row = ValidRow(Row(1, []), creation_of(CONTACT_TYPE, ContactCells(email=email, contact_status=status), client, now, "update"))
        await store.write(import_rows(client.number, "contact", [row], ImportOptions(started_us=now), now, client.settings))

    async def merge(self, survivor: int, absorbed: int) -> None:
        if survivor == absorbed:
            return
        before = {number: number in self.suppressed for number in (survivor, absorbed)}
        reply = await self.request("POST", f"{CONTACTS}/{survivor}/merge", {"with": [absorbed]})
        assert reply.status == 200, reply
        del self.contacts[absorbed]
        self.contacts[survivor] = reply.json()["contact"]["email"]
        self.merges = [item for item in self.merges if absorbed not in item[:1]]
        self.merges.append((survivor, reply.json()["merge_id"], absorbed, before))
        if before[absorbed]:
            self.suppressed.add(survivor)

    async def undo(self) -> None:
        survivor, merge, absorbed, before = self.merges.pop()
        if (await self.request("POST", f"{CONTACTS}/{survivor}/merge/{merge}/undo")).status != 200:
            return
        for number in (survivor, absorbed):
            self.contacts[number] = (await self.request("GET", f"{CONTACTS}/{number}")).json()["email"]
            self.suppressed.discard(number)
            if before[number]:
                self.suppressed.add(number)

    async def end(self, number: int) -> None:
        """The explicit act: another status, and every entry of the client removed."""
        for contact in sorted(self.contacts):
            await self.request("PATCH", f"{CONTACTS}/{contact}", {"contact_status": "new"})
        for entry in (await self.request("GET", f"{LIST}?limit=200")).json()["data"]:
            assert (await self.request("DELETE", f"{LIST}/{entry['id']}")).status == 204
        self.suppressed.clear()
        self.gone = dict.fromkeys(self.gone, False)
        self.merges.clear()
        self.deleted.clear()
        for contact in self.contacts:
            assert not (await self.request("GET", f"{CONTACTS}/{contact}/suppression")).json()["suppressed"]

    async def check(self) -> None:
        free = (await self.request("GET", f"{CONTACTS}/export?format=csv&fields=email&suppressed=false")).body.decode()
        for number in self.suppressed & self.contacts.keys():
            assert (await self.request("GET", f"{CONTACTS}/{number}/suppression")).json()["suppressed"], number
            assert f"{self.contacts[number]}\r" not in free


@HYPOTHESIS
@given(steps=STEPS)
async def test_opt_out__ends_by_an_explicit_act_only(steps: list[tuple[str, int, int]], memory: Store, make_client: MakeClient) -> None:
    dnc = DoNotContact(make_client(memory, read=read))
    world = World(dnc, f"any{next(CLIENTS)}")
    for step in steps:
        await world.step(*step)
        await world.check()
