"""`touchbase endpoints`: webhook endpoints of clients, their previews, attempts, replays and secrets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import ID, Group, json_option, point_in_time
from touchbase.cli.output import SPARE, Column, echo, escape_controls, print_json, print_record, print_table, print_values
from touchbase.cli.server_options import CLIENT
from touchbase.cli.store import find_client, now_us
from touchbase.cli.through_api import CLIENT_ID, PAGE, here, page_of, through_api, with_client_id
from touchbase.common.timestamps import Micros, to_text
from touchbase.outgoing.models import DELIVERED, KINDS, OUTCOMES, WEBHOOK
from touchbase.outgoing.validation import USUAL_RATES

if TYPE_CHECKING:
    from touchbase.routing.router import CellRouter
    from touchbase_client import Touchbase

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
ATTEMPT_COLUMNS = ("client", "id", "time", "endpoint", "event", "type", "attempt", "outcome", "status", "ms", Column("response", SPARE))


@click.group(cls=Group)
def endpoints() -> None:
    """Send clients' events to webhook endpoints: add and test them, list attempts, send again."""


ALL = "all"


def endpoints_of(tb: Touchbase) -> Any:
    """Return the methods of the endpoints of a client, or with `--client all` of those of all clients."""
    return tb.team.webhook_endpoints if click.get_current_context().meta[CLIENT_ID] == ALL else tb.webhook_endpoints


def refuse_all() -> None:
    """Refuse `--client all` where a client's events are meant."""
    if click.get_current_context().meta[CLIENT_ID] == ALL:
        raise click.UsageError("--client: name one client; each has a copy of an endpoint of all, which `touchbase endpoints list` shows")


def one_endpoint(function: Any) -> Any:
    """Add the options of commands on one endpoint."""
    return through_api(client="needed")(click.argument("endpoint_id", type=ID, metavar="ENDPOINT")(function))


@endpoints.command("list")
@through_api(client="own")
@click.option("--client", "client_id", help="Only this client's, or all: those for all clients.")
@json_option("Print JSON, with filters and fields.")
def list_(tb: Touchbase, client_id: str | None, as_json: bool) -> None:
    """List endpoints with their state and number of waiting events; secrets are not shown."""
    endpoints = _endpoints(tb, client_id)
    if as_json:
        print_json(endpoints)
        return
    print_table(COLUMNS, map(_row, endpoints), empty="there is no webhook endpoint: `touchbase endpoints add` adds one")
    for endpoint in endpoints:
        if endpoint["state_reason"]:
            click.echo(f"{endpoint['client_id'] or ALL} {endpoint['id']}: {endpoint['state_reason']}", err=True)


@endpoints.command()
@one_endpoint
@json_option()
def remove(tb: Touchbase, endpoint_id: int, as_json: bool) -> None:
    """Remove an endpoint with its attempts; waiting events are not sent."""
    endpoints_of(tb).remove(endpoint_id)
    _done(as_json, endpoint_id, "removed", "is removed")


@endpoints.command()
@through_api(client="needed", settings=("webhook_allowed_origins", "fetch_allowed_origins"))
@click.argument("endpoint_id", type=ID, metavar="ENDPOINT")
@json_option()
def test(tb: Touchbase, endpoint_id: int, as_json: bool) -> None:
    """Send a test to an endpoint and show the response; exit status 1 unless it was a 2xx."""
    result = endpoints_of(tb).test(endpoint_id)
    if as_json:
        print_json(result)
    else:
        print_record(result)
    if result["outcome"] != DELIVERED:
        raise SystemExit(1)


@endpoints.command()
@through_api(client="needed", settings=("webhook_allowed_origins",))
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
@click.option("--tool", default="", help="For blocklist: the campaign tool whose blocklist gets the entries, such as instantly.")
@click.option(
    "--type",
    "types",
    multiple=True,
    help="A type of events, such as contact.replied; several times for several. Default: all that the kind sends; slack, email: replies.",
)
@click.option("--ordering", type=click.Choice(("per_record", "none")), default="per_record", show_default=True, help="Order of sending.")
@click.option(
    "--format", "format_", type=click.Choice(("standard", "cloudevents")), default="standard", show_default=True, help="Of bodies."
)
@click.option(
    "--rate-limit",
    type=click.IntRange(0, 10_000),
    help="Most requests a second; 0: no limit. Default: 0; slack, blocklist 1; email, hubspot 5.",
)
@click.option("--description", default="", help="A note.")
@json_option()
@click.argument("url", required=False)
def add(
    tb: Touchbase, as_json: bool, url: str | None, to: tuple[str, ...], words: tuple[str, ...], rate_limit: int | None, **values: Any
) -> None:
    """Add an endpoint, which gets the client's events from now on; prints its secret once.

    With --client all it gets the events of all clients, also of later ones.

    The kinds slack and email send messages to people, hubspot writes statuses, blocklist fills the blocklist of a campaign
    tool with the do-not-contact list, audit (with --client all) sends the acts of the audit log. The URL of a Slack
    channel is a secret: give - to read it from standard input.
    """
    if url == "-":
        url = sys.stdin.readline().strip()
    rate = USUAL_RATES[values["kind"]] if rate_limit is None else rate_limit
    body = {**values, "to": [*to], "values": dict(map(_pair, words)), "format": values["format_"], "url": url}
    del body["format_"]
    needed: Any = {"rate_limit": rate, **{name: value for name, value in body.items() if value}}
    endpoint = with_client_id(endpoints_of(tb).add(needed))
    print_values(endpoint, as_json=as_json)


def _pair(text: str) -> tuple[str, str]:
    status, equals, name = text.partition("=")
    if not (equals and status.strip() and name.strip()):
        raise click.BadParameter(f"{text!r} is not STATUS=NAME, such as replied=REPLIED", param_hint="'--value'")
    return status.strip(), name.strip()


@endpoints.command()
@through_api(client="own")
@click.option("--client", "client_id", help=CLIENT)
@click.option("--event", help="A stored event, such as evt_1207. Default: the event of a fictitious person, as in a test.")
@json_option("Print JSON, for e-mails with their source.")
@click.argument("endpoint_id", type=ID, metavar="ENDPOINT")
def preview(tb: Touchbase, client_id: str | None, event: str | None, endpoint_id: int, as_json: bool) -> None:
    """Show the message to an endpoint about an event, and send nothing.

    Without --event it is about a test's fictitious person. Standard error says if the endpoint does not get the event.

    \b
    touchbase endpoints preview --client acme 3 --event evt_1207
    """
    refuse_all()
    application = here()
    if application is None:
        shown, why_not = _shown_at_server(tb, endpoint_id, event), ""
    elif client_id is None:
        raise click.UsageError("Missing option '--client'.")
    else:
        owner = client_id
        shown, why_not = application.on_store(lambda store: _preview(store, owner, endpoint_id, event))
    if as_json:
        print_json(shown)
    else:
        more: dict[str, object] = {name: shown[name] for name in ("requests", "not_sent") if name in shown}
        print_record({"kind": shown["kind"], "type": shown["type"], "headers": shown["headers"], **more})
        echo("")
        if isinstance(shown["body"], str):
            for line in shown["body"].splitlines():
                echo(escape_controls(line))
        else:
            print_json(shown["body"])
    if why_not:
        click.echo(f"endpoint {endpoint_id} does not get this event: {why_not}", err=True)


async def _preview(store: CellRouter, client_id: str, endpoint_id: int, event: str | None) -> tuple[dict[str, Any], str]:
    """Return the message, and why it is not sent: the API, which previews endpoints that need not exist, gives no reason."""
    import msgspec

    from touchbase.cli.options import read_settings
    from touchbase.outgoing.api.endpoint_bodies import sequence_of_id
    from touchbase.outgoing.api.event_objects import AS_IN_API
    from touchbase.outgoing.api.preview import preview_out
    from touchbase.outgoing.attempts import Outbox
    from touchbase.outgoing.sql.endpoints import get_endpoint
    from touchbase.workers import outgoing_parts

    sequence = None if event is None else sequence_of_id(event)
    client = await find_client(store, client_id)
    endpoint = await store.read(get_endpoint(client.number, endpoint_id))
    if endpoint is None:
        raise click.ClickException(f"client {client_id} has no endpoint {endpoint_id}: `touchbase endpoints list` shows all")
    sender, place = outgoing_parts(read_settings(), store)
    try:
        outbox = Outbox(store, sender.post, now_us, AS_IN_API, place)
        message = None if event is not None and sequence is None else await outbox.preview(endpoint, client.client_id, sequence)
        if message is None:
            raise click.ClickException(f"there is no event {event} in the log of {client_id}; `touchbase events list` shows their ids")
        why_not = "" if sequence is None else await outbox.why_not(endpoint, sequence)
    finally:
        await sender.close()
    return dict(msgspec.to_builtins(preview_out(endpoint.kind, message))), why_not


def _shown_at_server(tb: Touchbase, endpoint_id: int, event: str | None) -> dict[str, Any]:
    """Return the message to an endpoint about an event."""
    endpoint: dict[str, Any] = {**tb.webhook_endpoints.get(endpoint_id)}
    names = ("kind", "to", "template", "template_subject", "values", "tool")
    body: Any = {name: endpoint[name] for name in names if endpoint.get(name)} | ({} if event is None else {"event": event})
    return {**tb.webhook_endpoints.preview(body)}


@endpoints.command()
@through_api(client="own")
@click.option("--client", "client_id", help="Only this client's.")
@click.option("--endpoint", "endpoint_id", type=ID, help="Only of this endpoint; of one for all clients with its copies.")
@click.option("--event", help="Only of this event of the client, such as evt_1207.")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Only with this outcome.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most attempts.")
@json_option("Print JSON, with response bodies.")
def attempts(
    tb: Touchbase, client_id: str | None, endpoint_id: int | None, event: str | None, outcome: Any, limit: int, as_json: bool
) -> None:
    """List attempts of a client or of all, newest first."""
    if client_id in (None, ALL):
        if event is not None:
            raise click.UsageError("--event: name its client with --client; the ids of events are unique within one")
        listed = tb.team.webhook_endpoints.iterate_attempts(endpoint=endpoint_id, outcome=outcome, limit=min(limit, PAGE))
    else:
        listed = tb.webhook_endpoints.iterate_attempts(endpoint=endpoint_id, event=event, outcome=outcome, limit=min(limit, PAGE))
    page, _ = page_of(listed, limit)
    if as_json:
        print_json(page)
        return
    names = ("client_id", "id", "time", "endpoint_id", "event", "type", "attempt", "outcome", "status", "latency_ms")
    rows = ((*(attempt[name] for name in names), ": ".join(filter(None, (attempt["error"], attempt["response_body"])))) for attempt in page)
    print_table(ATTEMPT_COLUMNS, rows, empty="no attempt matches")


@endpoints.command()
@through_api(client="needed")
@click.argument("attempt_id", type=ID, metavar="ATTEMPT")
@json_option("Print JSON, with headers and body.")
def request(tb: Touchbase, attempt_id: int, as_json: bool) -> None:
    """Print the request of an attempt as a `curl` command that repeats it; a mail as its text.

    It is rebuilt from the event; standard error says what has changed since the attempt.
    """
    shown = endpoints_of(tb).get_request(attempt_id)
    if as_json:
        print_json(shown)
        return
    for line in (shown["curl"] or shown["body"]).splitlines():
        echo(escape_controls(line))
    for change in shown["changed"]:
        click.echo(f"what was sent may have been different: {change}", err=True)


@endpoints.command()
@one_endpoint
@click.option("--event", help="One event, such as evt_1207, in any state.")
@click.option("--failed-since", callback=point_in_time, metavar="TIME", help="Events that began to fail since then.")
@click.option("--missing-since", callback=point_in_time, metavar="TIME", help="Events since then that were never delivered.")
@json_option()
def replay(
    tb: Touchbase, endpoint_id: int, event: str | None, failed_since: Micros | None, missing_since: Micros | None, as_json: bool
) -> None:
    """Send events to an endpoint again, by a running server."""
    refuse_all()
    times = {"failed_since": failed_since, "missing_since": missing_since}
    body: Any = {name: to_text(at) for name, at in times.items() if at is not None} | ({} if event is None else {"event": event})
    if len(body) != 1:
        raise click.UsageError("give one of --event, --failed-since and --missing-since")
    count = tb.webhook_endpoints.replay(endpoint_id, body)["events"]
    if as_json:
        print_json({"id": endpoint_id, "events": count})
    else:
        click.echo(f"{count} events will be sent to endpoint {endpoint_id}")


@endpoints.command()
@one_endpoint
@json_option()
def resume(tb: Touchbase, endpoint_id: int, as_json: bool) -> None:
    """Resume a paused or disabled endpoint: waiting events are sent, in order."""
    endpoints_of(tb).resume(endpoint_id)
    _done(as_json, endpoint_id, "state", "is active", "active")


@endpoints.command("rotate-secret")
@one_endpoint
@click.option(
    "--overlap", "hours", type=click.IntRange(0, 720), default=24, show_default=True, help="Hours in which the old one signs too."
)
@json_option()
def rotate_secret(tb: Touchbase, endpoint_id: int, hours: int, as_json: bool) -> None:
    """Replace an endpoint's secret and print the new one once."""
    secret = endpoints_of(tb).rotate_secret(endpoint_id, {"overlap_hours": hours})["secret"]
    _done(as_json, endpoint_id, "secret", f"has the new secret {secret}", secret)


def _done(as_json: bool, endpoint_id: int, name: str, text: str, value: object = True) -> None:
    if as_json:
        print_json({"id": endpoint_id, name: value})
    else:
        click.echo(f"endpoint {endpoint_id} {text}")


def _endpoints(tb: Touchbase, client_id: str | None) -> list[Values]:
    """Return the endpoints of a client, or of all that the key may see."""
    if client_id not in (None, ALL):
        return [{**endpoint} for endpoint in tb.webhook_endpoints.iterate()]
    return [{**endpoint} for endpoint in tb.team.webhook_endpoints.iterate(shared=client_id == ALL)]


def _row(endpoint: Values) -> tuple[object, ...]:
    progress, copies = endpoint.get("progress", {}), endpoint.get("copies", {})
    return (
        endpoint["client_id"] or ALL, *(endpoint[name] for name in ("id", "kind", "url", "state")), progress.get("waiting"),
        progress.get("failed", copies.get("failed")), progress.get("failing_since_time"), progress.get("last_delivered_time"),
        ", ".join(endpoint["types"]) or "all",
    )  # fmt: skip
