"""`touchbase audit`: the audit log."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from touchbase.cli.options import json_option
from touchbase.cli.output import SHORT, SPARE, Column, echo, output_file, print_list
from touchbase.cli.through_api import PAGE, through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase
    from touchbase_client.models import AuditEventOut

POLL_SECONDS = 2.0
COLUMNS = (
    "at",
    Column("who", SHORT),
    "action",
    Column("target", SHORT),
    Column("client", SPARE),
    Column("via", SPARE),
    Column("change", SPARE),
)


@click.command()
@through_api()
@click.option("--actor", "actor_id", help="Only acts of this person (a user's id; with the personal keys) or key.")
@click.option("--action", help="Only this action, such as key.created, or all of a kind: key.*.")
@click.option("--client", "client_id", help="Only acts about this client.")
@click.option("--since", help="Acts from this time on, such as 2026-11-20T00:00:00Z.")
@click.option("--until", help="Acts before this time.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 10_000), help="Most acts to list.")
@click.option("--export", "form", type=click.Choice(("csv", "ndjson")), help="Write all acts that match as a file, which is an act itself.")
@click.option("--output", type=click.Path(path_type=Path), help="The file of --export; without it standard output.")
@click.option("--follow", is_flag=True, help="Print acts as JSON lines as they happen, from now on or --after one, until stopped.")
@click.option("--after", help="With --follow: begin after the act with this id, or with the oldest.")
@json_option()
def audit(
    tb: Touchbase, limit: int, form: Any, output: Path | None, follow: bool, after: str | None, as_json: bool, **filters: Any
) -> None:
    """List changes to people, keys, clients and settings, and exports of data, with their actors, newest first.

    \b
    touchbase audit --action 'session.*' --since 2026-11-20T00:00:00Z
    touchbase audit --client acme --export csv --output audit.csv
    touchbase audit --follow --after oldest | vector
    """
    if after is not None and not follow:
        raise click.UsageError("--after goes with --follow")
    if follow:
        with contextlib.suppress(KeyboardInterrupt):
            _follow(tb, after, filters)
        return
    if form is not None:
        with output_file(output, "wb") as file:
            file.writelines(tb.audit_events.export.stream(format=form, **filters))
        return
    acts = [act for act, _ in zip(tb.audit_events.iterate(**filters), range(limit), strict=False)]
    print_list(acts, COLUMNS, _row, as_json=as_json, empty="nothing is recorded")


def _follow(tb: Touchbase, after: str | None, filters: dict[str, Any]) -> NoReturn:
    """Print acts until stopped; a server that is down is waited for."""
    from touchbase_client import TouchbaseError
    from touchbase_client.feed import passes

    if after is None:
        newest = next(iter(tb.audit_events.iterate(limit=1)), None)
        after = newest["id"] if newest is not None else "oldest"
    while True:
        page: list[AuditEventOut] = []
        try:
            page = tb.audit_events.list(after=after, limit=PAGE, **filters)["data"]
        except TouchbaseError as error:
            if not passes(error):
                raise
            click.echo(f"{error} Going on after {after}.", err=True)
        for act in page:
            echo(json.dumps(act))
            after = act["id"]
        if len(page) < PAGE:
            time.sleep(POLL_SECONDS)


def _row(act: dict[str, Any]) -> tuple[object, ...]:
    actor, target = act["actor"], act["target"] or {"type": "", "id": "", "name": ""}
    about = " ".join(filter(None, (target["type"], target["name"] or target["id"])))
    return act["at"], actor["name"] or actor["id"] or actor["type"], act["action"], about, act["client_id"], actor["via"], act["change_id"]
