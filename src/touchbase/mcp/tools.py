"""The tools: purpose, scope, arguments, and requests of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

import msgspec

from touchbase.mcp import arguments
from touchbase.mcp.requests import Ask, InnerRequest, Json, value_of

READ, WRITE, ADMIN = "records:read", "records:write", "admin"
NOT_WRITTEN = "Nothing was written: this was a dry run. Show it to the person, then call again with dry_run=false."
IDENTIFIERS = ("email", "linkedin_url", "external_id", "domain")
FILTERS = """NAME equals, or NAME[operator] with eq, ne, in, nin, contains, starts_with, gt, gte, lt, lte or is_set; cf.FIELD is a custom
field, company.NAME the company of a contact; times as 2026-11-20T00:00:00Z or a span until now as 7d. A wrong name is refused with the
right one."""
NEWEST = 20
"""Events and messages that `get` returns of each."""


class Unclear(Exception):
    """The arguments do not say which record is meant."""

    def __init__(self, text: str, next_step: str) -> None:
        super().__init__(text)
        self.text, self.next_step = text, next_step


@dataclass(frozen=True)
class AgentTool:
    """A tool. `scope`: needed of the key to see and call it; empty: any key."""

    name: str
    title: str
    description: str
    scope: str
    arguments: type[msgspec.Struct]
    call: Callable[[Ask, Any], Awaitable[Any]]
    writes: bool = False

    @cached_property
    def schema(self) -> Json:
        """The JSON schema of the arguments, without references, which some agents do not follow."""
        _, components = msgspec.json.schema_components([self.arguments])
        schema = dict(components[self.arguments.__name__])
        schema.pop("title", None)
        schema.pop("description", None)
        return {"type": "object", "properties": {}, **schema}

    @property
    def described(self) -> Json:
        """The tool as `tools/list` shows it."""
        hints = {"readOnlyHint": not self.writes, "destructiveHint": self.writes, "idempotentHint": True, "openWorldHint": False}
        return {
            "name": self.name, "title": self.title, "description": self.description.replace("\n", " "), "inputSchema": self.schema,
            "annotations": {"title": self.title, **hints},
        }  # fmt: skip


async def _describe(ask: Ask, args: arguments.Describe) -> Json:
    async def of(what: str) -> Any:
        return (await value_of(ask, InnerRequest("GET", f"/public/v2/{what}/{args.kind}", {"limit": 200}, client_id=args.client_id)))[
            "data"
        ]

    return {
        "kind": args.kind,
        "statuses": await of("statuses"),
        "custom_fields": await of("custom-fields"),
        "filters": FILTERS.replace("\n", " "),
        "members": "Call `find` with limit 1 to see all members of a record.",
    }


async def _find(ask: Ask, args: arguments.Find) -> Any:
    body = {
        name: value for name, value in msgspec.structs.asdict(args).items() if value not in (None, {}) and name not in ("kind", "client_id")
    }
    return await value_of(ask, InnerRequest("POST", f"/public/v2/{args.kind}/search", {"structure": "FLAT"}, body, args.client_id))


async def _id_of(ask: Ask, args: arguments.Which) -> int:
    """Return the id of the record that the arguments name."""
    if args.id is not None:
        return args.id
    item = {name: value for name in IDENTIFIERS if (value := getattr(args, name)) is not None}
    if not item:
        raise Unclear(
            "no record is named", "Name it by id, or by email, linkedin_url or external_id, or a company by domain or external_id."
        )
    answer = await value_of(ask, InnerRequest("POST", f"/public/v2/{args.kind}/match", body={"items": [item]}, client_id=args.client_id))
    [entry] = answer["data"]
    if "error" in entry:
        raise Unclear(entry["error"]["detail"], "Call `find` to see the records.")
    if entry["id"] is None:
        named = ", ".join(f"{name} {value}" for name, value in item.items())
        raise Unclear(f"there is none of {args.kind} with {named}", "Call `find` with q.")
    return int(entry["id"])


async def _get(ask: Ask, args: arguments.Get) -> Json:
    number = await _id_of(ask, args)
    path = f"/public/v2/{args.kind}/{number}"

    async def more(path: str, **query: Any) -> Any:
        return await value_of(ask, InnerRequest("GET", path, query, client_id=args.client_id))

    details = {"record": await more(path, structure="FLAT", as_of=args.as_of)}
    if "timeline" in args.include:
        details["timeline"] = await more(f"{path}/timeline", limit=NEWEST)
    if "messages" in args.include and args.kind == "contacts":
        details["messages"] = await more("/public/v2/messages", contact_id=number, limit=NEWEST)
    if "suppression" in args.include:
        details["suppression"] = await more(f"{path}/suppression")
    return details


async def _explain(ask: Ask, args: arguments.Explain) -> Any:
    path = f"/public/v2/{args.kind}/{await _id_of(ask, args)}/explain"
    return await value_of(ask, InnerRequest("GET", path, {"field": args.field}, client_id=args.client_id))


async def _match(ask: Ask, args: arguments.MatchRecords) -> Any:
    return await value_of(ask, InnerRequest("POST", f"/public/v2/{args.kind}/match", body={"items": args.items}, client_id=args.client_id))


async def _messages(ask: Ask, args: arguments.Messages) -> Any:
    query = msgspec.structs.asdict(args)
    return await value_of(ask, InnerRequest("GET", "/public/v2/messages", query, client_id=query.pop("client_id")))


async def _upsert(ask: Ask, args: arguments.Upsert) -> Json:
    query = {"match": args.match, "dry_run": args.dry_run or None, "structure": "FLAT"}
    strict = ((b"prefer", b"handling=strict"),)
    answer = await value_of(ask, InnerRequest("PUT", f"/public/v2/{args.kind}", query, args.record, args.client_id, strict))
    return _with_note(answer, args.dry_run)


async def _change_status(ask: Ask, args: arguments.ChangeStatus) -> Json:
    member = "contact_status" if args.kind == "contacts" else "company_status"
    query = {"dry_run": args.dry_run or None, "structure": "FLAT"}
    answer = await value_of(ask, InnerRequest("PATCH", f"/public/v2/{args.kind}/{args.id}", query, {member: args.status}, args.client_id))
    return _with_note(answer, args.dry_run)


async def _conversations(ask: Ask, args: arguments.Conversations) -> Any:
    return await value_of(ask, InnerRequest("GET", "/team/v1/conversations", msgspec.structs.asdict(args)))


async def _notifications(ask: Ask, args: arguments.Notifications) -> Any:
    return await value_of(ask, InnerRequest("GET", "/team/v1/notifications", msgspec.structs.asdict(args)))


async def _snippets(ask: Ask, args: arguments.Nothing) -> Any:
    return await value_of(ask, InnerRequest("GET", "/team/v1/snippets"))


async def _answer(ask: Ask, args: arguments.AnswerArguments) -> Json:
    path = f"/team/v1/conversations/{quote(args.client, safe='')}/{args.contact_id}"
    capability = (await value_of(ask, InnerRequest("GET", path)))["reply_capability"]
    if capability["how"] != "api" and args.message_id is None:
        link = f" The conversation is at {capability['url']}" if capability["url"] else ""
        raise Unclear(capability["reason"], f"Tell the person: {capability['advice']}{link}")
    body = {"message_id": args.message_id or capability["message_id"], "text": args.text, "close": args.close}
    body["confirm_blocked"] = args.confirm_blocked
    answer = await value_of(ask, InnerRequest("POST", f"{path}/answers", {"dry_run": args.dry_run or None}, body))
    goes = {name: capability[name] for name in ("tool", "mailbox", "recipient")}
    return {**_with_note(answer, args.dry_run), "goes_out": goes}


async def _add_note(ask: Ask, args: arguments.NoteArguments) -> Json:
    path = f"/team/v1/notes/{quote(args.client, safe='')}/{args.kind}/{args.id}"
    return {"written": await value_of(ask, InnerRequest("POST", path, body={"text": args.text}))}


async def _tasks(ask: Ask, args: arguments.Tasks) -> Any:
    return await value_of(ask, InnerRequest("GET", "/team/v1/tasks", query=msgspec.structs.asdict(args)))


async def _add_task(ask: Ask, args: arguments.TaskArguments) -> Json:
    path = f"/team/v1/tasks/{quote(args.client, safe='')}/{args.kind}/{args.id}"
    body = {"text": args.text, "due_at": args.due_at, "assignee_id": args.assignee_id}
    return {"written": await value_of(ask, InnerRequest("POST", path, body=body))}


async def _deliveries(ask: Ask, args: arguments.Deliveries) -> Any:
    query = msgspec.structs.asdict(args)
    query["client"] = query.pop("client_id")
    return await value_of(ask, InnerRequest("GET", "/admin/v1/deliveries", query))


async def _replay(ask: Ask, args: arguments.ReplayDeliveries) -> Json:
    body = {name: value for name, value in msgspec.structs.asdict(args).items() if value is not None}
    if "client_id" in body:
        body["client"] = body.pop("client_id")
    return _with_note(await value_of(ask, InnerRequest("POST", "/admin/v1/deliveries/replay", body=body)), args.dry_run)


def _with_note(answer: Any, dry_run: bool) -> Json:
    return {"note": NOT_WRITTEN, "would_be": answer} if dry_run else {"written": answer}


async def _health(ask: Ask, args: arguments.Nothing) -> Json:
    ready = await ask(InnerRequest("GET", "/health/ready"))
    health: Json = {"can_write": ready.status == 200}
    for name, path in (("status", "/admin/v1/status"), ("webhooks", "/admin/v1/deliveries/counts")):
        answer = await ask(InnerRequest("GET", path))
        if not answer.failed:
            health[name] = answer.value
    return health


async def _summary(ask: Ask, args: arguments.Summary) -> Json:
    async def report(name: str, **query: Any) -> Any:
        return await value_of(
            ask, InnerRequest("GET", f"/public/v2/reports/{name}", {"since": args.since, **query}, client_id=args.client_id)
        )

    return {
        "mails_and_replies": await report("campaigns", group_by=args.group_by),
        "contacts_by_status": await report("contacts/statuses"),
    }


_DESCRIBE = """The statuses of a client, its custom fields with types, and how filters are written. Call it before `find` or `upsert`."""
_FIND = """Search contacts or companies with filters, words and sorting. To look up one person by address use `get`, a list `match`."""
_GET = """One contact or company by id, e-mail address, LinkedIn address, external id or domain; with `include` its timeline, its newest
messages and whether it must not be contacted."""
_MATCH = """Which of up to 200 people or companies exist, with status, last mail, last reply, and whether they must not be contacted. Ask
this before anybody is emailed."""
_EXPLAIN = """Why a record has its status or another value: the webhook or write that set it, and the others that came, with the
reason."""
_MESSAGES = """Sent and received mails and LinkedIn messages with their texts and authors, newest first."""
_SUMMARY = """Emailed, replied, bounced and unsubscribed by campaign, tool or day, and contacts by status."""
_UPSERT = """Creates the record, or changes the members that are given. A dry run first."""
_CHANGE = """Sets the status of one record, as a person does by hand. A dry run first."""
_CONVERSATIONS = """Contacts who replied and wait for the team, over all clients: who, what they wrote, label, assignee. `messages` has
the whole texts."""
_SNIPPETS = """Texts that the team uses again in answers, with fields such as `{{first_name}}`. Fill them before `answer`."""
_NOTIFICATIONS = """What the person of the key was told of, newest first; a key of no person has none."""
_ANSWER = """Answers a reply through the tool that brought it: the contact gets the text. A dry run first shows tool, mailbox and
recipient. It is queued for 10 seconds, and never sent twice."""
_ADD_NOTE = """Writes a note on a contact or company for the team; the person never sees it. `get` with the timeline has the notes."""
_TASKS = """What people have to do about contacts and companies, over all clients that the key may see, the first due first."""
_ADD_TASK = """Writes a task about a contact or company: a text, when it is due, and whose it is. Its user is notified then."""
_DELIVERIES = """The webhooks that tools sent, newest first, with their outcomes. For "why does a reply not show?" give the person's
email."""
_REPLAY = """Applies stored webhooks again after a cause was fixed; what is known changes nothing. A dry run first."""
_HEALTH = """Whether the store can write, and for administrators its warnings and the webhooks by tool and state."""

_ALL = [
    AgentTool("describe", "Describe the data", _DESCRIBE, READ, arguments.Describe, _describe),
    AgentTool("find", "Find records", _FIND, READ, arguments.Find, _find),
    AgentTool("get", "Get one record", _GET, READ, arguments.Get, _get),
    AgentTool("match", "Look up many", _MATCH, READ, arguments.MatchRecords, _match),
    AgentTool("explain", "Explain a value", _EXPLAIN, READ, arguments.Explain, _explain),
    AgentTool("messages", "List messages", _MESSAGES, READ, arguments.Messages, _messages),
    AgentTool("summary", "Sum up", _SUMMARY, READ, arguments.Summary, _summary),
    AgentTool("upsert", "Create or change a record", _UPSERT, WRITE, arguments.Upsert, _upsert, writes=True),
    AgentTool("change_status", "Change a status", _CHANGE, WRITE, arguments.ChangeStatus, _change_status, writes=True),
    AgentTool("list_conversations", "List conversations", _CONVERSATIONS, READ, arguments.Conversations, _conversations),
    AgentTool("list_snippets", "List snippets", _SNIPPETS, READ, arguments.Nothing, _snippets),
    AgentTool("list_notifications", "List notifications", _NOTIFICATIONS, READ, arguments.Notifications, _notifications),
    AgentTool("answer", "Answer a reply", _ANSWER, WRITE, arguments.AnswerArguments, _answer, writes=True),
    AgentTool("add_note", "Write a note", _ADD_NOTE, WRITE, arguments.NoteArguments, _add_note, writes=True),
    AgentTool("list_tasks", "List tasks", _TASKS, READ, arguments.Tasks, _tasks),
    AgentTool("add_task", "Write a task", _ADD_TASK, WRITE, arguments.TaskArguments, _add_task, writes=True),
    AgentTool("list_deliveries", "List webhooks", _DELIVERIES, ADMIN, arguments.Deliveries, _deliveries),
    AgentTool("replay_deliveries", "Apply webhooks again", _REPLAY, ADMIN, arguments.ReplayDeliveries, _replay, writes=True),
    AgentTool("health", "Look at the service", _HEALTH, "", arguments.Nothing, _health),
]
TOOLS: Mapping[str, AgentTool] = {tool.name: tool for tool in _ALL}
"""By name, in the order in which agents see them; `whoami` is answered by the conversation, which knows the key."""
