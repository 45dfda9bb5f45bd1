"""`touchbase endpoints add`: a new webhook endpoint."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import json_option
from touchbase.cli.output import print_json, print_record
from touchbase.cli.through_api import through_api, with_client_id
from touchbase.outgoing.models import KINDS, WEBHOOK
from touchbase.outgoing.validation import USUAL_RATES

if TYPE_CHECKING:
    from touchbase.client import Touchbase


@click.command()
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
def add(
    tb: Touchbase, as_json: bool, url: str | None, to: tuple[str, ...], words: tuple[str, ...], rate_limit: int | None, **values: Any
) -> None:
    """Add an endpoint, which gets the client's events from now on; prints its secret once.

    The URL of a Slack channel is a secret: give - to read it from standard input.
    """
    if url == "-":
        url = sys.stdin.readline().strip()
    rate = USUAL_RATES[values["kind"]] if rate_limit is None else rate_limit
    body = {**values, "to": [*to], "values": dict(map(_pair, words)), "format": values["format_"], "url": url}
    del body["format_"]
    needed: Any = {"rate_limit": rate, **{name: value for name, value in body.items() if value}}
    made = with_client_id(tb.webhook_endpoints.add(needed))
    if as_json:
        print_json(made)
    else:
        print_record(made)


def _pair(text: str) -> tuple[str, str]:
    status, equals, name = text.partition("=")
    if not (equals and status.strip() and name.strip()):
        raise click.BadParameter(f"{text!r} is not STATUS=NAME, such as replied=REPLIED", param_hint="'--value'")
    return status.strip(), name.strip()
