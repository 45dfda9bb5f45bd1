"""`touchbase endpoints`: webhook endpoints of clients, their attempts, replays and secrets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.endpoints_preview import preview
from touchbase.cli.options import ID, Group, json_option, point_in_time, setting_options
from touchbase.cli.output import SPARE, Column, print_json, print_record, print_table
from touchbase.cli.store import find_client, now_us, opened, run
from touchbase.outgoing import DELIVERED, KINDS, OUTCOMES, USUAL_RATES, WEBHOOK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from touchbase.clients import Client
    from touchbase.common.timestamps import Micros
    from touchbase.outgoing import Endpoint
    from touchbase.sql.store import Store

Values = dict[str, Any]
COLUMNS = (
    "client",
    "id",
    "kind",
    "url",
    "state",
    "waiting",
    "failed",
    "failing since",
    Column("last delivered", SPARE),
    Column("types", SPARE),
)
ATTEMPT_COLUMNS = ("id", "time", "endpoint", "event", "type", "attempt", "outcome", "status", "ms", Column("response", SPARE))


@click.group(cls=Group)
def endpoints() -> None:
    """Send clients' events to webhook endpoints: add and test them, list attempts, send again."""


def one_endpoint(function: Any) -> Any:
    """Add the options of commands on one endpoint."""
    for option in (
        click.argument("endpoint_id", type=ID, metavar="ENDPOINT"),
        click.option("--client", "client_id", required=True, help="The client's id."),
        setting_options("database"),
    ):
        function = option(function)
    return function


@endpoints.command("list")
@setting_options("database")
@click.option("--client", "client_id", help="Only this client's.")
@json_option("Print JSON, with filters and fields.")
def list_(database: str | None, client_id: str | None, as_json: bool) -> None:
    """List endpoints with their state and what waits for them; secrets are not shown."""
    found = run(_list(database, client_id))
    if as_json:
        print_json(found)
        return
    print_table(COLUMNS, map(_row, found), empty="there is no webhook endpoint: `touchbase endpoints add` adds one")
    for one in found:
        if one["state_reason"]:
            click.echo(f"{one['client_id']} {one['id']}: {one['state_reason']}", err=True)


@endpoints.command()
@setting_options("database", "webhook_allowed_origins")
@click.option("--client", "client_id", required=True, help="The client's id.")
@click.option("--kind", type=click.Choice(KINDS), default=WEBHOOK, show_default=True, help="What is sent, and to what.")
@click.option("--to", multiple=True, help="An address of a recipient, for the kind email; several times for several.")
@click.option("--template", default="", help="Text of messages, such as '{{person}} replied: {{text}}', for slack and email.")
@click.option("--template-subject", default="", help="Subject of e-mails, as --template.")
@click.option(
    "--value",
    "words",
    multiple=True,
    metavar="STATUS=NAME",
    help="For hubspot: the internal name that its property has for a status; several times for several. Others are written as they are.",
)
@click.option(
    "--type",
    "types",
    multiple=True,
    help="A type of events, such as contact.replied; several times for several. Default: all; slack, email: replies; hubspot: statuses.",
)
@click.option("--ordering", type=click.Choice(("per_record", "none")), default="per_record", show_default=True, help="Order of sending.")
@click.option(
    "--format", "format_", type=click.Choice(("standard", "cloudevents")), default="standard", show_default=True, help="Of bodies."
)
@click.option(
    "--rate-limit", type=click.IntRange(0, 10_000), help="Most requests a second; 0: no limit. Default: 0, slack 1, email and hubspot 5."
)
@click.option("--description", default="", help="A note.")
@json_option()
@click.argument("url", required=False)
def add(database: str | None, webhook_allowed_origins: str | None, as_json: bool, client_id: str, url: str | None, **values: Any) -> None:
    """Add an endpoint, which gets the client's events from now on; prints its secret once.

    The URL of a Slack channel is a secret: give - to read it from standard input.
    """
    if url == "-":
        url = sys.stdin.readline().strip()
    rate, to = values.pop("rate_limit"), [*values.pop("to")]
    given = {
        "to": to,
        "values": dict(map(_pair, values.pop("words"))),
        **{name: values.pop(name) for name in ("template", "template_subject")},
    }
    values["settings"] = {name: value for name, value in given.items() if value}
    values["format"], values["rate"] = values.pop("format_"), USUAL_RATES[values["kind"]] if rate is None else rate
    made = run(_add(database, webhook_allowed_origins, client_id, url, values))
    if as_json:
        print_json(made)
    else:
        print_record(made)


@endpoints.command()
@one_endpoint
@json_option()
def remove(database: str | None, client_id: str, endpoint_id: int, as_json: bool) -> None:
    """Remove an endpoint with its attempts; what waits is not sent."""
    from touchbase.outgoing import RemoveEndpoint

    run(_write(database, client_id, lambda client: RemoveEndpoint(client, endpoint_id)))
    _done(as_json, endpoint_id, "removed", "is removed")


@endpoints.command()
@one_endpoint
@setting_options("webhook_allowed_origins", "fetch_allowed_origins")
@json_option()
def test(
    database: str | None, client_id: str, endpoint_id: int, webhook_allowed_origins: str | None, fetch_allowed_origins: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Send a test to an endpoint and show the response; exit status 1 unless it was a 2xx."""
    allowed = {"webhook_allowed_origins": webhook_allowed_origins, "fetch_allowed_origins": fetch_allowed_origins}
    found = run(_test(database, allowed, client_id, endpoint_id))
    if as_json:
        print_json(found)
    else:
        print_record(found)
    if found["outcome"] != DELIVERED:
        raise SystemExit(1)


endpoints.add_command(preview)


@endpoints.command()
@setting_options("database")
@click.option("--client", "client_id", required=True, help="The client's id.")
@click.option("--endpoint", "endpoint_id", type=ID, help="Only of this endpoint.")
@click.option("--event", help="Only of this event, such as evt_1207.")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Only with this outcome.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most attempts.")
@json_option("Print JSON, with response bodies.")
def attempts(
    database: str | None, client_id: str, endpoint_id: int | None, event: str | None, outcome: str | None, limit: int, as_json: bool
) -> None:
    """List attempts, newest first."""
    found = run(_attempts(database, client_id, limit, endpoint_id, None if event is None else _sequence(event), outcome))
    if as_json:
        print_json(found)
        return
    names = ("id", "time", "endpoint_id", "event", "type", "attempt", "outcome", "status", "latency_ms")
    rows = ((*(one[name] for name in names), ": ".join(filter(None, (one["error"], one["response_body"])))) for one in found)
    print_table(ATTEMPT_COLUMNS, rows, empty="no attempt matches")


@endpoints.command()
@one_endpoint
@click.option("--event", help="One event, such as evt_1207, whatever became of it.")
@click.option("--failed-since", callback=point_in_time, metavar="TIME", help="Events that began to fail since then.")
@click.option("--missing-since", callback=point_in_time, metavar="TIME", help="Events since then that were never delivered.")
@json_option()
def replay(
    database: str | None, client_id: str, endpoint_id: int, event: str | None, failed_since: Micros | None, missing_since: Micros | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Let a running server send events to an endpoint again."""
    from touchbase.outgoing import Replay

    if sum(each is not None for each in (event, failed_since, missing_since)) != 1:
        raise click.UsageError("give one of --event, --failed-since and --missing-since")
    sequence = None if event is None else _sequence(event)
    count = run(_write(database, client_id, lambda client: Replay(client, endpoint_id, now_us(), sequence, failed_since, missing_since)))
    if as_json:
        print_json({"id": endpoint_id, "events": count})
    else:
        click.echo(f"{count} events will be sent to endpoint {endpoint_id}")


@endpoints.command()
@one_endpoint
@json_option()
def resume(database: str | None, client_id: str, endpoint_id: int, as_json: bool) -> None:
    """Make a paused or disabled endpoint active: what waited is sent, in order."""
    from touchbase.outgoing import ResumeEndpoint

    run(_write(database, client_id, lambda client: ResumeEndpoint(client, endpoint_id, now_us())))
    _done(as_json, endpoint_id, "state", "is active", "active")


@endpoints.command("rotate-secret")
@one_endpoint
@click.option(
    "--overlap", "hours", type=click.IntRange(0, 720), default=24, show_default=True, help="Hours in which the old one signs too."
)
@json_option()
def rotate_secret(database: str | None, client_id: str, endpoint_id: int, hours: int, as_json: bool) -> None:
    """Give an endpoint a new secret and print it once."""
    from touchbase.outgoing import RotateSecret, Secret, new_secret

    now, secret = now_us(), new_secret()
    until = now + hours * 3_600 * 1_000_000
    run(_write(database, client_id, lambda client: RotateSecret(client, endpoint_id, Secret(secret), until, now)))
    _done(as_json, endpoint_id, "secret", f"has the new secret {secret}", secret)


def _done(as_json: bool, endpoint_id: int, name: str, text: str, value: object = True) -> None:
    if as_json:
        print_json({"id": endpoint_id, name: value})
    else:
        click.echo(f"endpoint {endpoint_id} {text}")


async def _write(database: str | None, client_id: str, command: Callable[[int], Any]) -> Any:
    async with opened(database) as store:
        return await store.write(command((await find_client(store, client_id)).number))


async def _list(database: str | None, client_id: str | None) -> list[Values]:
    import msgspec

    from touchbase.clients import ListClients
    from touchbase.outgoing.api.schemas import endpoint_out

    async with opened(database) as store:
        owners = [await find_client(store, client_id)] if client_id is not None else await store.read(ListClients())
        return [
            {"client_id": owner.client_id, **msgspec.to_builtins(endpoint_out(*one))}
            for owner in owners
            async for one in _endpoints(store, owner)
        ]


async def _endpoints(store: Store, owner: Client) -> AsyncIterator[Any]:
    from touchbase.outgoing import MAX_ENDPOINTS, ListEndpoints

    for one in await store.read(ListEndpoints(owner.number, MAX_ENDPOINTS)):
        yield one


async def _add(database: str | None, allowed: str | None, client_id: str, url: str | None, values: Values) -> Values:
    import msgspec

    from touchbase.cli.options import read_settings
    from touchbase.errors import Invalid
    from touchbase.outgoing import AddEndpoint, Endpoint, Secret, completed, endpoint_faults, hubspot_of, new_secret, why_not_written
    from touchbase.outgoing.api.schemas import endpoint_out

    async with opened(database) as store:
        client, now = await find_client(store, client_id, lasting=True), now_us()
        secret = new_secret() if values["kind"] == WEBHOOK else None
        secrets = [Secret(secret)] if secret else []
        new = completed(Endpoint(client.number, 0, "", now, now, state_us=now, secrets=secrets, **values), url)
        settings = read_settings(webhook_allowed_origins=allowed)
        unwritten, has_mail = why_not_written(await hubspot_of(store, client.number)), bool(settings.smtp_url)
        if faults := endpoint_faults(new, client.settings, settings.webhook_allowed, now, has_mail=has_mail, unwritten=unwritten):
            raise Invalid(faults)
        made = await store.write(AddEndpoint(new))
        return {"client_id": client.client_id, **msgspec.to_builtins(endpoint_out(made, secret=secret))}


async def _test(database: str | None, allowed: dict[str, str | None], client_id: str, endpoint_id: int) -> Values:
    import msgspec

    from touchbase.cli.options import read_settings
    from touchbase.outgoing import GetEndpoint, Outbox, StoreAttempt
    from touchbase.outgoing.api.objects import AS_IN_API
    from touchbase.outgoing.api.schemas import attempt_out
    from touchbase.workers import outgoing_parts

    async with opened(database) as store:
        client = await find_client(store, client_id)
        endpoint: Endpoint | None = await store.read(GetEndpoint(client.number, endpoint_id))
        if endpoint is None:
            raise click.ClickException(f"client {client_id} has no endpoint {endpoint_id}: `touchbase endpoints list` shows all")
        sender, place = outgoing_parts(read_settings(**allowed), store)
        try:
            attempt, _ = await Outbox(store, sender.post, now_us, AS_IN_API, place).test(endpoint, client.client_id)
        finally:
            await sender.close()
        await store.write(StoreAttempt(attempt))
        return dict(msgspec.to_builtins(attempt_out(attempt)))


async def _attempts(database: str | None, client_id: str, limit: int, *filters: Any) -> list[Values]:
    import msgspec

    from touchbase.outgoing import ListAttempts
    from touchbase.outgoing.api.schemas import attempt_out

    async with opened(database) as store:
        client = await find_client(store, client_id)
        found = await store.read(ListAttempts(client.number, limit, None, *filters))
        return [msgspec.to_builtins(attempt_out(one)) for one in found]


def _pair(text: str) -> tuple[str, str]:
    status, equals, name = text.partition("=")
    if not (equals and status.strip() and name.strip()):
        raise click.BadParameter(f"{text!r} is not STATUS=NAME, such as replied=REPLIED", param_hint="'--value'")
    return status.strip(), name.strip()


def _sequence(event: str) -> int:
    digits = event.removeprefix("evt_")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise click.BadParameter(f"{event!r} is no id of an event such as evt_1207", param_hint="'--event'")
    return int(digits)


def _row(one: Values) -> tuple[object, ...]:
    progress = one["progress"]
    return (
        *(one[name] for name in ("client_id", "id", "kind", "url", "state")), progress["waiting"], progress["failed"],
        progress["failing_since_time"], progress["last_delivered_time"], ", ".join(one["types"]) or "all",
    )  # fmt: skip
