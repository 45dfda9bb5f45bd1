"""HTTP resource of the rules that ignore webhooks: entries of connections' settings with a name, an author and a count."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from touchbase.administration.connections import TAG, changeable_client
from touchbase.administration.mappings import RuleName, check_rule_name
from touchbase.auth.authentication import ADMIN
from touchbase.clients.models import Client
from touchbase.common.timestamps import to_text_or_none
from touchbase.connections.api import CONNECTIONS, ChannelOut
from touchbase.connections.models import Connection, ignoring_entries
from touchbase.connections.sql.ignore_rules import IgnoreRule, list_ignore_rules, name_ignore_rule
from touchbase.deliveries.delivery import IGNORED
from touchbase.errors import NotFound
from touchbase.history.events import Author
from touchbase.http import query_parameters as query
from touchbase.http.actors import Actor
from touchbase.http.endpoint import Call, author_of
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import Time, encode, example, named_enum
from touchbase.jobs.api import JobOut, job_response
from touchbase.mapping.plans import MappedDeliveries, map_connection, without_entry

PATH = "/admin/v1/clients/{client_id}/ignore-rules"
REPLAY = query.flag("replay", "Read what it has ignored again: a job, and one change that can be reverted.")
named_enum("IgnoreRuleSetting", "The setting of a connection in which the rule is an entry.", ("events", "objects"))


class IgnoreRuleOut(Struct):
    """An entry of a connection's settings that ignores webhooks."""

    id: Annotated[str, Meta(description="The same as long as the entry is; for paths.")]
    name: Annotated[str, Meta(description="Without one of its own, the event or object.")]
    channel: ChannelOut
    tool: str
    setting: Annotated[Literal["events", "objects"], Meta(description="The connection's setting in which it is an entry.")]
    key: Annotated[str, Meta(description="The event or object that it ignores.")]
    actor: Annotated[Actor | None, Meta(description="Who made it; null: not known.")]
    created_time: Time | None
    ignored: Annotated[int, Meta(ge=0, description="Webhooks that it has ignored since.")]
    last_time: Annotated[Time | None, Meta(description="Receipt of the newest of them; null: none.")]


class IgnoreRulePage(Struct):
    """All rules, by channel, tool and entry."""

    data: list[IgnoreRuleOut]
    next_cursor: str | None = None


class IgnoreRuleChange(Struct, forbid_unknown_fields=True):
    """What to change."""

    name: RuleName


_ACTOR = {"type": "user", "id": "u3f9a1c27b0d", "name": "Mira Berg", "via": "console"}
_RULE = {
    "id": "5b1f0a9c3e7d2468", "name": "Calls of the dialler", "channel": "crm", "tool": "generic", "setting": "events",
    "key": "call.finished", "actor": _ACTOR, "created_time": "2026-11-20T09:30:00Z", "ignored": 1240, "last_time": "2026-11-30T08:00:00Z",
}  # fmt: skip
example(IgnoreRuleOut, _RULE)
example(IgnoreRuleChange, {"name": "Calls of the dialler"})


async def _rules(call: Call, client: Client) -> tuple[list[Connection], list[IgnoreRule]]:
    connections = await call.api[CONNECTIONS].all(client.number)
    entries = [(each.channel, each.tool, entry) for each in connections for entry in ignoring_entries(each.settings)]
    return connections, await call.api.dependencies.store.read(list_ignore_rules(client.number, entries))


async def _rule_in_path(call: Call, client: Client) -> tuple[IgnoreRule, Connection]:
    connections, rules = await _rules(call, client)
    rule_id = call.path("rule_id")
    rule = next((each for each in rules if each.id == rule_id), None)
    if rule is None:
        raise NotFound(f"no connection of {client.client_id!r} has a rule {rule_id[:100]!r} that ignores webhooks; `GET` lists them")
    return rule, next(each for each in connections if (each.channel, each.tool) == (rule.channel, rule.tool))


async def _out(call: Call, rules: list[IgnoreRule]) -> list[IgnoreRuleOut]:
    await call.api.actors.load(rule.author for rule in rules)
    shown = []
    for rule in rules:
        setting, _, key = rule.rule.partition(".")
        values: dict[str, Any] = asdict(rule) | {"setting": setting, "key": key, "name": rule.name or key, "id": rule.id}
        author, made, last = values.pop("author"), to_text_or_none(values.pop("created_us")), to_text_or_none(values.pop("last_us"))
        actor = None if author is None else call.api.actors.of(Author(author or None, None))
        del values["rule"]
        shown.append(IgnoreRuleOut(**values, actor=actor, created_time=made, last_time=last))
    return shown


async def rules(call: Call) -> Response:
    """Handle `GET` of a client's rules."""
    client = await call.client_in_path()
    call.parameters().done()
    _, listed = await _rules(call, client)
    return Response(body=encode(IgnoreRulePage(await _out(call, listed))))


async def rename(call: Call) -> Response:
    """Handle `PATCH` of a rule's name."""
    client = await changeable_client(call)
    rule, _ = await _rule_in_path(call, client)
    request = await call.body(IgnoreRuleChange)
    check_rule_name(request.name, "name")
    await call.api.dependencies.store.write(name_ignore_rule(client.number, rule, request.name.strip()))
    rule, _ = await _rule_in_path(call, client)
    return Response(body=encode((await _out(call, [rule]))[0]))


async def remove(call: Call) -> Response:
    """Handle `DELETE` of a rule: its entry is taken out of the connection's settings."""
    client = await call.client_in_path()
    parameters = call.parameters()
    replay = parameters[REPLAY]
    parameters.done()
    rule, current = await _rule_in_path(call, client)
    now, by = call.api.dependencies.clock(), author_of(call.scope)
    if not replay:
        await call.api[CONNECTIONS].change(current, lambda present: (None, without_entry(present.settings, rule.rule), None), by)
        return Response(204)
    await call.starter()
    new = Connection(
        client.number, current.channel, current.tool, current.created_us, now, current.secrets, without_entry(current.settings, rule.rule),
        current.access_token,
    )  # fmt: skip
    command = map_connection(new, current, MappedDeliveries(IGNORED, None, rule.rule), now, by)
    try:
        job = await call.api.dependencies.store.write(command)
    finally:
        call.api[CONNECTIONS].forget(client.number)
    call.api.dependencies.on_job()
    return job_response(call, job, {}, 202)


ROUTES = [
    Route(
        "GET", PATH, rules, scope=ADMIN, operation_id="list_ignore_rules", tag=TAG, summary="List the rules that ignore webhooks",
        description="Entries of the settings `events` and `objects` that ignore, with their name, who made them, and how many webhooks "
        "they have ignored. A `PATCH` of the connection or a mapping makes them.",
        success=(Success(200, "All rules.", IgnoreRulePage),), problems=(404, 422),
    ),
    Route(
        "PATCH", f"{PATH}/{{rule_id}}", rename, scope=ADMIN, operation_id="rename_ignore_rule", tag=TAG, summary="Rename an ignore rule",
        body=IgnoreRuleChange, success=(Success(200, "The rule.", IgnoreRuleOut),), problems=(404,),
    ),
    Route(
        "DELETE", f"{PATH}/{{rule_id}}", remove, scope=ADMIN, operation_id="remove_ignore_rule", tag=TAG,
        summary="Take an ignore rule away",
        description="Takes the entry out of the connection's settings. With `replay` a job reads the stored webhooks that it has ignored "
        "again, and both are one change (`GET /team/v1/changes?job_id=`), whose revert ignores them again.",
        query=(REPLAY,), success=(Success(204, "It is gone."), Success(202, "The job (`replay`).", JobOut, headers=("Location",))),
        problems=(404, 412, 422),
    ),
]  # fmt: skip
