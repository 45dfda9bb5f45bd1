"""A world of two clients: what A keeps is full of canaries, and B tries everything."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import asyncpg
from tests.asgi_client import ApiClient, Clock, Response
from tests.connections.silent import fall_silent
from tests.event_archive.stored import archive_an_event
from tests.files import FILES
from tests.inbox.refused import refused_body
from tests.outgoing.unsent import miss_a_push, miss_an_event

from touchbase.adapters.registry import load_adapters
from touchbase.attention.plans import Snooze, snooze_item
from touchbase.auth.authentication import ADMIN, add_key
from touchbase.auth.sessions import Session, store_session
from touchbase.auth.users import ACTIVE, INVITATION, OneTimeLink, User, invite_user
from touchbase.auth.users import INVITED as INVITATION_STATE
from touchbase.clients.sql.clients import ensure_client
from touchbase.clients.sql.stored_bytes import store_count
from touchbase.common.timestamps import DAY, from_text
from touchbase.company_links.job import KINDS as LINK_KINDS
from touchbase.company_links.worker import CompanyLinker
from touchbase.connections.fetch_state import FetchResult
from touchbase.connections.service import Connections
from touchbase.connections.sql.fetching import claim_fetch, finish_fetch
from touchbase.conversations.answers import LATEST, UNDO_US, claim_answer, queue_answer
from touchbase.conversations.drafts import store_draft
from touchbase.conversations.notifications import NewNotification, store_notifications
from touchbase.conversations.plans import mark_conversation
from touchbase.deliveries.sql.objects import begin_objects
from touchbase.imports.job import KINDS
from touchbase.imports.preview import Previews
from touchbase.inbox.queries import RefusedWebhook
from touchbase.inbox.sql.refused import store_refusals
from touchbase.inbox.worker import translator
from touchbase.jobs.worker import JobWorker
from touchbase.mapping.plans import MappingJob, replay_mapped
from touchbase.rate_limit.rate_limiter import RateLimiter, Rates
from touchbase.records.sql.distinct_pairs import add_distinct_pair
from touchbase.reports.parts import HOUR, CountedPart, ReportPart, packed
from touchbase.reports.sql.parts import store_parts
from touchbase.search.sql.index import index_records
from touchbase.sql.store import Store
from touchbase.views.plans import set_default_view
from touchbase.web import Dependencies

ADAPTERS = load_adapters()
ExecuteSql = Callable[..., Awaitable[list[tuple[Any, ...]]]]

# A lives in another year than B, and its ids are of another size: a time or an id that leaks is known by its looks.
TIME_OF_A = from_text("2025-03-03T03:03:03.030303Z")
LEASE_OF_ANSWER = TIME_OF_A + DAY
TIME_OF_B = from_text("2026-11-20T09:30:00Z")
FIRST_IDS = {
    "client": 1, "contact": 7_100_001, "company": 7_200_001, "delivery": 7_300_001, "custom_field": 7_400_001, "link": 7_500_001,
    "erasure": 7_600_001, "refusal": 7_700_001, "record_merge": 7_800_001, "suppression": 7_900_001, "job": 8_000_001,
    "webhook_endpoint": 8_100_001, "webhook_attempt": 8_200_001, "message": 8_300_001,
}  # fmt: skip
LATER_IDS = {name: first + (100 if name == "client" else 50_000) for name, first in FIRST_IDS.items()}
TOKENS_OF_A, TOKENS_OF_B, LATER_TOKENS_OF_B = "a11ce0", "b0b000", "b0b111"
"""How ids and texts of keys begin, which nobody could tell apart otherwise."""
_WORD = re.compile(rf"zq\d{{3}}[a-z]+qz|2025-03-03|\b7[1-8]0\d{{4}}\b|{TOKENS_OF_A}[0-9a-f]+")
_CODED = re.compile(rb"[A-Za-z0-9_+/-]{12,}={0,2}")

CLIENT_A, FORMER_A, CLIENT_B, OTHER_B = "zq001clientqz", "zq060formerqz", "client-b", "client-b-2"
EMAIL, OTHER_EMAIL, PARKED_EMAIL = "zq002mailqz@zq003hostqz.example", "zq004otherqz@zq003hostqz.example", "zq005laterqz@example.com"
LINKEDIN = "https://www.linkedin.com/in/zq006linkqz"
DOMAIN = "zq007domainqz.example"
STATUS, NEXT_STATUS, COMPANY_STATUS = "zq008stateqz", "zq009nextqz", "zq010firmqz"
FIELD, OPTION = "zq011fieldqz", "zq012optionqz"
SECRET = "zq013secretqz"
OBJECT, PARKED_OBJECT, OBJECT_OF_A = 770_001, 770_002, 770_003
ONLY_EMAIL = "zq051onlyqz@example.com"
GONE_EMAIL = "zq061goneqz@example.com"
GONE_OBJECT, ALSO_PARKED = 770_004, 770_005
NAME = "zq062namedqz"
BIN_EMAIL = "zq070binqz@example.com"
TOKEN = "zq063tokenqz"
PUSHED_TO, PUSH_TOKEN = "lemlist", "zq095tokenqz"
OWN_FIELD = "zq019nameqz"
"""A custom field of companies that B has no name of in its calls."""
SUBJECT = "zq079subjectqz"
MAPPING = "zq074mappingqz"
EXTERNAL_ID = "zq075externalqz"
SIGNING_SECRET = "whsec_zq078secretqz"
IDEMPOTENCY_KEY, ADMINISTRATORS = "zq050idemqz", "zq069idemqz"
"""One for a request about records, one for an administrator's."""
READER = "zq099readerqz"
"""A user who reads A's replies."""
NEVER = 2**61
"""When what A keeps for a while ends: no trial comes so late."""
BEYOND = 2**62
RATES = Rates(key_requests=1e6, requests=1e6, rows=1e6, bytes=1e9, webhooks=1e6)
"""Nobody is refused, and every answer says how much is left."""


@dataclass(frozen=True)
class Request:
    """A call of B, without its key."""

    method: str
    target: str
    body: Any = None
    raw: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    foreign: bool = False
    """Whether its address names something of A, so that it must not be found."""

    def words(self) -> set[str]:
        """The canaries that B knows, as they are in the call itself."""
        return words(json.dumps([self.target, self.body, self.headers]).encode() + (self.raw or b""))


def words(data: bytes) -> set[str]:
    """The canaries in some bytes, also in what is coded there as cursors are."""
    matches = set(_WORD.findall(data.decode("utf-8", "replace").lower()))
    for coded in _CODED.findall(data):
        letters = coded.rstrip(b"=").replace(b"+", b"-").replace(b"/", b"_")
        plain = urlsafe_b64decode(letters[: len(letters) // 4 * 4 + (len(letters) % 4) * (len(letters) % 4 > 1)] + b"==")
        matches |= set(_WORD.findall(plain.decode("utf-8", "replace").lower()))
    return matches


USER = User("ua11ce000001", "zq090mailqz@a.example", "zq091nameqz", None, ACTIVE, 1)
NEWCOMER = User("ua11ce000002", "zq092mailqz@a.example", "zq093nameqz", None, INVITATION_STATE, 1)
INVITED = OneTimeLink("a11ce0000001", "digest", NEWCOMER.id, INVITATION, 1, NEVER)
SESSION = Session("a" * 64, USER.id, None, 1, NEVER - 1, "zq094agentqz", "10.0.0.1")


async def settle_people(store: Store, client: int) -> None:
    """People who may see one client: one who is signed in, one who is invited."""
    for user in (USER, NEWCOMER):
        link = replace(INVITED, id="a11ce0000002", user_id=user.id, digest=user.id) if user is USER else INVITED
        await store.write(invite_user(replace(user, grants={client: "admin"}), link))
    await store.write(store_session(SESSION))


@dataclass
class Side:
    """One client at work, with its key."""

    client_id: str
    key: str
    number: int
    call: ApiClient

    async def __call__(self, method: str, target: str, body: Any = None, raw: bytes | None = None, **headers: str) -> Response:
        return await self.call(method, target, body, raw=raw, **{"authorization": f"Bearer {self.key}", **headers})

    async def drain(self) -> None:
        """Apply what waits of this client, and of no other."""
        translate = translator(ADAPTERS.translate, await self.call.parts.connections.of(self.number))
        while (await self.call.parts.store.work(self.number, 512, translate, self.call.clock())).taken:
            pass

    async def sure(self, method: str, target: str, body: Any = None, raw: bytes | None = None, **headers: str) -> Any:
        """The answer to a call that must go well."""
        reply = await self(method, target, body, raw, **headers)
        assert reply.status < 300, (method, target, reply)
        return json.loads(reply.body) if reply.body else None


@dataclass
class Tokens:
    """What stands for chance: tokens that are always the same, and tell whose they are."""

    prefix: str = ""
    count: int = 0

    def begin(self, prefix: str) -> None:
        """From here on they begin like this."""
        self.prefix, self.count = prefix, 0

    def hex(self, size: int) -> str:
        """As `secrets.token_hex`."""
        self.count += 1
        return f"{self.prefix}{self.count:0{2 * size - len(self.prefix)}x}"

    def bytes(self, size: int) -> bytes:
        """As `secrets.token_bytes`: of nobody's, for what a store has once."""
        return b"." * size


@dataclass
class World:
    """Two clients, or B alone, in one store."""

    execute_sql: ExecuteSql
    tokens: Tokens
    clock: Clock = field(default_factory=Clock)

    async def join(self, store: Store, client_id: str) -> tuple[int, str]:
        """A new client's number and key."""
        number = (await store.write(ensure_client(client_id, self.clock()))).number
        return number, await add_key(store, number, [ADMIN], f"key of {client_id}", self.clock())

    def side(self, store: Store, client_id: str, number: int, key: str) -> Side:
        """A client with API keys, as a server process serves it that has just started."""
        connections = Connections(store, self.clock)
        parts = Dependencies(
            store=store, clock=self.clock, auth="api-key", version="1", read=ADAPTERS.translate, senders=ADAPTERS, connections=connections,
            protocol_answer=ADAPTERS.protocol_answer, limiter=RateLimiter(RATES), previews=Previews(FILES),
        )  # fmt: skip
        return Side(client_id, key, number, ApiClient(parts, self.clock))

    async def begin(self, ids: dict[str, int]) -> None:
        """Let ids begin here."""
        for name, first in ids.items():
            await self.execute_sql("UPDATE id_block SET next = ? WHERE name = ?", first, name)

    async def dump(self, client: int) -> dict[str, list[str]]:
        """Every row of a client, as text."""
        rows = {table: await self.execute_sql(f"SELECT * FROM {table} WHERE client = ?", client) for table in await self.tables()}
        rows["client"] = await self.execute_sql("SELECT * FROM client WHERE id = ?", client)
        return {table: sorted(map(repr, row)) for table, row in rows.items()}

    async def columns(self, table: str) -> list[tuple[Any, ...]]:
        """The names of a table's columns."""
        try:
            return await self.execute_sql(f"SELECT name FROM pragma_table_info('{table}')")
        except asyncpg.PostgresError:
            return await self.execute_sql("SELECT column_name::text FROM information_schema.columns WHERE table_name = ?", table)

    async def tables(self) -> list[str]:
        """The tables that hold clients' rows."""
        try:
            execute_sql = await self.execute_sql("SELECT m.name FROM sqlite_schema m, pragma_table_info(m.name) i WHERE i.name = 'client'")
        except asyncpg.PostgresError:
            execute_sql = await self.execute_sql(
                "SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE a.attname = 'client' "
                "AND c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"
            )
        return sorted(row[0] for row in execute_sql)


def hubspot(number: int, object_id: int, name: str, value: str) -> list[dict[str, Any]]:
    """A webhook call of HubSpot."""
    return [
        {
            "portalId": 40117, "appId": 220011, "subscriptionId": 880, "attemptNumber": 0, "changeSource": "CRM_UI", "eventId": number,
            "subscriptionType": "contact.propertyChange", "objectId": object_id, "propertyName": name, "propertyValue": value,
            "occurredAt": 1_740_000_000_000 + number,
        }
    ]  # fmt: skip


def instantly(event: str, email: str, campaign: str) -> dict[str, Any]:
    """A webhook call of Instantly."""
    return {
        "event_type": event, "timestamp": "2025-03-02T10:00:00.000Z", "workspace": "w1", "campaign_id": "c1", "campaign_name": campaign,
        "lead_email": email, "email_account": "you@example.net",
    }  # fmt: skip


def calls(campaign: str) -> Iterator[tuple[str, bytes]]:
    """Webhook calls by channel: applied, parked, unrecognised, ignored, and one that is no text."""
    yield "emailcampaign-webhook", json.dumps(instantly("email_sent", EMAIL, campaign)).encode()
    yield "emailcampaign-webhook", json.dumps(instantly("reply_received", EMAIL, campaign)).encode()
    yield "emailcampaign-webhook", json.dumps(instantly("account_error", EMAIL, campaign)).encode()
    yield "crm-webhook", json.dumps(hubspot(1, OBJECT, "email", EMAIL)).encode()
    yield "crm-webhook", json.dumps(hubspot(2, OBJECT, "firstname", "zq014firstqz")).encode()
    yield "crm-webhook", json.dumps(hubspot(7, OBJECT, "associatedcompanyid", "770006")).encode()  # a company that is still unknown
    yield "crm-webhook", json.dumps(hubspot(3, PARKED_OBJECT, "firstname", "zq015waitqz")).encode()
    yield "crm-webhook", b"zq016riddleqz \xff"
    yield "crm-webhook", b'{"riddle": "zq017riddleqz"}'


async def furnish(a: Side) -> None:
    """Everything that a client can have, through the interface, each text a canary."""
    store = a.call.parts.store
    settings = {
        "contact_statuses": {"statuses": [STATUS, NEXT_STATUS], "transitions": {STATUS: [NEXT_STATUS]}},
        "company_statuses": {"statuses": [COMPANY_STATUS]},
        "contact_fields": {FIELD: {"type": "select", "options": [OPTION]}},
        "link_companies_by_email": "existing",
    }
    await a.sure("PUT", f"/admin/v1/clients/{a.client_id}", {"settings": settings})
    company = await a.sure("POST", "/public/v2/companies", {
        "domain": DOMAIN, "name": "zq018nameqz", "company_status": COMPANY_STATUS, "external_id": EXTERNAL_ID,
        "company_custom_fields": [{"field_name": OWN_FIELD, "field_value": "zq020valueqz"}],
    })  # fmt: skip
    contact = await a.sure("POST", "/public/v2/contacts", {
        "email": OTHER_EMAIL, "linkedin_url": LINKEDIN, "first_name": "zq021firstqz", "last_name": "zq022lastqz",
        "company_id": company["id"], "origin": "zq023originqz", "contact_status": STATUS, "external_id": EXTERNAL_ID,
        "contact_custom_fields_input": [{"field_name": FIELD, "field_value": OPTION}],
    })  # fmt: skip
    a.call.clock.move(1)
    changed = {"email": EMAIL, "last_name": "zq024lastqz", "contact_status": NEXT_STATUS}
    await a.sure("PATCH", f"/public/v2/contacts/{contact['id']}", changed)
    await a.sure("PATCH", f"/public/v2/companies/{company['id']}", {"name": "zq025nameqz"})
    for number in range(2):
        await a.sure("POST", "/public/v2/contacts", {"first_name": f"zq03{number}firstqz"})
        await a.sure("POST", "/public/v2/companies", {"domain": f"zq04{number}hostqz.example"})
    await store.write(index_records(a.number))
    await a.sure("POST", "/public/v2/contacts", {"company_id": company["id"]}, idempotency_key=IDEMPOTENCY_KEY)
    for connection in (
        {
            "channel": "crm", "tool": "hubspot", "access_token": TOKEN,
            "settings": {"status_labels": {"zq028labelqz": STATUS}, "objects": {"zq071ignoredqz": "ignore"}},
        },
        {"channel": "email_campaign", "tool": "instantly"},
    ):  # fmt: skip
        await a.sure("POST", f"/admin/v1/clients/{a.client_id}/connections", connection)
    for channel, raw in calls("zq026campaignqz"):
        await a.sure("POST", f"/public/{channel}/{a.client_id}?hint=zq027queryqz", raw=raw)
    await a.sure("POST", f"/public/crm-webhook/{a.client_id}", raw=json.dumps(hubspot(4, OBJECT_OF_A, "email", ONLY_EMAIL)).encode())
    await a.sure("POST", f"/public/crm-webhook/{a.client_id}", raw=json.dumps(hubspot(6, ALSO_PARKED, "firstname", "zq068waitqz")).encode())
    await a.drain()
    await fall_silent(store, a.number, a.call.clock() + DAY)
    await miss_an_event(store, a.number, a.call.clock(), secret=SIGNING_SECRET, text="zq077hookqz")
    await archive_an_event(a.call.parts.store, a.number, TIME_OF_A)
    await _erase_somebody(a)
    # One that waits: whoever takes it must work for A.
    await a.sure("POST", f"/public/crm-webhook/{a.client_id}", raw=b'{"riddle": "zq052waitqz"}')
    for channel, tool in (("crm", "hubspot"), ("email_campaign", "instantly")):
        await a.sure("PATCH", f"/admin/v1/clients/{a.client_id}/connections/{channel}/{tool}", {"secrets": [SECRET]})
    await _ask_hubspot(store, a.number)
    await _refuse_and_upload(store, a.number)
    await store.write(store_count(a.number, 5, TIME_OF_A, 0))
    await store.write(store_parts(a.number, {(0, HOUR): CountedPart(0, ReportPart(), packed(ReportPart()))}, TIME_OF_A))
    listed = [{"value": EMAIL, "note": "zq053noteqz"}, {"value": DOMAIN}, {"value": LINKEDIN, "reason": "legal"}]
    await a.sure("POST", "/public/v2/suppressions", {"entries": listed})
    await push(a, PUSH_TOKEN)
    for number in range(2):
        message = {"direction": "received", "contact_email": EMAIL, "text": "zq071textqz", "message_id": f"zq072idqz{number}"}
        message |= {"subject": SUBJECT, "custom_fields": {FIELD: OPTION}}
        await a.sure("POST", "/public/v2/messages", message)
    [conversation] = (await a.sure("GET", f"/team/v1/conversations?client_id={a.client_id}"))["data"]
    await a.sure("PATCH", f"/team/v1/conversations/{a.client_id}/{conversation['contact']['id']}", {"label": "later"})
    await _of_people(store, a, conversation["contact"]["id"])
    reply = conversation["newest"]["message_id"]
    await _be_done(a)
    for text in ("zq096answerqz", "zq097sendingqz", "zq098failedqz"):
        contact, now = conversation["contact"]["id"], a.call.clock()
        answer = (await store.write(queue_answer(a.number, contact, reply, text, now, confirmed=True))).id
        if text != "zq096answerqz":
            later = LATEST if "failed" in text else 0
            await store.write(claim_answer(a.number, answer, now + UNDO_US + later + 1, LEASE_OF_ANSWER))
    await _import(a)
    await _keys(a)
    await _delete_and_merge(a)
    await _link(a)
    await a.sure("PATCH", f"/admin/v1/clients/{a.client_id}", {"name": NAME})


async def _be_done(a: Side) -> None:
    """A conversation whose reply is handled."""
    contact = await a.sure("POST", "/public/v2/contacts", {"email": "zq104doneqz@a.example"})
    await a.sure("POST", "/public/v2/messages", {"direction": "received", "contact_id": contact["id"], "text": "zq105doneqz"})
    await a.sure("PATCH", f"/team/v1/conversations/{a.client_id}/{contact['id']}", {"state": "done"})


async def _of_people(store: Store, side: Side, contact: int) -> None:
    """What belongs to a person about a contact: a read mark, a draft, a notification."""
    await store.write(mark_conversation(side.number, contact, READER))
    await store.write(store_draft(side.number, contact, READER, "zq100draftqz", side.call.clock()))
    await side.sure("POST", f"/team/v1/notes/{side.client_id}/contacts/{contact}", {"text": "zq103noteqz"})
    await side.sure(
        "POST", f"/team/v1/tasks/{side.client_id}/contacts/{contact}", {"text": "zq104taskqz", "due_at": "2026-11-20T08:00:00Z"}
    )
    view = {"name": "zq104viewqz", "kind": "contact", "where": {"first_name": "zq105filterqz"}, "visibility": "shared"}
    saved = await side.sure("POST", f"/team/v1/views/{side.client_id}", view)
    await store.write(set_default_view(side.number, saved["id"], READER, True))
    await store.write(replay_mapped(side.number, 1, MappingJob("crm", "generic", None, {}, "received"), 2**53, 9, side.call.clock()))
    other = await side.sure("POST", "/public/v2/contacts", {"first_name": "zq107otherqz"})
    await store.write(add_distinct_pair(side.number, 1, (contact, other["id"]), READER, side.call.clock()))
    await store.write(snooze_item(Snooze(side.number, "zq106itemqz", "warning", None, LATEST), 1))
    new_notification = NewNotification(READER, "critical", "zq101toldqz", contact, "zq102aboutqz", mail_us=1)
    await store.write(store_notifications(side.number, [new_notification], side.call.clock(), 1))


async def push(side: Side, token: str) -> None:
    """Connect a tool whose blocklist took one of the client's entries and refused another."""
    connection = {"channel": "email_campaign", "tool": PUSHED_TO, "access_token": token}
    await side.sure("POST", f"/admin/v1/clients/{side.client_id}/connections", connection)
    endpoint = await side.sure("POST", "/public/v2/webhook-endpoints", {"kind": "blocklist", "tool": PUSHED_TO})
    events = (await side.sure("GET", "/public/v2/events?types=suppression.added&limit=200"))["data"]
    sequences = [int(event["id"].removeprefix("evt_")) for event in events[:2]]
    await miss_a_push(side.call.parts.store, side.number, endpoint["id"], sequences, side.call.clock())


async def _erase_somebody(a: Side) -> None:
    """Somebody whom A has erased, with what their tool told."""
    gone = await a.sure("POST", "/public/v2/contacts", {"email": GONE_EMAIL, "first_name": "zq064firstqz"})
    await a.sure("POST", f"/public/crm-webhook/{a.client_id}", raw=json.dumps(hubspot(5, GONE_OBJECT, "email", GONE_EMAIL)).encode())
    await a.drain()
    erasure = await a.sure("DELETE", f"/public/v2/contacts/{gone['id']}?erase=true")
    assert erasure["removed"]["links"] == 1


async def _delete_and_merge(a: Side) -> None:
    """A contact and a company in the bin, and a contact that is part of another one."""
    number = (await a.sure("POST", "/public/v2/contacts", {"email": BIN_EMAIL, "first_name": "zq071firstqz"}))["id"]
    company = (await a.sure("POST", "/public/v2/companies", {"domain": "zq072hostqz.example"}))["id"]
    await a.sure("DELETE", f"/public/v2/contacts/{number}")
    await a.sure("DELETE", f"/public/v2/companies/{company}")
    merged = [(await a.sure("POST", "/public/v2/contacts", {"email": f"zq07{n}mergeqz@example.com"}))["id"] for n in (3, 4)]
    for n, number in zip((3, 4), merged, strict=True):  # both have an address in turn
        for email in ("zq075turnqz@example.com", f"zq07{n}mergeqz@example.com"):
            await a.sure("PATCH", f"/public/v2/contacts/{number}", {"email": email})
    await a.sure("POST", f"/public/v2/contacts/{merged[0]}/merge", {"with": merged[1:]})


async def _link(a: Side) -> None:
    """A contact that waits for a company with the domain of its address."""
    await a.sure("POST", "/public/v2/contacts", {"email": "zq089mailqz@zq088hostqz.com"})
    await CompanyLinker(a.call.parts.store, a.call.clock, pause=0).drain()
    [job] = (await a.sure("GET", "/public/v2/jobs?kind=contacts.link_companies"))["data"]
    await JobWorker(a.call.parts.store, a.call.clock, LINK_KINDS).run_job(a.number, job["id"])


async def _refuse_and_upload(store: Store, number: int) -> None:
    """A refused webhook, and an upload to object storage that has begun."""
    refused = RefusedWebhook(number, TIME_OF_A, "crm", "not_verified", "hubspot", 7, {"user-agent": "zq069agentqz"})
    await store.write(store_refusals(number, [refused], bodies=[refused_body(number, TIME_OF_A)]))
    await store.write(begin_objects(number, ["a/place"], TIME_OF_A))


async def _ask_hubspot(store: Store, number: int) -> None:
    """A worker has asked HubSpot in vain: one record is noted, others are still wanted, and it is asked again later."""
    claimed = await store.write(claim_fetch(number, "hubspot", BEYOND, TIME_OF_A, 9))
    assert claimed is not None
    assert len(claimed.requests) == 2
    at = TIME_OF_A + 1
    assert await store.write(
        finish_fetch(
            number, "hubspot", TIME_OF_A, FetchResult(at, 1, error="zq065troubleqz", at=at, not_found=claimed.requests[:1], fetched_us=at)
        )
    )


async def _import(a: Side) -> None:
    """A file with a preview, one that was imported with bad rows, and a mapping."""
    file = b"email,zq072columnqz\nzq070newqz@zq003hostqz.example,zq071cellqz\nzq073badqz,x\n"
    await a.sure("POST", "/public/v2/contacts/imports", raw=file)
    job = await a.sure("POST", "/public/v2/contacts/imports", raw=file)
    await a.sure("POST", f"/public/v2/jobs/{job['id']}/start", {"save_as": MAPPING})
    await JobWorker(a.call.parts.store, a.call.clock, KINDS, sandbox=FILES).run_job(a.number, job["id"])
    assert (await a.sure("GET", f"/public/v2/jobs/{job['id']}"))["files"] != {}


async def _keys(a: Side) -> None:
    """A key that has a successor, and one that is revoked."""
    first = await a.sure("POST", "/admin/v1/keys", {"name": "zq066keyqz"}, idempotency_key=ADMINISTRATORS)
    await a.sure("POST", f"/admin/v1/keys/{first['key_id']}/rotate", {})
    await a.sure("POST", f"/admin/v1/clients/{a.client_id}/report-links", {"name": NAME})
    other_sure = await a.sure("POST", "/admin/v1/keys", {"name": "zq067keyqz"})
    await a.sure("DELETE", f"/admin/v1/keys/{other_sure['key_id']}")
