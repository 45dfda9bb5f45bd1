"""`touchbase connections add`: a tool connected to a client, or its connection changed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touchbase.cli.common import channel_of, find_client, json_option, opened, print_json, read_settings, read_text, run, setting_options
from touchbase.cli.connection_options import of_connection
from touchbase.common.timestamps import to_text
from touchbase.errors import Invalid

if TYPE_CHECKING:
    from touchbase.connections.models import Connection, ConnectionSettings
    from touchbase.errors import Fault
    from touchbase.inbox.refused import AffectedSender

_PATHS = {"email_campaign": "emailcampaign-webhook", "crm": "crm-webhook"}


@click.command()
@setting_options("database", "public_url", "fetch_allowed_origins")
@of_connection
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    help="What calls must prove to know; several while one replaces the other, or one for each webhook.",
)
@click.option(
    "--secret-file", type=click.Path(path_type=Path, allow_dash=True), help="Read the secret from this file (- for standard input)."
)
@click.option("--generate-secret", is_flag=True, help="Make a secret and print it; it is shown this once.")
@click.option("--no-secret", is_flag=True, help="Take the secrets away: calls need no proof.")
@click.option("--access-token", help="With what the tool's API may be asked for records that its calls leave out.")
@click.option(
    "--access-token-file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Read the token from this file (- for standard input).",
)
@click.option("--no-access-token", is_flag=True, help="Take the access token away: the tool is not asked any more.")
@click.option("--setting", "settings", multiple=True, metavar="NAME=VALUE", help="A setting; NAME.KEY=VALUE for one entry of a table.")
@json_option("Print JSON: the connection, the path of its address, and a secret just made.")
def add(
    database: str | None, public_url: str | None, fetch_allowed_origins: str | None, client_id: str, channel: str | None, tool: str,
    secrets: tuple[str, ...], secret_file: Path | None, generate_secret: bool, no_secret: bool, access_token: str | None,
    access_token_file: Path | None, no_access_token: bool, settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Connect a tool to a client, or change its connection.

    Secrets that are given replace those there were; settings that are given are set, others stay. An empty
    VALUE puts a setting back to its default, or takes an entry of a table away; the word null means none.
    """
    from touchbase.connections.service import new_secret

    channel = channel_of(channel, tool)
    given = [*secrets, *([read_text(secret_file)] if secret_file else [])]
    made = new_secret() if generate_secret else None
    if no_secret and (given or made):
        raise click.UsageError("--no-secret goes with no other secret")
    chosen = [*given, made] if made else given
    token = _token(access_token, access_token_file, no_access_token)
    decided = read_settings(public_url=public_url, fetch_allowed_origins=fetch_allowed_origins)
    wanted = _Wanted(chosen if chosen or no_secret else None, settings, token, decided.fetch_allowed)
    try:
        present_id, connected, lately = run(_add(database, client_id, channel, tool, wanted))
    except Invalid as invalid:  # the store has no key to seal a secret with
        _refuse(invalid.faults)
        raise
    path = f"/public/{_PATHS[channel]}/{present_id}"
    if as_json:
        _print_as_json(connected, present_id, path, made, lately)
    else:
        _tell(connected, f"{decided.public_url.rstrip('/') or '(the address of your server)'}{path}", made, lately)


def _print_as_json(connected: Connection, client_id: str, path: str, made: str | None, lately: list[AffectedSender]) -> None:
    import msgspec

    from touchbase.connections.api import connection_out, would_refuse

    shown = msgspec.to_builtins(connection_out(connected, made, refused=would_refuse(lately)))
    print_json({"client_id": client_id, "webhook_path": path, **shown})


def _tell(connected: Connection, address: str, made: str | None, lately: list[AffectedSender]) -> None:
    channel, tool = connected.channel, connected.tool
    click.echo(f"{tool} is connected on {channel}; its secret is {'set' if connected.secrets else 'not set'}")
    if connected.access_token:
        click.echo("  records  fetched with its access token; `touchbase connections show` says how that goes")
    click.echo(f"  address  {address}")
    if made is not None:
        click.echo(f"  secret   {made}  (it is shown this once)")
    if connected.secrets:
        click.echo("  proof    any of:")
        for way in _ways(channel, tool, connected.secrets):
            click.echo(f"           {way}")
    for caller in lately:
        calls = f"{caller.calls} call{'s' if caller.calls > 1 else ''} of {caller.tool or 'no known tool'}"
        click.echo(f"  refused  from now: {calls} came unverified in the last 7 days, the last at {to_text(caller.last_us)[:19]}")


@dataclass(frozen=True)
class _Wanted:
    """What is to be set; None leaves what there is."""

    secrets: list[str] | None
    settings: tuple[str, ...]
    token: str | None
    allowed: tuple[str, ...]


async def _add(
    database: str | None, client_id: str, channel: str, tool: str, wanted: _Wanted
) -> tuple[str, Connection, list[AffectedSender]]:
    """The id that its client has now (the given one may be a former one), the connection, and who would be refused from now."""
    from touchbase.adapters.registry import load_adapters
    from touchbase.connections.commands import AddConnection, ChangeConnection, ListConnections
    from touchbase.connections.models import NO_SETTINGS, Connection
    from touchbase.connections.validation import connection_faults, fetch_faults, secret_faults, token_fault, trim_secrets
    from touchbase.inbox.refused import LOOKBACK, find_affected_senders

    async with opened(database) as store:
        client, now = await find_client(store, client_id, lasting=True), time.time_ns() // 1000
        connected = await store.read(ListConnections(client.number))
        known = next((one for one in connected if (one.channel, one.tool) == (channel, tool)), None)
        settings, adapters = _with(known.settings if known else NO_SETTINGS, wanted.settings), load_adapters()
        secrets, token = None if wanted.secrets is None else trim_secrets(wanted.secrets), wanted.token
        _check_secrets(secrets or [])
        faults = connection_faults(channel, tool, settings, adapters.tools(channel), adapters.kinds(channel, tool, settings))
        faults += secret_faults(adapters, channel, tool, secrets or [], settings)
        faults += [] if known is None else token_fault(known, settings, token_given=token is not None)
        kept = known.access_token if known is not None and token is None else token
        _refuse([*faults, *fetch_faults(tool, kept, settings, adapters.fetcher(channel, tool), wanted.allowed)])
        if known is not None:
            changed = ChangeConnection(client.number, channel, tool, secrets, settings, now, token, known)
            since = max(now - LOOKBACK, known.guarded_us or 0)
            made = await store.write(changed)
            return client.client_id, made, await find_affected_senders(store, client, made, since) if secrets else []
        made = Connection(client.number, channel, tool, now, now, secrets or [], settings, token or "")
        made = await store.write(AddConnection(made))
        return client.client_id, made, await find_affected_senders(store, client, made, now - LOOKBACK)


def _refuse(faults: Sequence[Fault]) -> None:
    """Fail, as any command that is asked wrongly, where there are faults; each is named as it was given."""
    if faults:
        raise click.UsageError("; ".join(f"{_given_as(fault.pointer)}: {fault.detail}" for fault in faults))


def _given_as(pointer: str) -> str:
    """The option, and the name in it, that a pointer into a connection is about."""
    name, *within = pointer.removeprefix("/").split("/")
    option = f"--{name.removesuffix('s').replace('_', '-')}"
    return " ".join([option, *filter(None, [".".join(within)])]) if name == "settings" else option


def _check_secrets(secrets: list[str]) -> None:
    from touchbase.connections.models import LONGEST_SECRET, SHORTEST_SECRET

    if any(not SHORTEST_SECRET <= len(secret) <= LONGEST_SECRET for secret in secrets):
        raise click.UsageError(f"a secret has {SHORTEST_SECRET} to {LONGEST_SECRET} characters")


def _with(known: ConnectionSettings, given: tuple[str, ...]) -> ConnectionSettings:
    """The settings with those given as NAME=VALUE or NAME.KEY=VALUE."""
    import msgspec

    from touchbase.connections.api import ConnectionSettingsBody, settings_of
    from touchbase.http.body_errors import decode_leniently

    usual = msgspec.to_builtins(ConnectionSettingsBody())
    values = msgspec.to_builtins(msgspec.convert(known, ConnectionSettingsBody, from_attributes=True))
    for one in given:
        name, equals, value = one.partition("=")
        name, dot, key = name.partition(".")
        if not equals or name not in usual:
            raise click.UsageError(f"a setting reads NAME=VALUE, NAME one of {', '.join(usual)}; not {one!r}")
        if not isinstance(usual[name], dict):
            values[name] = _value(value) if value else usual[name]
        elif not dot:
            values[name] = _value(value) if value else {}
        elif value:
            values[name][key] = None if value == "null" else value
        else:
            values[name].pop(key, None)
    made, faults = decode_leniently(values, ConnectionSettingsBody)
    _refuse([replace(fault, pointer=f"/settings{fault.pointer}") for fault in faults])
    return settings_of(made)


def _value(text: str) -> object:
    """A value as JSON where it is any: true, null, a whole table; else the text itself."""
    import msgspec

    try:
        value: object = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return value


def _ways(channel: str, tool: str, secrets: Sequence[str]) -> list[str]:
    """How a call may prove itself. Showing a public key proves nothing."""
    from touchbase.adapters.kit.signatures import BEARER
    from touchbase.adapters.registry import load_adapters

    adapters = load_adapters()
    ways = [scheme.about for scheme in adapters.schemes(channel, tool)]
    return ways if all(adapters.is_public(channel, tool, secret) for secret in secrets) else [*ways, BEARER]


def _token(given: str | None, file: Path | None, taken: bool) -> str | None:
    """The access token that is to be set: empty takes it away, None leaves the one there is."""
    from touchbase.connections.models import LONGEST_TOKEN

    if sum(each is not None for each in (given, file, taken or None)) > 1:
        raise click.UsageError("give one of --access-token, --access-token-file and --no-access-token")
    if taken:
        return ""
    token = read_text(file) if file is not None else given
    if token is not None and not 1 <= len(token) <= LONGEST_TOKEN:
        raise click.UsageError(f"an access token has 1 to {LONGEST_TOKEN} characters")
    return token
