"""`touchbase endpoints preview`: what an endpoint would be sent, without sending it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import ID, json_option
from touchbase.cli.output import echo, escape_controls, print_json, print_record
from touchbase.cli.server_options import CLIENT
from touchbase.cli.store import find_client, now_us
from touchbase.cli.through_api import here, through_api

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.routing.router import CellRouter


@click.command()
@through_api(client="own")
@click.option("--client", "client_id", help=CLIENT)
@click.option("--event", help="A stored event, such as evt_1207. Default: the event of a fictitious person, as in a test.")
@json_option("Print JSON, for e-mails with their source.")
@click.argument("endpoint_id", type=ID, metavar="ENDPOINT")
def preview(tb: Touchbase, client_id: str | None, event: str | None, endpoint_id: int, as_json: bool) -> None:
    """Show what an endpoint would be sent about an event, and send nothing."""
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
    """Return what the endpoint would be sent, and why it is not; the API previews endpoints that need not exist, so it knows no why."""
    import msgspec

    from touchbase.cli.options import read_settings
    from touchbase.outgoing.api.endpoint_bodies import sequence_of_id
    from touchbase.outgoing.api.objects import AS_IN_API
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
    """Return what an endpoint would be sent about an event."""
    endpoint: dict[str, Any] = {**tb.webhook_endpoints.get(endpoint_id)}
    names = ("kind", "to", "template", "template_subject", "values")
    body: Any = {name: endpoint[name] for name in names if endpoint.get(name)} | ({} if event is None else {"event": event})
    return {**tb.webhook_endpoints.preview(body)}
