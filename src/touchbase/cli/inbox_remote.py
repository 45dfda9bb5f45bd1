"""`touchbase inbox` through the admin API of a server."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.output import echo, escape_controls, print_json, print_record, print_table
from touchbase.common.timestamps import Micros, to_text

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.client.models import DeliveryDetail, DeliveryRow, ReplayRequest

PAGE = 200


def deliveries_at_server(
    tb: Touchbase, *, client_id: str | None, limit: int, received_since_us: Micros | None, received_until_us: Micros | None, **chosen: Any
) -> list[DeliveryRow]:
    """Return up to `limit` deliveries; say on standard error how to go on."""
    page: Any = {"data": [], "next_cursor": chosen.pop("cursor")}
    found: list[DeliveryRow] = []
    while len(found) < limit:
        page = tb.deliveries.list(
            limit=min(PAGE, limit - len(found)), cursor=page["next_cursor"], client=client_id, received_since=_time(received_since_us),
            received_until=_time(received_until_us), **chosen,
        )  # fmt: skip
        found += page["data"]
        if page["next_cursor"] is None or page["search"] is not None:
            break
    if page["next_cursor"] is not None:
        click.echo(f"there may be more: --cursor {page['next_cursor']}", err=True)
    return found


def print_groups(groups: list[Any], columns: Any, as_json: bool) -> None:
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
    rows = ([" ".join(each[name]) if name == "keys" else each[name] for name in names] for each in groups)
    print_table(columns, rows, empty="no delivery matches")


def show_at_server(tb: Touchbase, *, delivery_id: int, as_json: bool) -> None:
    """Show one delivery."""
    found = tb.deliveries.get(delivery_id)
    if as_json:
        print_json(found)
        return
    print_record({name: value for name, value in found.items() if name not in ("headers", "query", "body", "body_removed", "events")})
    _print_content(found)
    rows = [(each["event"], each["occurred_at"], each["record"], each["record_id"]) for each in found["events"]]
    print_table(("event", "occurred", "record", "id"), rows, empty="none")


def _print_content(found: DeliveryDetail) -> None:
    body = found["body"]
    if body is None:
        click.echo(f"\nthe body was removed: {found['body_removed']}\n\nevents")
        return
    echo(f"query  {escape_controls(found['query']) or '-'}\n\nheaders")
    print_record(found["headers"], "  ")
    click.echo(f"\nbody\n{escape_controls(body['content'])}\n\nevents")


def replay_at_server(
    tb: Touchbase, *, delivery_ids: tuple[int, ...], received_since_us: Micros | None, cursor: object, dry_run: bool, as_json: bool,
    client_id: str | None, **filters: Any,
) -> None:  # fmt: skip
    """Apply deliveries again."""
    chosen = any(filters.values()) or client_id is not None or received_since_us is not None
    if bool(delivery_ids) == chosen:
        raise click.UsageError("give either ids or filters: `inbox replay 17 18`, or `inbox replay --state failed`")
    if cursor is not None:
        raise click.UsageError("--from goes with a store; a server replays what matches without a stop")
    if delivery_ids and dry_run:
        raise click.UsageError("--dry-run goes with filters at a server")
    if delivery_ids:
        for each in dict.fromkeys(delivery_ids):
            tb.deliveries.replay(each)
        _print_replayed({"count": len(set(delivery_ids)), "would": None}, as_json)
        return
    body: ReplayRequest = {"client": client_id, "received_since": _time(received_since_us), "dry_run": dry_run, **filters}  # type: ignore[typeddict-item]
    _print_replayed(_replayed(tb, {name: value for name, value in body.items() if value is not None}), as_json)


def _replayed(tb: Touchbase, body: Any) -> dict[str, Any]:
    """Replay page after page; return the sums."""
    count, outcomes, fields, made, changed = 0, Counter[str](), Counter[str](), 0, 0
    while True:
        page = tb.deliveries.replay_matching(body)
        count += page["count"]
        if would := page["would"]:
            outcomes.update(would["outcomes"])
            fields.update(would["fields"])
            made, changed = made + would["records_made"], changed + would["records_changed"]
        if page["next_cursor"] is None:
            break
        body = {**body, "cursor": page["next_cursor"]}
    total = {"outcomes": dict(outcomes), "records_made": made, "records_changed": changed, "fields": dict(fields)}
    return {"count": count, "would": total if body.get("dry_run") else None}


def _print_replayed(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    would, many = result["would"], "1 delivery" if result["count"] == 1 else f"{result['count']} deliveries"
    if would is None:
        click.echo(f"{many} will be applied again")
        return
    outcomes = ", ".join(f"{count} {state}" for state, count in would["outcomes"].items()) or "none"
    click.echo(f"{many} would be applied again: {outcomes}")
    click.echo(f"{would['records_made']} records would be made, {would['records_changed']} would change")


def _time(at: Micros | None) -> str | None:
    return None if at is None else to_text(at)
