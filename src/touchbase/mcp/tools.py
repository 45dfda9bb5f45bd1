"""The tools: what each is for, which scope it needs, its arguments, and the requests that it makes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from touchbase.mcp import arguments as given
from touchbase.mcp.requests import Ask, Asked, Json, value_of

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
class Tool:
    """One tool. `scope`: what the key needs to see and call it; empty: any key."""

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
        made = dict(components[self.arguments.__name__])
        made.pop("title", None)
        made.pop("description", None)
        return {"type": "object", "properties": {}, **made}

    @property
    def described(self) -> Json:
        """The tool as `tools/list` shows it."""
        hints = {"readOnlyHint": not self.writes, "destructiveHint": self.writes, "idempotentHint": True, "openWorldHint": False}
        return {
            "name": self.name, "title": self.title, "description": self.description.replace("\n", " "), "inputSchema": self.schema,
            "annotations": {"title": self.title, **hints},
        }  # fmt: skip


async def _describe(ask: Ask, asked: given.Describe) -> Json:
    async def of(what: str) -> Any:
        return (await value_of(ask, Asked("GET", f"/public/v2/{what}/{asked.kind}", {"limit": 200}, client_id=asked.client_id)))["data"]

    return {
        "kind": asked.kind,
        "statuses": await of("statuses"),
        "custom_fields": await of("custom-fields"),
        "filters": FILTERS.replace("\n", " "),
        "members": "Call `find` with limit 1 to see all members of a record.",
    }


async def _find(ask: Ask, asked: given.Find) -> Any:
    body = {
        name: value
        for name, value in msgspec.structs.asdict(asked).items()
        if value not in (None, {}) and name not in ("kind", "client_id")
    }
    return await value_of(ask, Asked("POST", f"/public/v2/{asked.kind}/search", {"structure": "FLAT"}, body, asked.client_id))


async def _id_of(ask: Ask, asked: given.Which) -> int:
    """Return the id of the record that the arguments name."""
    if asked.id is not None:
        return asked.id
    item = {name: value for name in IDENTIFIERS if (value := getattr(asked, name)) is not None}
    if not item:
        raise Unclear(
            "no record is named", "Name it by id, or by email, linkedin_url or external_id, or a company by domain or external_id."
        )
    found = await value_of(ask, Asked("POST", f"/public/v2/{asked.kind}/match", body={"items": [item]}, client_id=asked.client_id))
    [entry] = found["data"]
    if "error" in entry:
        raise Unclear(entry["error"]["detail"], "Call `find` to see the records.")
    if entry["id"] is None:
        named = ", ".join(f"{name} {value}" for name, value in item.items())
        raise Unclear(f"there is none of {asked.kind} with {named}", "Call `find` with q.")
    return int(entry["id"])


async def _get(ask: Ask, asked: given.Get) -> Json:
    number = await _id_of(ask, asked)
    path = f"/public/v2/{asked.kind}/{number}"

    async def more(path: str, **query: Any) -> Any:
        return await value_of(ask, Asked("GET", path, query, client_id=asked.client_id))

    made = {"record": await more(path, structure="FLAT", as_of=asked.as_of)}
    if "timeline" in asked.include:
        made["timeline"] = await more(f"{path}/timeline", limit=NEWEST)
    if "messages" in asked.include and asked.kind == "contacts":
        made["messages"] = await more("/public/v2/messages", contact_id=number, limit=NEWEST)
    if "suppression" in asked.include:
        made["suppression"] = await more(f"{path}/suppression")
    return made


async def _explain(ask: Ask, asked: given.Explain) -> Any:
    path = f"/public/v2/{asked.kind}/{await _id_of(ask, asked)}/explain"
    return await value_of(ask, Asked("GET", path, {"field": asked.field}, client_id=asked.client_id))


async def _match(ask: Ask, asked: given.Match) -> Any:
    return await value_of(ask, Asked("POST", f"/public/v2/{asked.kind}/match", body={"items": asked.items}, client_id=asked.client_id))


async def _messages(ask: Ask, asked: given.Messages) -> Any:
    query = msgspec.structs.asdict(asked)
    return await value_of(ask, Asked("GET", "/public/v2/messages", query, client_id=query.pop("client_id")))


async def _upsert(ask: Ask, asked: given.Upsert) -> Json:
    query = {"match": asked.match, "dry_run": asked.dry_run or None, "structure": "FLAT"}
    strict = ((b"prefer", b"handling=strict"),)
    answer = await value_of(ask, Asked("PUT", f"/public/v2/{asked.kind}", query, asked.record, asked.client_id, strict))
    return _with_note(answer, asked.dry_run)


async def _change_status(ask: Ask, asked: given.ChangeStatus) -> Json:
    member = "contact_status" if asked.kind == "contacts" else "company_status"
    query = {"dry_run": asked.dry_run or None, "structure": "FLAT"}
    answer = await value_of(ask, Asked("PATCH", f"/public/v2/{asked.kind}/{asked.id}", query, {member: asked.status}, asked.client_id))
    return _with_note(answer, asked.dry_run)


async def _deliveries(ask: Ask, asked: given.Deliveries) -> Any:
    query = msgspec.structs.asdict(asked)
    query["client"] = query.pop("client_id")
    return await value_of(ask, Asked("GET", "/admin/v1/deliveries", query))


async def _replay(ask: Ask, asked: given.Replay) -> Json:
    body = {name: value for name, value in msgspec.structs.asdict(asked).items() if value is not None}
    if "client_id" in body:
        body["client"] = body.pop("client_id")
    return _with_note(await value_of(ask, Asked("POST", "/admin/v1/deliveries/replay", body=body)), asked.dry_run)


def _with_note(answer: Any, dry_run: bool) -> Json:
    return {"note": NOT_WRITTEN, "would_be": answer} if dry_run else {"written": answer}


async def _health(ask: Ask, asked: given.Nothing) -> Json:
    ready = await ask(Asked("GET", "/health/ready"))
    made: Json = {"can_write": ready.status == 200}
    for name, path in (("status", "/admin/v1/status"), ("webhooks", "/admin/v1/deliveries/counts")):
        answer = await ask(Asked("GET", path))
        if not answer.failed:
            made[name] = answer.value
    return made


async def _summary(ask: Ask, asked: given.Summary) -> Json:
    async def report(name: str, **query: Any) -> Any:
        return await value_of(ask, Asked("GET", f"/public/v2/reports/{name}", {"since": asked.since, **query}, client_id=asked.client_id))

    return {
        "mails_and_replies": await report("campaigns", group_by=asked.group_by),
        "contacts_by_status": await report("contacts/statuses"),
    }


_DESCRIBE = """The statuses of a client, its custom fields with types, and how filters are written. Call it before `find` or `upsert`."""
_FIND = """Search contacts or companies with filters, words and sorting. To look up one person by address use `get`, a list `match`."""
_GET = """One contact or company by id, e-mail address, LinkedIn address, external id or domain; with `include` its timeline, its newest
messages and whether it must not be contacted."""
_MATCH = """Which of up to 200 people or companies exist, with status, last mail, last reply, and whether they must not be contacted. Ask
this before anybody is mailed."""
_EXPLAIN = """Why a record has its status or another value: the webhook or write that set it, and the others that came, with the
reason."""
_MESSAGES = """Sent and received mails and LinkedIn messages with their texts, newest first: who replied and what they wrote."""
_SUMMARY = """Mailed, replied, bounced and unsubscribed by campaign, tool or day, and contacts by status."""
_UPSERT = """Creates the record, or changes the members that are given. A dry run first."""
_CHANGE = """Sets the status of one record, as a person does by hand. A dry run first."""
_DELIVERIES = """The webhooks that tools sent, newest first, with what became of each. For "why does a reply not show?" give the person's
email."""
_REPLAY = """Applies stored webhooks again after a cause was mended; what is known changes nothing. A dry run first."""
_HEALTH = """Whether the store can write, and for administrators its warnings and the webhooks by tool and state."""

_ALL = [
    Tool("describe", "Describe the data", _DESCRIBE, READ, given.Describe, _describe),
    Tool("find", "Find records", _FIND, READ, given.Find, _find),
    Tool("get", "Get one record", _GET, READ, given.Get, _get),
    Tool("match", "Look up many", _MATCH, READ, given.Match, _match),
    Tool("explain", "Explain a value", _EXPLAIN, READ, given.Explain, _explain),
    Tool("messages", "List messages", _MESSAGES, READ, given.Messages, _messages),
    Tool("summary", "Sum up", _SUMMARY, READ, given.Summary, _summary),
    Tool("upsert", "Create or change a record", _UPSERT, WRITE, given.Upsert, _upsert, writes=True),
    Tool("change_status", "Change a status", _CHANGE, WRITE, given.ChangeStatus, _change_status, writes=True),
    Tool("list_deliveries", "List webhooks", _DELIVERIES, ADMIN, given.Deliveries, _deliveries),
    Tool("replay_deliveries", "Apply webhooks again", _REPLAY, ADMIN, given.Replay, _replay, writes=True),
    Tool("health", "Look at the service", _HEALTH, "", given.Nothing, _health),
]
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}
"""By name, in the order in which agents see them; `whoami` is answered by the conversation, which knows the key."""
