"""`touchbase inbox, refusals`: stored webhooks (deliveries) with their states, and refused webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.inbox_replay import filter_options, replay, since_option
from touchbase.cli.inbox_search import is_search, read_deliveries, report, search_options, split_options, until_option
from touchbase.cli.options import ID, Group, json_option
from touchbase.cli.output import NOTE, SHORT, SPARE, Column, echo, escape_controls, print_json, print_list, print_record, print_table
from touchbase.cli.through_api import PAGE, page_of, through_api
from touchbase.deliveries.delivery import REMOVED_BY_RETENTION, REMOVED_UNSEARCHABLE
from touchbase.history.events import CHANNELS
from touchbase.inbox.refused import CAUSES

if TYPE_CHECKING:
    from touchbase_client import Touchbase
    from touchbase_client.models import DeliveryDetail

MOST_SHOWN = 3
"""Events and people of one delivery in a table."""
COLUMNS = (
    "id",
    "received",
    "client",
    "tool",
    "state",
    Column("event", SHORT),
    Column("person", SPARE),
    Column("channel", SPARE),
    Column("proved", SPARE),
    Column("tries", SPARE),
    Column("repeats", SPARE),
    Column("why", NOTE),
)
GROUP_COLUMNS = (
    "calls",
    "client",
    Column("channel", SPARE),
    "tool",
    "state",
    Column("event", SHORT),
    Column("keys", SPARE),
    Column("first", SPARE),
    Column("last", SPARE),
    "example",
    Column("why", NOTE),
)
REFUSAL_COLUMNS = (
    "received",
    "client",
    "looks like",
    "cause",
    "id",
    Column("calls", SPARE),
    Column("channel", SPARE),
    Column("size", SPARE),
    Column("sender", NOTE),
)


@click.group(cls=Group)
def inbox() -> None:
    """List and show deliveries, and apply them again."""


inbox.add_command(replay)


@inbox.command("list")
@through_api()
@search_options
@filter_options
@since_option
@until_option
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most deliveries to list.")
@click.option("--before", type=ID, help="Only deliveries with a lower id than this one: the next page.")
@click.option("--group", is_flag=True, help="Count similar deliveries that changed nothing, largest groups first.")
@click.option("--problems", is_flag=True, help="Only deliveries that were applied with a problem.")
@json_option()
def list_(tb: Touchbase, limit: int, before: int | None, group: bool, as_json: bool, **options: Any) -> None:
    """List deliveries, newest first; search them by person, text and event; or list groups of deliveries that changed nothing.

    --email, --linkedin or --contact-id find the deliveries of a person's history, and those that made no event about the person
    and have an address of the person in body, headers or query. --text searches bodies, also in escapes, base64 and gzip. A
    search goes through one client's inbox for up to 10 seconds; where it stops, it prints a --cursor and the time that it reached to
    standard error, and the bodies that it could not search.

    --group counts deliveries that changed nothing and look alike (client, channel, tool, event, keys at the top of the body), largest
    groups first. A delivery with many events of which one is unrecognised counts as unrecognised; its other events are applied.

    \b
    touchbase inbox list --email jane@example.com --event email_replied --since 7d
    touchbase inbox list --group --state unrecognised     # one line for 412 equal webhooks
    """
    sought, filters = split_options(options)
    if group:
        _refuse_with_group(before, sought, filters)
        chosen = {name: filters[name] for name in ("channel", "tool", "state")}
        _print_groups(tb.deliveries.group(client=filters["client_id"], limit=limit, **chosen)["data"], as_json)
        return
    searches = is_search(sought)
    if before is not None:
        if searches:
            raise click.UsageError("--before goes with a list; a search goes on with --cursor, as it prints at its end")
        sought["cursor"] = _cursor_before(before)
    result = read_deliveries(tb, limit, sought, filters)
    print_list(result.rows, COLUMNS, _row, as_json=as_json, empty="no delivery matches")
    if searches:
        report(result)
    elif result.cursor is not None and not as_json:
        click.echo(f"there may be more: --before {result.rows[-1]['id']}", err=True)


def _cursor_before(delivery_id: int) -> str:
    from touchbase.http.query_parameters import cursor_text

    return cursor_text("deliveries", delivery_id)


def _refuse_with_group(before: int | None, sought: dict[str, Any], filters: dict[str, Any]) -> None:
    if before is not None:
        raise click.UsageError("--before goes with a list of deliveries, not with --group, which shows the largest groups")
    for name in ("since", "until"):
        if filters[f"received_{name}_us"] is not None:
            raise click.UsageError(f"--{name} goes with a list of deliveries; a group shows when its first and last were received")
    if filters["problems"]:
        raise click.UsageError("--problems goes with a list of deliveries; deliveries in groups changed nothing")
    if is_search(sought):
        raise click.UsageError("--email, --linkedin, --contact-id, --text and --event go with a list of deliveries, not with --group")


@inbox.command()
@through_api()
@click.argument("delivery_id", type=ID)
@json_option("Print JSON, the body byte for byte.")
def show(tb: Touchbase, delivery_id: int, as_json: bool) -> None:
    """Show one delivery: headers, body, and the events that it contains.

    Control characters are escaped, as in all lists; --json prints the body byte for byte.
    """
    delivery = tb.deliveries.get(delivery_id)
    if as_json:
        print_json(delivery)
        return
    print_record({name: value for name, value in delivery.items() if name not in ("headers", "query", "body", "body_removed", "events")})
    _print_content(delivery)
    rows = [(event["event"], event["occurred_at"], event["record"], event["record_id"]) for event in delivery["events"]]
    print_table(("event", "occurred", "record", "id"), rows, empty="none")


def _print_content(delivery: DeliveryDetail) -> None:
    body = delivery["body"]
    if body is None:
        click.echo(f"\n{_why_removed(delivery['body_removed'])}\n\nevents")
        return
    echo(f"query  {escape_controls(delivery['query']) or '-'}\n\nheaders")
    print_record(delivery["headers"], "  ")
    click.echo(f"\nbody\n{escape_controls(body['content'])}\n\nevents")


def _why_removed(removed: Any) -> str:
    on = removed["at"][:10]
    if removed["why"] == REMOVED_BY_RETENTION:
        return f"body removed by retention on {on}"
    if removed["why"] == REMOVED_UNSEARCHABLE:
        return f"body removed on {on}, because it could not be searched for a person who was erased"
    return f"body removed on {on}, because a person in it was erased"


def _print_groups(groups: list[Any], as_json: bool) -> None:
    """Print groups of deliveries."""
    if as_json:
        print_json(groups)
        return
    names = (
        "count",
        "client_id",
        "channel",
        "tool",
        "state",
        "event",
        "keys",
        "first_received_at",
        "last_received_at",
        "example_id",
        "reason",
    )
    rows = ([" ".join(group[name]) if name == "keys" else group[name] for name in names] for group in groups)
    print_table(GROUP_COLUMNS, rows, empty="no delivery matches")


def _row(row: Any) -> tuple[object, ...]:
    why = "; ".join([*([row["error"]] if row["error"] else []), *(item["detail"] for item in row["problems"])])
    people = _joined([_person(item) for item in row["people"]], row["more_events"])
    return (
        row["id"], row["received_at"], row["client_id"], row["tool"], row["state"], _joined(row["events"], row["more_events"]), people,
        row["channel"], bool(row["verified"]), row["attempts"], row["repeats"], why,
    )  # fmt: skip


def _joined(texts: list[str], more: bool) -> str | None:
    """Return the first texts, and whether there are others; None for none."""
    left = len(texts) - MOST_SHOWN
    tail = [f"and {left}{' or more' if more else ''} more"] if left > 0 else ["and more"] if more else []
    return ", ".join([*texts[:MOST_SHOWN], *tail]) or None


def _person(person: Any) -> str:
    name = person["email"] or person["linkedin_url"] or "deleted"
    return f"{name} ({person['contact_id']})"


@click.group(cls=Group)
def refusals() -> None:
    """List refused webhooks, show their bodies, and replay them once the secret is right."""


@refusals.command("list")
@through_api()
@click.option("--client", "client_id", help="Only webhooks to this client's addresses.")
@click.option("--channel", type=click.Choice(CHANNELS), help="Only webhooks to this channel's address.")
@click.option("--tool", help="Only webhooks that look like this tool's.")
@click.option("--cause", type=click.Choice(tuple(CAUSES)), help="Only webhooks refused for this cause.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most webhooks to list.")
@json_option("Print JSON, headers included.")
def list_refusals(
    tb: Touchbase, client_id: str | None, channel: str | None, tool: str | None, cause: str | None, limit: int, as_json: bool
) -> None:
    """List refused webhooks, newest first, with cause and tool; the last 1,000 of each client are listed.

    The id is that of the body, if it is stored. The headers in --json help to find the sender.
    """
    filters: Any = {"client": client_id, "channel": channel, "tool": tool, "cause": cause}
    page, _ = page_of(tb.deliveries.iterate_refusals(limit=min(limit, PAGE), **filters), limit)
    print_list(page, REFUSAL_COLUMNS, _refusal_row, as_json=as_json, empty="no refused webhook matches")


inbox.former = {"refused": list_refusals}


@refusals.command("show")
@through_api()
@click.option("--client", "client_id", required=True, help="The client to whose address it was sent.")
@click.argument("refused_id")
@json_option()
def show_refused(tb: Touchbase, client_id: str, refused_id: str, as_json: bool) -> None:
    """Show one refused webhook with its body.

    Only webhooks without the right signature or secret have one, for TOUCHBASE_KEEP_REFUSED_DAYS. Headers and parameters with
    secrets are left out.
    """
    refusal: Any = tb.deliveries.get_refused(client_id, refused_id)
    if as_json:
        print_json(refusal)
        return
    content = {name: refusal[name] for name in refusal if name not in ("headers", "query", "body")}
    print_record(content)
    if refusal["body"] is None:
        return
    echo(f"query  {escape_controls(refusal['query']) or '-'}\n\nheaders")
    print_record(refusal["headers"], "  ")
    click.echo(f"\nbody ({refusal['body']['encoding']})\n{escape_controls(refusal['body']['content'])}")


@refusals.command("replay")
@through_api()
@click.option("--client", "client_id", required=True, help="The client to whose address they were sent.")
@click.option("--tool", help="The tool that sent them, if they do not look like it.")
@click.argument("refused_ids", nargs=-1, required=True)
@json_option()
def replay_refusals(tb: Touchbase, client_id: str, tool: str | None, refused_ids: tuple[str, ...], as_json: bool) -> None:
    """Receive refused webhooks after all, once the secret is right.

    Each becomes a delivery of the time of its first call. Their proof is not checked again: you vouch for them, and that is recorded.
    """
    results = [tb.deliveries.replay_refused(client_id, refused_id, tool=tool) for refused_id in refused_ids]
    if as_json:
        print_json(results)
        return
    for refused_id, replayed in zip(refused_ids, results, strict=True):
        suffix = ", which had been received already" if replayed["is_repeat"] else ""
        click.echo(f"{refused_id} is delivery {replayed['delivery_id']}{suffix}")


def _refusal_row(refusal: dict[str, Any]) -> tuple[object, ...]:
    names = ("received_at", "client_id", "tool", "cause", "body_id", "calls", "channel", "size")
    return (*(refusal[name] for name in names), refusal["headers"].get("user-agent", ""))
