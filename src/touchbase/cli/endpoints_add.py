"""`touchbase endpoints add`: a new webhook endpoint."""

from __future__ import annotations

import sys
from typing import Any

import click

from touchbase.cli.endpoints_remote import add_at_server
from touchbase.cli.options import json_option, setting_options
from touchbase.cli.output import print_json, print_record
from touchbase.cli.remote import fetch, through_server
from touchbase.cli.server_options import CLIENT
from touchbase.cli.store import find_client, now_us, opened
from touchbase.outgoing.models import KINDS, WEBHOOK
from touchbase.outgoing.validation import USUAL_RATES

Values = dict[str, Any]


@click.command()
@through_server(client="needed", only_store=("webhook_allowed_origins",))
@setting_options("database", "webhook_allowed_origins")
@click.option("--client", "client_id", help=CLIENT)
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
    made = fetch(
        lambda tb: add_at_server(tb, client_id, url, values),
        lambda: _add(database, webhook_allowed_origins, client_id, url, values),
    )
    if as_json:
        print_json(made)
    else:
        print_record(made)


async def _add(database: str | None, allowed: str | None, client_id: str, url: str | None, values: Values) -> Values:
    import msgspec

    from touchbase.cli.options import read_settings
    from touchbase.errors import Invalid
    from touchbase.outgoing.api.schemas import endpoint_out
    from touchbase.outgoing.commands import AddEndpoint
    from touchbase.outgoing.hubspot_client import hubspot_of, why_not_written
    from touchbase.outgoing.models import Endpoint, Secret
    from touchbase.outgoing.signatures import new_secret
    from touchbase.outgoing.validation import completed, endpoint_faults

    async with opened(database) as store:
        client, now = await find_client(store, client_id, lasting=True), now_us()
        secret = new_secret() if values["kind"] == WEBHOOK else None
        secrets = [Secret(secret)] if secret else []
        new = completed(Endpoint(client.number, 0, "", now, now, state_us=now, secrets=secrets, **values), url)
        settings = read_settings(webhook_allowed_origins=allowed)
        unwritten, has_mail = why_not_written(await hubspot_of(store, client.number)), bool(settings.smtp_url)
        faults = endpoint_faults(
            new, client.settings, settings.webhook_allowed, now,
            has_mail=has_mail, mail_domains=settings.recipient_domains, unwritten=unwritten,
        )  # fmt: skip
        if faults:
            raise Invalid(faults)
        made = await store.write(AddEndpoint(new))
        return {"client_id": client.client_id, **msgspec.to_builtins(endpoint_out(made, secret=secret))}


def _pair(text: str) -> tuple[str, str]:
    status, equals, name = text.partition("=")
    if not (equals and status.strip() and name.strip()):
        raise click.BadParameter(f"{text!r} is not STATUS=NAME, such as replied=REPLIED", param_hint="'--value'")
    return status.strip(), name.strip()
