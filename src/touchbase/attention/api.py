"""HTTP resources of the attention list, and the counters of what a team works through."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.attention import plans
from touchbase.attention.plans import CRITICAL, KEY_NOTICE, KINDS, WARNING, Item, Snooze, list_items, list_snoozes, snooze_item, wake_item
from touchbase.auth.authentication import ADMIN, READ, WRITE, Principal
from touchbase.auth.service import list_keys
from touchbase.clients.models import ACTIVE, Client
from touchbase.clients.sql.stored_bytes import list_near_limit
from touchbase.clients.stored_bytes import is_above, percent_of
from touchbase.common.misspelt import MOST_NAMES, suggest
from touchbase.common.timestamps import to_text_or_none
from touchbase.conversations.api import CLIENT
from touchbase.conversations.api import TAG as CONVERSATIONS
from touchbase.conversations.plans import MOST_COUNTED, OPEN, SNOOZED, count_conversations
from touchbase.errors import Fault, Invalid, NotFound
from touchbase.history.problems import FIELDS_LEFT_OUT, STATUS_REFUSED
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import LARGEST_PAGE, LIMIT, PAGE, cursor_text, parse_time
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import MaybeTime, PageOf, encode, example, named_enum
from touchbase.inbox.refused import CAUSES, NO_CLIENT
from touchbase.statuses.models import PLURALS
from touchbase.tasks.plans import count_due_tasks

TAG = Tag("Attention", "What needs a person, over all clients that a key may see.")
PATH = "/team/v1/attention"
_KIND = named_enum("AttentionKind", "What needs a person.", KINDS)
_SEVERITY = named_enum("AttentionSeverity", "Whether something is lost or stands still, or only waits.", (CRITICAL, WARNING))
_RECORDS = named_enum("AttentionRecords", "Which records a refused status is for.", (*PLURALS.values(),))
_STATES = (OPEN, SNOOZED)
named_enum("AttentionState", "Which items a list has.", _STATES)
BY_CLIENT = query.flag("by_client", "Also the open conversations of each client that has any.")
ATTENTION = query.flag("attention", "Also how much needs a person, which costs as much as the list of it.")
KIND = query.choice("kind", KINDS, "Only items of this kind.")
STATE = query.choice("state", _STATES, "Items that are open, or that are snoozed; left out: open ones.")


class AttentionItem(Struct, kw_only=True):
    """One thing that needs a person; it is gone as soon as its cause is."""

    id: Annotated[str, Meta(description="Name of the item, as long as its cause stays.")]
    kind: Annotated[str, Meta(extra_json_schema=_KIND, description="What happened.")]
    severity: Annotated[str, Meta(extra_json_schema=_SEVERITY, description="How urgent it is.")]
    client_id: Annotated[str | None, Meta(description="null: it is of no client.")]
    title: Annotated[str, Meta(description="What is wrong, in a sentence.")]
    next: Annotated[str, Meta(description="What to do about it.")]
    count: Annotated[int, Meta(description="How many there are: webhooks, people, replies.")]
    since: Annotated[MaybeTime, Meta(description="When it began.")]
    last_at: Annotated[MaybeTime, Meta(description="When it happened last.")]
    channel: str | None = None
    tool: Annotated[str | None, Meta(description="The tool that it is about.")] = None
    target_id: Annotated[
        int | None, Meta(description="The endpoint, the job, the newest webhook, or the contact who waits longest or got no answer.")
    ] = None
    status: Annotated[str | None, Meta(description="The refused status, as events ask for it.")] = None
    records: Annotated[Annotated[str, Meta(extra_json_schema=_RECORDS)] | None, Meta(description="Which records the status is for.")] = None
    snoozed_until: Annotated[MaybeTime, Meta(description="Until when it is left out of the list; null: it is not.")] = None


class AttentionPage(PageOf[AttentionItem]):
    """A page of items, critical ones first; `next_cursor` is null on the last one."""

    snoozed: Annotated[int, Meta(description="How many items are snoozed, of the same kind and clients.")]


class AttentionChange(Struct, forbid_unknown_fields=True):
    """A snooze of an item, or its end."""

    snoozed_until: Annotated[
        MaybeTime, Meta(description="When the item comes back: earlier if it gets critical, or begins anew. null ends the snooze now.")
    ]


class OpenOfClient(Struct):
    """The open conversations of one client."""

    client_id: str
    open: Annotated[int, Meta(description="With a reply of a person that is not handled, up to 999.")]


class Counters(Struct):
    """Numbers of conversations, due tasks and what needs a person, each up to 999."""

    open: Annotated[int, Meta(description="With a reply of a person that is not handled.")]
    snoozed: Annotated[int, Meta(description="The same, until a time or the next reply.")]
    automatic: Annotated[int, Meta(description="With replies of machines alone.")]
    unassigned: Annotated[int, Meta(description="Open ones on which nobody works.")]
    mine: Annotated[int, Meta(description="Open ones of the person who calls; 0 for a key.")]
    unread: Annotated[int, Meta(description="Open ones that the person who calls has not read; 0 for a key.")]
    tasks_due: Annotated[
        int, Meta(description="Open tasks of the person who calls that are due, or will be today; for a key of all that are due.")
    ]
    attention: Annotated[int | UnsetType, Meta(description="With `attention`: what needs a person and is not snoozed.")] = UNSET
    clients: Annotated[list[OpenOfClient] | UnsetType, Meta(description="With `by_client`: the clients with open ones.")] = UNSET


example(
    AttentionItem,
    {
        "id": "5f3a9c01b27d44e0", "snoozed_until": None,
        "kind": "refused_webhooks", "severity": "critical", "client_id": "acme", "next": "enter the secret of the tool's webhook",
        "title": "157 webhooks of pipedrive were refused: the signature is missing or wrong", "count": 157,
        "since": "2026-11-26T09:12:00Z", "last_at": "2026-11-27T08:00:00Z", "channel": "crm", "tool": "pipedrive", "target_id": None,
        "status": None, "records": None,
    },
)  # fmt: skip
example(Counters, {"open": 46, "snoozed": 5, "automatic": 14, "unassigned": 31, "mine": 12, "unread": 4, "tasks_due": 3})
example(AttentionChange, {"snoozed_until": "2026-11-30T08:00:00Z"})


async def list_attention(call: Call) -> Response:
    """Handle `GET` of a page of items."""
    caller, parameters = await call.principal(of_several=True), call.parameters()
    kind, is_snoozed, start = parameters[KIND], parameters[STATE] == SNOOZED, parameters.cursor(PATH, tuple[int]) or (0,)
    parameters.done()
    items = [item for item in await _items(call, caller, parameters[CLIENT]) if kind in (None, item.kind)]
    wanted = [item for item in items if is_snoozed == (item.snoozed_until_us is not None)]
    limit, first = min(parameters[LIMIT], LARGEST_PAGE), start[0]
    end = first + limit
    cursor = cursor_text(PATH, (end,)) if end < len(wanted) else None
    page = wanted[first:end]
    snoozed = len(wanted) if is_snoozed else len(items) - len(wanted)
    return Response(body=encode({"data": await _shown(call, page), "next_cursor": cursor, "snoozed": snoozed}))


async def change_attention(call: Call) -> Response:
    """Handle `PATCH` of one item."""
    caller, id = await call.principal(of_several=True), call.path("item_id")
    call.parameters().done()
    body, store, now = await call.body(AttentionChange), call.api.dependencies.store, call.api.dependencies.clock()
    faults: list[Fault] = []
    until = parse_time(body.snoozed_until, "/snoozed_until", faults)
    if until is not None and until <= now:
        faults.append(Fault("/snoozed_until", "time", "must lie in the future; send null to end a snooze"))
    if faults:
        raise Invalid(faults)
    item = next((item for item in await _items(call, caller, None) if item.key == id), None)
    if item is None:
        raise NotFound(f"nothing that you may see needs a person under the id {id[:40]!r}; GET {PATH} lists what does")
    if until is None:
        await store.write(wake_item(item.client, id))
    else:
        await store.write(snooze_item(Snooze(item.client, id, item.severity, item.last_us or item.since_us, until), now))
    item.snoozed_until_us = until
    return Response(body=encode((await _shown(call, [item]))[0]))


async def get_counters(call: Call) -> Response:
    """Handle `GET` of the numbers of conversations."""
    caller, parameters = await call.principal(of_several=True), call.parameters()
    parameters.done()
    clients, user_id = await call.visible(caller, parameters[CLIENT]), "" if caller.user is None else caller.user.id
    counts = await call.api.dependencies.store.read(count_conversations(clients, call.api.dependencies.clock(), user_id))
    now = call.api.dependencies.clock()
    ends = now + 1 if caller.user is None else caller.user.day_ends(now)
    tasks = await call.api.dependencies.store.read(count_due_tasks(clients, user_id or None, ends))
    numbers = asdict(counts)
    by_client = numbers.pop("by_client")
    shown = Counters(**numbers, tasks_due=min(sum(tasks.values()), MOST_COUNTED))
    if parameters[ATTENTION]:
        items = await _items(call, caller, parameters[CLIENT])
        shown.attention = min(sum(item.snoozed_until_us is None for item in items), MOST_COUNTED)
    if parameters[BY_CLIENT]:
        named = await call.api.clients.of(by_client)
        shown.clients = [OpenOfClient(named[number].client_id, by_client[number]) for number in sorted(by_client.keys() & named.keys())]
    return Response(body=encode(shown))


async def _items(call: Call, caller: Principal, named: str | None) -> list[Item]:
    """Return the items that the caller may see, snoozed ones too; `named`: of this client."""
    clients, now, store = await call.visible(caller, named), call.api.dependencies.clock(), call.api.dependencies.store
    items, further = await store.read(list_items(clients, now)), list[Item]()
    for share in await store.read(list_near_limit()):
        if clients is None or share.client in clients:
            severity = CRITICAL if is_above(100, share.stored_bytes, share.limit_bytes) else WARNING
            used = f"{percent_of(share.stored_bytes, share.limit_bytes)} % of {share.limit_bytes} bytes"
            further.append(Item(plans.STORED_BYTES, share.client, 1, None, None, severity, about=used))
    if clients is None and ADMIN in caller.scopes:
        further += [Item(plans.SERVER, NO_CLIENT, 1, None, None, about=warning) for warning in store.warnings]
        keys, _ = await list_keys(store, now, LARGEST_PAGE, state="active")
        ending = [key for key in keys if key.expires_us is not None and key.expires_us < now + KEY_NOTICE and key.replaced_by is None]
        further += [
            Item(
                plans.KEY, key.client or NO_CLIENT, 1, None, None, about=f"{key.name or key.key_id} ends {to_text_or_none(key.expires_us)}"
            )
            for key in ending
        ]
    if further:
        plans.mark_snoozed(further, await store.read(list_snoozes(clients, now)))
    return plans.in_order(items + further)


async def _shown(call: Call, items: list[Item]) -> list[AttentionItem]:
    shown = await call.api.clients.of(item.client for item in items)
    names: list[str] = []
    if any(item.kind == plans.UNKNOWN for item in items):
        candidates, _ = await call.api.clients.page(MOST_NAMES // 2, None, state=ACTIVE)
        names = [name for client in candidates for name in (client.client_id, client.name) if name]
    return [_out(item, shown.get(item.client), names) for item in items]


def _out(item: Item, client: Client | None, names: list[str]) -> AttentionItem:
    title, following = _words(item, names)
    return AttentionItem(
        id=item.key, kind=item.kind, severity=item.severity, client_id=None if client is None else client.client_id, title=title,
        next=following, count=item.count, since=to_text_or_none(item.since_us), last_at=to_text_or_none(item.last_us), channel=item.channel,
        tool=item.tool, target_id=item.id, status=item.about if item.kind == STATUS_REFUSED else None,
        records=None if item.record_kind is None else PLURALS[item.record_kind], snoozed_until=to_text_or_none(item.snoozed_until_us),
    )  # fmt: skip


_WORDS: dict[str, tuple[str, str]] = {
    plans.UNKNOWN: ("{many} for {about}", "correct the address in the tool, then replay them"),
    plans.REFUSED: ("{many} of {tool} refused: {about}", "enter the secret of the tool's webhook, then replay them"),
    plans.ENDPOINT: ("{about}", "look at its attempts, then resume or remove it"),
    plans.SILENT: ("nothing from {tool}, which usually calls", "look at the webhook in the tool"),
    plans.FETCHING: ("records of {tool} are not fetched: {about}", "give the connection a new access token"),
    plans.NOT_APPLIED: ("{many} of {tool} not applied", "look at one, then replay them"),
    plans.NOT_RECOGNISED: ("{many} of {tool} not recognised", "map their fields, or let the tool send less"),
    STATUS_REFUSED: (
        '{many} of {tool}: the client\'s set refuses the status "{about}"',
        "add it to the set, or merge it into one of the set",
    ),
    FIELDS_LEFT_OUT: ("{many} of {tool} had more custom fields than a record may have", "choose the fields in the tool, or map them"),
    plans.JOB: ("{about}", "start it again"),
    plans.BAD_ROWS: ("{about} left out {many}", "correct the file of these rows, and import it"),
    plans.ERASURE: ("people whom a CRM asks to erase: {count}", "erase or restore each"),
    plans.WAITING_REPLY: ("promising replies wait for more than a working day: {count}", "answer, snooze or close them"),
    plans.UNSENT: ("answers that were not sent, or perhaps not: {count}", "look into the tool, then send each again or remove it"),
    plans.STORED_BYTES: ("the client stores {about}", "delete data, or raise the limit"),
    plans.KEY: ("the key {about}", "rotate it"),
    plans.SERVER: ("{about}", "ask whoever runs the server"),
}
"""Problem and cure, by kind."""


UNKNOWN_TOOLS = {"crm": "an unknown CRM", "email_campaign": "an unknown campaign tool"}


def _words(item: Item, names: list[str]) -> tuple[str, str]:
    about = item.about or ""
    if item.kind == plans.UNKNOWN:
        meant = suggest(about, names)
        about = f'"{about}", which no client has' + (f'; "{meant}"?' if meant else "")
    title, following = _WORDS[item.kind]
    noun = "row" if item.kind == plans.BAD_ROWS else "webhook"
    many = f"{item.count:,} {noun}{'' if item.count == 1 else 's'}"
    tool = (item.tool if item.tool != "generic" else None) or UNKNOWN_TOOLS.get(item.channel or "", "an unknown tool")
    shown = title.format(many=many, tool=tool, about=CAUSES.get(about, about), id=item.id, count=item.count)
    return shown, following


ROUTES = [
    Route(
        "GET", PATH, list_attention, scope=READ, operation_id="list_attention", tag=TAG, summary="List what needs a person",
        description="Refused and unrecognised webhooks, statuses that a client's set refuses, fields for which records have no room, "
        "misspelt clients, silent connections, "
        "endpoints that stand still, failed jobs, imports that left out rows, "
        "requests to erase, promising replies that wait, answers that were not sent, full stores, ending keys and warnings "
        "of the server. Webhooks for unknown clients, keys and warnings are seen by those who see all clients.",
        query=(*PAGE, CLIENT, KIND, STATE), success=(Success(200, "A page.", AttentionPage),), problems=(404,),
    ),
    Route(
        "PATCH", f"{PATH}/{{item_id}}", change_attention, scope=WRITE, operation_id="change_attention", tag=TAG,
        summary="Snooze an item, or wake it",
        description="A snoozed item is left out of the list, summaries and notifications of the whole team until its time, or until it "
        "gets critical or begins anew.",
        body=AttentionChange, success=(Success(200, "The item.", AttentionItem),), problems=(404,),
    ),
    Route(
        "GET", "/team/v1/counters", get_counters, scope=READ, operation_id="get_counters", tag=CONVERSATIONS, summary="Count conversations",
        description="The numbers of conversations that are open, snoozed and automatic, of due tasks, "
        "and with `attention` of what needs a person.", query=(CLIENT, BY_CLIENT, ATTENTION),
        success=(Success(200, "The numbers.", Counters),), problems=(404,),
    ),
]  # fmt: skip
