"""`touchbase connections`: connect tools to clients, list, change and remove connections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.inbox_replay import rehearse
from touchbase.cli.options import Group, connection_options, find_channel, json_option, point_in_time
from touchbase.cli.output import SPARE, Column, print_json, print_list, print_table, print_values
from touchbase.cli.store import read_text
from touchbase.cli.through_api import PAGE, address, end_of, here, through_api, with_client_id
from touchbase.common.timestamps import DAY, Micros, clock, to_text
from touchbase.history.events import EMAIL_CAMPAIGN

if TYPE_CHECKING:
    from touchbase.connections.models import ConnectionSettings
    from touchbase.errors import Fault
    from touchbase_client import FieldError, Touchbase

Values = dict[str, Any]
COLUMNS = (
    "client",
    "tool",
    "channel",
    "secret",
    Column("access token", SPARE),
    Column("fetching", SPARE),
    Column("wanted", SPARE),
    Column("not found", SPARE),
    "silent since",
    Column("last call", SPARE),
    Column("webhooks a day", SPARE),
    Column("changed", SPARE),
    Column("seen", SPARE),
)
MAPPED = ("unrecognised", "failed", "ignored", "parked", "applied")
"""States of webhooks that a mapping may read again."""
PATHS = {"email_campaign": "emailcampaign-webhook", "crm": "crm-webhook"}
"""Channels -> the second segment of their webhook addresses."""
RULE_COLUMNS = ("rule", "name", "tool", "ignores", "ignored", "last", Column("made", SPARE), Column("by", SPARE))
SILENCE_COLUMNS = ("since", "noticed", "ended", "webhooks a day", Column("usual interval, seconds", SPARE))

MOST_WORDS = 300
"""Characters of a tool's response below a list of pushes."""
PUSH_COLUMNS = ("address or contact", "event", "state", "attempts", "last attempt", Column("next attempt", SPARE), Column("status", SPARE))


@click.group(cls=Group)
def connections() -> None:
    """Connect clients' tools, list and show connections, and remove them."""


@connections.command("list")
@through_api()
@click.option("--client", "client_id", help="Only this client's.")
@json_option("Print JSON, settings included.")
def list_(tb: Touchbase, client_id: str | None, as_json: bool) -> None:
    """List connections with their webhooks and the state of fetching records; secrets are shown as set or not set.

    Fetching is idle, working, waiting after failures, or stopped; with the number of wanted records and the last error.
    """
    connections = _list(tb, client_id)
    if as_json:
        print_json(connections)
        return
    print_table(COLUMNS, map(_row, connections), empty="no tool is connected: `touchbase connections add` connects one")
    for connection in connections:
        if (why := _last_error(connection)) is not None:
            click.echo(f"{connection['client_id']} {connection['tool']}: {why}", err=True)


@connections.command()
@through_api()
@connection_options
@json_option()
def show(tb: Touchbase, client_id: str, channel: str | None, tool: str, as_json: bool) -> None:
    """Show one connection with its settings, its webhooks and the state of fetching; secrets are shown as set or not set."""
    channel = find_channel(channel, tool)
    connections = _list(tb, client_id)
    connection = next((connection for connection in connections if (connection["channel"], connection["tool"]) == (channel, tool)), None)
    if connection is None:
        raise click.ClickException(f"client {client_id} has no connection of {tool} on {channel}: `touchbase connections list` shows all")
    print_values(connection, as_json=as_json)


@connections.command()
@through_api()
@connection_options
@json_option()
def silences(tb: Touchbase, client_id: str, channel: str | None, tool: str, as_json: bool) -> None:
    """List the times in which the tool's usual webhooks did not come, newest first."""
    on: Any = find_channel(channel, tool)
    rows = tb.admin.connections.list_silences(client_id, on, tool)["data"]
    if as_json:
        print_json(rows)
        return
    print_table(SILENCE_COLUMNS, (tuple(silence.values()) for silence in rows), empty="the connection has never been silent")


@connections.command()
@through_api()
@connection_options
@click.option("--state", type=click.Choice(["waiting", "failed", "skipped"]), help="Only pushes in this state; usually waiting and failed.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True, help="Most pushes to list.")
@click.option("--retry", is_flag=True, help="Send all that wait or failed again, or those of --event; a paused endpoint is resumed.")
@click.option("--event", "events", multiple=True, metavar="ID", help="With --retry: only this event, also a skipped one.")
@json_option()
def pushes(
    tb: Touchbase, client_id: str, channel: str | None, tool: str, state: Any, limit: int, retry: bool, events: tuple[str, ...],
    as_json: bool,
) -> None:  # fmt: skip
    """List pushes that a connected tool has not taken, with the reason and the cure, newest first.

    Entries of do-not-contact lists on their way to its blocklist, and statuses on their way to HubSpot.

    \b
    touchbase connections pushes --client acme --tool instantly
    touchbase connections pushes --client acme --tool instantly --retry
    """
    on: Any = find_channel(channel, tool)
    if events and not retry:
        raise click.UsageError("--event goes with --retry")
    if retry:
        sent = tb.admin.connections.retry_pushes(client_id, on, tool, {"events": [*events]} if events else {})
        print_values(sent, as_json=as_json)
        return
    filters: Any = {"state": state} if state else {}
    rows: Any = tb.admin.connections.list_pushes(client_id, on, tool, limit=limit, **filters)["data"]
    if as_json:
        print_json(rows)
        return
    names = ("event", "state", "attempts", "last_attempt_time", "next_attempt_time", "status")
    table = ((push["value"] or push["record_id"], *(push[name] for name in names)) for push in rows)
    print_table(PUSH_COLUMNS, table, empty=f"{tool} has taken all that was pushed to it")
    for (reason, words, advice), ids in _by_reason(rows).items():
        click.echo(f"{', '.join(ids)}: {reason}. {advice}", err=True)
        if words:
            click.echo(f"  {words}", err=True)


@connections.command()
@through_api(client="own", settings=("fetch_allowed_origins",))
@connection_options
@click.option("--no-wait", is_flag=True, help="Only start the job: a running server, or `touchbase worker`, does its work.")
@json_option()
def load(tb: Touchbase, client_id: str, channel: str | None, tool: str, no_wait: bool, as_json: bool) -> None:
    """Load the history of a campaign tool, from before its connection, through its API.

    Leads with their states, messages and replies with their times, and the blocklist, which comes on the do-not-contact list. It waits
    for the job; Ctrl+C leaves it at work, and `touchbase jobs show` shows it. What a webhook brought already is not repeated.

    \b
    touchbase connections load --client acme --tool smartlead
    """
    on: Any = find_channel(channel, tool)
    job = tb.admin.connections.load(client_id, on, tool)
    print_values(with_client_id(job) if no_wait else end_of(tb, job), as_json=as_json)


@connections.command()
@through_api()
@connection_options
@json_option()
def remove(tb: Touchbase, client_id: str, channel: str | None, tool: str, as_json: bool) -> None:
    """Disconnect a tool: its webhooks need no proof any more and are read as without a connection. Its deliveries stay."""
    on: Any = find_channel(channel, tool)
    tb.admin.connections.disconnect(client_id, on, tool)
    present_id = tb.admin.clients.get(client_id)["client_id"]
    if as_json:
        print_json({"client_id": present_id, "channel": on, "tool": tool})
    else:
        click.echo(f"{tool} is no longer connected on {on}")


def _list(tb: Touchbase, client_id: str | None) -> list[Values]:
    """Return the connections of a client, or of all clients."""
    owners = [client_id] if client_id is not None else [client["client_id"] for client in tb.admin.clients.iterate(limit=PAGE)]
    return [{"client_id": owner, **connection} for owner in owners for connection in tb.admin.connections.list(owner)["data"]]


def _part(connection: Values, name: str) -> Values:
    part = connection[name]
    return part if isinstance(part, dict) else {}


def _by_reason(pushes: Iterable[Values]) -> dict[tuple[str, str, str], list[str]]:
    """Return the events by why they were not taken, the tool's words on one line, and the advice."""
    events: dict[tuple[str, str, str], list[str]] = {}
    for push in pushes:
        words = " ".join(str(push["response_body"]).split())[:MOST_WORDS]
        events.setdefault((push["reason"], words, push["advice"]), []).append(push["event"])
    return events


def _last_error(connection: Values) -> str | None:
    fetching = _part(connection, "fetching")
    if not fetching.get("last_error"):
        return None
    return f"{fetching['last_error']} ({at})" if (at := fetching["last_error_time"]) else str(fetching["last_error"])


def _row(connection: Values) -> tuple[object, ...]:
    fetching, calls = _part(connection, "fetching"), _part(connection, "calls")
    return (
        *(connection[name] for name in ("client_id", "tool", "channel", "secret", "access_token")),
        *(fetching.get(name) for name in ("state", "wanted", "not_found")),
        *(calls.get(name) for name in ("silent_since_time", "last_time", "per_day")),
        connection["updated_time"],
        ", ".join(connection["seen"]),
    )


@connections.command()
@through_api(settings=("public_url", "fetch_allowed_origins"))
@connection_options
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    help="The secret that webhooks must prove to know; several during a rotation, or one for each webhook.",
)
@click.option(
    "--secret-file", type=click.Path(path_type=Path, allow_dash=True), help="Read the secret from this file (- for standard input)."
)
@click.option("--generate-secret", is_flag=True, help="Make a secret and print it; it is shown only once.")
@click.option("--no-secret", is_flag=True, help="Remove the secrets: webhooks need no proof.")
@click.option("--access-token", help="Token for the tool's API, to fetch records that its webhooks leave out.")
@click.option(
    "--access-token-file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Read the token from this file (- for standard input).",
)
@click.option("--no-access-token", is_flag=True, help="Remove the access token: nothing is fetched from the tool any more.")
@click.option("--setting", "settings", multiple=True, metavar="NAME=VALUE", help="Set a setting; NAME.KEY=VALUE for one entry of a table.")
@click.option("--dry-run", is_flag=True, help="Only print what stored webhooks would become under the settings; nothing is stored.")
@click.option(
    "--since", callback=point_in_time, metavar="TIME", help="With --dry-run: webhooks received then or later, such as 2h or 30d (7d)."
)
@json_option("Print JSON: the connection, the path of its webhook address, and a new secret.")
def add(
    tb: Touchbase, client_id: str, channel: str | None, tool: str,
    secrets: tuple[str, ...], secret_file: Path | None, generate_secret: bool, no_secret: bool, access_token: str | None,
    access_token_file: Path | None, no_access_token: bool, settings: tuple[str, ...], dry_run: bool, since: Micros | None, as_json: bool,
) -> None:  # fmt: skip
    """Connect a tool to a client, or change its connection; prints the address to paste.

    Its webhooks must prove to know --secret; given twice, either is accepted. Given secrets replace the present ones; given settings
    are set, others stay. An empty VALUE sets a setting to its default, or removes an entry of a table; the word null means none. Tools
    that called in the last week and would be refused from now on are listed. --access-token lets Touchbase fetch records from the
    tool's API; a change restarts fetching that has stopped. --dry-run prints each stored webhook that the settings would make another
    of, with the values that would change.

    \b
    touchbase connections add --client acme --tool pipedrive --secret hook:a-long-password --setting status_labels.12=customer
    touchbase connections add --client acme --channel crm --tool generic --setting fields.email=data.mail --dry-run
    """
    from touchbase.connections.service import new_secret

    channel = find_channel(channel, tool)
    all_secrets = [*secrets, *([read_text(secret_file)] if secret_file else [])]
    new = new_secret() if generate_secret else None
    if no_secret and (all_secrets or new):
        raise click.UsageError("--no-secret cannot be combined with --secret, --secret-file or --generate-secret")
    chosen = [*all_secrets, new] if new else all_secrets
    token = _token(access_token, access_token_file, no_access_token)
    if since is not None and not dry_run:
        raise click.UsageError("--since goes with --dry-run")
    if dry_run and (chosen or no_secret or token is not None):
        raise click.UsageError("--dry-run tries settings; leave out secrets and tokens")
    if dry_run:
        _rehearse(tb, client_id, channel, tool, settings, clock() - 7 * DAY if since is None else since, as_json)
        return
    changes = _Changes(chosen if chosen or no_secret else None, settings, token)
    application = here()
    present_id, shown, present = _add(tb, client_id, channel, tool, changes)
    server = address() if application is None else application.settings.public_url or "(the address of your server)"
    path = f"/public/{PATHS[channel]}/{present_id}"
    if as_json:
        print_json({"client_id": present_id, "webhook_path": path, **shown, **({"generated_secret": new} if new else {})})
    else:
        _print_connection(shown, f"{server.rstrip('/')}{path}", new, present)


@connections.command("map")
@through_api()
@connection_options
@click.option("--setting", "settings", multiple=True, metavar="NAME=VALUE", help="Set a setting; NAME.KEY=VALUE for one entry of a table.")
@click.option("--state", type=click.Choice(MAPPED), default=MAPPED[0], show_default=True, help="Read stored webhooks in this state again.")
@click.option("--of-tool", help="Only webhooks that were taken for this tool's.")
@click.option("--rule-name", help="Name of the rule, if the settings ignore another event or object.")
@json_option()
def map_(
    tb: Touchbase, client_id: str, channel: str | None, tool: str, settings: tuple[str, ...], state: Any, of_tool: str | None,
    rule_name: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Save how webhooks are read, and read the stored ones again: one change, which `touchbase changes revert` takes back.

    A running server, or `touchbase worker`, reads them again. `connections add --dry-run` shows what would change; settings with which
    nothing would are refused.

    \b
    touchbase connections map --client acme --channel crm --tool generic --setting fields.email=data.mail --setting fields.status=stage
    """
    on: Any = find_channel(channel, tool)
    _, body = _settings_after(tb, client_id, on, tool, settings)
    chosen = {"of_tool": of_tool, "rule_name": rule_name}
    mapping: Any = {"settings": body, "state": state, **{name: value for name, value in chosen.items() if value is not None}}
    job: Any = tb.admin.connections.map(client_id, on, tool, mapping)
    print_values({"client_id": client_id, "job": job["id"], "state": job["state"]}, as_json=as_json)


@connections.command()
@through_api()
@click.option("--client", "client_id", required=True, help="The client.")
@json_option()
def ignored(tb: Touchbase, client_id: str, as_json: bool) -> None:
    """List the rules that ignore webhooks: entries of settings that `map` or `add` has set, and how many webhooks they have ignored."""
    rules = tb.admin.ignore_rules.list(client_id)["data"]
    print_list([{**rule} for rule in rules], RULE_COLUMNS, _rule_row, as_json=as_json, empty="no rule ignores webhooks")


def _rule_row(rule: Values) -> tuple[object, ...]:
    actor = rule["actor"] and (rule["actor"]["name"] or rule["actor"]["id"])
    values = (rule[name] for name in ("id", "name", "tool"))
    return (*values, f"{rule['setting']}.{rule['key']}", rule["ignored"], rule["last_time"], rule["created_time"], actor)


@connections.command("rename-rule")
@through_api()
@click.argument("rule_id")
@click.option("--client", "client_id", required=True, help="The client.")
@click.option("--name", required=True, help="The new name.")
@json_option()
def rename_rule(tb: Touchbase, rule_id: str, client_id: str, name: str, as_json: bool) -> None:
    """Rename a rule that `touchbase connections ignored` lists."""
    rule = tb.admin.ignore_rules.rename(client_id, rule_id, {"name": name})
    print_values({"rule": rule_id, "name": rule["name"]}, as_json=as_json)


@connections.command()
@through_api()
@click.argument("rule_id")
@click.option("--client", "client_id", required=True, help="The client.")
@click.option("--replay", is_flag=True, help="Read what it has ignored again: one change, which `touchbase changes revert` takes back.")
@json_option()
def unignore(tb: Touchbase, rule_id: str, client_id: str, replay: bool, as_json: bool) -> None:
    """Take a rule away that ignores webhooks, such as `touchbase connections ignored` lists.

    \b
    touchbase connections unignore 5b1f0a9c3e7d2468 --client acme --replay
    """
    job = tb.admin.ignore_rules.remove(client_id, rule_id, replay=replay)
    print_values({"rule": rule_id, **({"job": job["id"], "state": job["state"]} if job else {})}, as_json=as_json)


def _rehearse(
    tb: Touchbase, client_id: str, channel: str, tool: str, settings: tuple[str, ...], since: Micros, as_json: bool
) -> None:  # fmt: skip
    """Print the outcome of stored deliveries under the connection's settings with these changes."""
    from touchbase_client import Problem

    _, body = _settings_after(tb, client_id, channel, tool, settings)
    filters = {"client": client_id, "channel": channel, "received_since": to_text(since), **({"tool": tool} if tool != "generic" else {})}
    try:
        rehearse(tb, filters, {"channel": channel, "tool": tool, "settings": body}, as_json)
    except Problem as problem:
        if here() is not None:
            _refuse([replace(fault, pointer=fault.pointer.removeprefix("/connection")) for fault in problem.errors])
        raise


def _print_connection(connected: Values, address: str, new: str | None, secrets: Sequence[str]) -> None:
    """Print a connection, and the proofs that webhooks may have with one of these secrets."""
    channel, tool = connected["channel"], connected["tool"]
    click.echo(f"{tool} is connected on {channel}; its secret is {'set' if secrets else 'not set'}")
    if connected["access_token"] == "set":  # noqa: S105 - the state of the token
        use = "records  fetched with its access token; `touchbase connections show` shows the state"
        if channel == EMAIL_CAMPAIGN:
            use = "token    set, for `connections load` and `endpoints add --kind blocklist`"
        click.echo(f"  {use}")
    click.echo(f"  address  {address}")
    if new is not None:
        click.echo(f"  secret   {new}  (it is shown only once)")
    if secrets:
        click.echo("  proof    any of:")
        for proof in _proofs(channel, tool, secrets):
            click.echo(f"           {proof}")
    for sender in connected.get("would_refuse", ()):
        webhooks = f"{sender['calls']} webhook{'s' if sender['calls'] > 1 else ''} of {sender['tool'] or 'no known tool'}"
        click.echo(f"  refused  from now: {webhooks} came unverified in the last 7 days, the last at {sender['last_received_time'][:19]}")


@dataclass(frozen=True)
class _Changes:
    """Settings to change; None: unchanged."""

    secrets: list[str] | None
    settings: tuple[str, ...]
    token: str | None


def _add(tb: Touchbase, client_id: str, channel: Any, tool: str, changes: _Changes) -> tuple[str, Values, list[str]]:
    """Return the client's present id (the given one may be a former one), the connection, and its secrets; older ones are not shown."""
    from touchbase_client import Problem

    present, settings = _settings_after(tb, client_id, channel, tool, changes.settings)
    body: Any = {"settings": settings} if changes.settings else {}
    body |= {} if changes.secrets is None else {"secrets": changes.secrets}
    body |= {} if changes.token is None else {"access_token": changes.token or None}
    try:
        if present is None:
            changed = tb.admin.connections.connect(client_id, body | {"channel": channel, "tool": tool})
        else:
            changed = tb.admin.connections.change(client_id, channel, tool, body)
    except Problem as problem:
        if here() is not None:
            _refuse(problem.errors)
        raise
    unknown = [""] * changed["secret_count"] if changes.secrets is None else changes.secrets
    return tb.admin.clients.get(client_id)["client_id"], {**changed}, unknown


def _settings_after(tb: Touchbase, client_id: str, channel: str, tool: str, pairs: tuple[str, ...]) -> tuple[Any, Values]:
    """Return a connection, None if it is new, and its settings after these changes."""
    import msgspec

    from touchbase.connections.api import ConnectionSettingsBody, settings_of
    from touchbase.connections.models import NO_SETTINGS

    connections = tb.admin.connections.list(client_id)["data"]
    present = next((connection for connection in connections if (connection["channel"], connection["tool"]) == (channel, tool)), None)
    before = NO_SETTINGS if present is None else settings_of(msgspec.convert(present["settings"], ConnectionSettingsBody))
    merged = msgspec.convert(_merge_settings(before, pairs), ConnectionSettingsBody, from_attributes=True)
    return present, msgspec.to_builtins(merged)


def _refuse(faults: Sequence[Fault | FieldError]) -> None:
    """Fail if there are faults; the message names the option of each."""
    if faults:
        raise click.UsageError("; ".join(f"{_option_of(fault.pointer)}: {fault.detail}" for fault in faults))


def _option_of(pointer: str) -> str:
    """Return the option, and the name of a setting, for a pointer into a connection."""
    name, *within = pointer.removeprefix("/").split("/")
    option = f"--{name.removesuffix('s').replace('_', '-')}"
    return " ".join([option, *filter(None, [".".join(within)])]) if name == "settings" else option


def _merge_settings(settings: ConnectionSettings, pairs: tuple[str, ...]) -> ConnectionSettings:
    """Return the known settings, changed by the ones given as NAME=VALUE or NAME.KEY=VALUE."""
    import msgspec

    from touchbase.connections.api import ConnectionSettingsBody, settings_of
    from touchbase.http.body_errors import decode_leniently

    defaults = msgspec.to_builtins(ConnectionSettingsBody())
    values = msgspec.to_builtins(msgspec.convert(settings, ConnectionSettingsBody, from_attributes=True))
    for pair in pairs:
        name, equals, value = pair.partition("=")
        name, dot, key = name.partition(".")
        if not equals or name not in defaults:
            raise click.UsageError(f"--setting is NAME=VALUE, with NAME one of {', '.join(defaults)}; not {pair.partition('=')[0]!r}")
        if not isinstance(defaults[name], dict):
            values[name] = _value(value) if value else defaults[name]
        elif not dot:
            values[name] = _value(value) if value else {}
        elif value:
            values[name][key] = None if value == "null" else value
        else:
            values[name].pop(key, None)
    merged, faults = decode_leniently(values, ConnectionSettingsBody)
    _refuse([replace(fault, pointer=f"/settings{fault.pointer}") for fault in faults])
    return settings_of(merged)


def _value(text: str) -> object:
    """Return a JSON value such as true, null or a whole table; for a text that is not JSON, the text."""
    import msgspec

    try:
        value: object = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return value


def _proofs(channel: str, tool: str, secrets: Sequence[str]) -> list[str]:
    """Return the ways in which a webhook may prove to know the secret; presenting a public key proves nothing."""
    from touchbase.adapters.kit.signatures import BEARER
    from touchbase.adapters.registry import load_adapters

    adapters = load_adapters()
    proofs = [scheme.about for scheme in adapters.schemes(channel, tool)]
    return proofs if all(adapters.is_public(channel, tool, secret) for secret in secrets) else [*proofs, BEARER]


def _token(token: str | None, file: Path | None, remove: bool) -> str | None:
    """Return the access token to set; empty: remove it; None: leave it as it is."""
    from touchbase.connections.models import LONGEST_TOKEN

    if sum(option is not None for option in (token, file, remove or None)) > 1:
        raise click.UsageError("give one of --access-token, --access-token-file and --no-access-token")
    if remove:
        return ""
    token = read_text(file) if file is not None else token
    if token is not None and not 1 <= len(token) <= LONGEST_TOKEN:
        raise click.UsageError(f"--access-token has 1 to {LONGEST_TOKEN} characters")
    return token
