"""`touchbase users`: people of the team, and the one-time links by which they join or choose another password."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.keys import KEY_ID, SCOPES
from touchbase.cli.options import Group, duration, json_option
from touchbase.cli.output import SHORT, SPARE, Column, print_json, print_list
from touchbase.cli.store import now_us
from touchbase.cli.through_api import here, through_api
from touchbase.common.timestamps import Micros, to_text

if TYPE_CHECKING:
    from touchbase_client import Touchbase

ROLES = ("viewer", "operator", "admin")
STATES = ("invited", "active", "suspended")
COLUMNS = ("email", "name", "role", "clients", "state", Column("last seen", SPARE), Column("id", SPARE))
USUAL_ADDRESS = "http://127.0.0.1:8000"
"""Of a server that does not run yet."""
EMAIL = click.argument("email")
KEY_COLUMNS = ("key", Column("name", SHORT), "client", "state", "expires", Column("scopes", SPARE), Column("last used", SPARE))


@click.group(cls=Group)
def users() -> None:
    """Invite people to the console, list, suspend and resume them."""


@users.command()
@through_api()
@EMAIL
@click.option("--name", default="", help="The person's name; they can change it when they join.")
@click.option("--role", type=click.Choice(ROLES), help="The role for all clients.")
@click.option("--grant", "grants", multiple=True, metavar="CLIENT:ROLE", help="A role for one client; may be given several times.")
@json_option()
def add(tb: Touchbase, email: str, name: str, role: str | None, grants: tuple[str, ...], as_json: bool) -> None:
    """Invite a person and print the link to join: it works once, for 7 days.

    \b
    touchbase users add mira@example.com --role admin
    touchbase users add ben@example.com --grant acme:operator --grant brightwater:viewer
    """
    body: Any = {"email": email, "name": name, "role": role, "grants": [_grant(text) for text in grants]}
    _print_link(dict(tb.team.invitations.create(body)), as_json)


@users.command("list")
@through_api()
@click.option("--state", type=click.Choice(STATES), help="Only people in this state.")
@json_option()
def list_(tb: Touchbase, state: Any, as_json: bool) -> None:
    """List people, by e-mail address."""
    people: list[dict[str, Any]] = [dict(user) for user in tb.team.users.iterate(state=state)]
    for user in people:
        user["clients"] = "all" if user["all_clients"] else ", ".join(f"{grant['client_id']}:{grant['role']}" for grant in user["grants"])
    names = ("email", "name", "role", "clients", "state", "last_seen_time", "id")
    print_list(people, COLUMNS, names, as_json=as_json, empty="there are no users: `touchbase users add` invites one")


@users.command()
@through_api()
@EMAIL
@json_option()
def reset(tb: Touchbase, email: str, as_json: bool) -> None:
    """Print a link for another password: it works once, for a day. For a person who has not joined it is a new invitation."""
    _print_link(dict(tb.team.users.reset(_id_of(tb, email))), as_json)


@users.command()
@through_api()
@EMAIL
@json_option()
def suspend(tb: Touchbase, email: str, as_json: bool) -> None:
    """Disable a person's sign-in and end all their sessions within a second."""
    user = tb.team.users.update(_id_of(tb, email), {"state": "suspended"})
    print_json(user) if as_json else click.echo(f"{email} is suspended")


@users.command()
@through_api()
@EMAIL
@json_option()
def resume(tb: Touchbase, email: str, as_json: bool) -> None:
    """Enable a suspended person's sign-in again."""
    user = tb.team.users.update(_id_of(tb, email), {"state": "active"})
    print_json(user) if as_json else click.echo(f"{email} may sign in again")


@users.group("keys", cls=Group)
def keys() -> None:
    """Personal keys: API keys that act as their person and are limited by that person's rights."""


@keys.command("create")
@through_api()
@click.option("--name", required=True, help="What the key is for, shown in lists.")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="What it allows; may be given several times.")
@click.option("--client", "client_id", help="Its only client; without it, all clients of the person.")
@click.option("--expires-in", callback=duration(), metavar="DURATION", help="Its lifetime, such as 90d; without it, no end.")
@json_option()
def create_key(tb: Touchbase, name: str, scopes: tuple[str, ...], client_id: str | None, expires_in: Micros | None, as_json: bool) -> None:
    """Create another key for the person of the key that runs the command, and print it: it is shown only once.

    The first one is made in the console. Without --scope it allows reading records.

    \b
    touchbase users keys create --url https://touchbase.example.com --name laptop --scope records:read
    """
    expires = None if expires_in is None else to_text(now_us() + expires_in)
    body: Any = {"name": name.strip(), "scopes": list(scopes) or [SCOPES[0]], "client_id": client_id, "expires_time": expires}
    key = tb.team.keys.create(body)
    print_json(key) if as_json else click.echo(key["key"])


@keys.command("list")
@through_api()
@click.argument("email", required=False)
@json_option()
def list_keys(tb: Touchbase, email: str | None, as_json: bool) -> None:
    """List a person's keys; without an address, of the person of the key that runs the command."""
    listed: list[dict[str, Any]] = [
        dict(key) for key in tb.team.keys.list(**({} if email is None else {"user_id": _id_of(tb, email)}))["data"]
    ]
    for key in listed:
        key |= {"client": key["client_id"] or "all", "scopes": ", ".join(key["scopes"])}
    names = ("key_id", "name", "client", "state", "expires_time", "scopes", "last_used_time")
    print_list(listed, KEY_COLUMNS, names, as_json=as_json, empty="there are no personal keys: people make them in the console")


@keys.command("revoke")
@through_api()
@KEY_ID
@json_option()
def revoke_key(tb: Touchbase, key_id: str, as_json: bool) -> None:
    """Revoke a personal key; running servers refuse it within a second."""
    tb.team.keys.revoke(key_id)
    print_json({"key_id": key_id, "state": "revoked"}) if as_json else click.echo(f"key {key_id} is revoked")


def _grant(text: str) -> dict[str, str]:
    client_id, colon, role = text.rpartition(":")
    if not colon or role not in ROLES:
        raise click.UsageError(f"--grant: must be CLIENT:ROLE, such as acme:operator, with one of the roles {', '.join(ROLES)}")
    return {"client_id": client_id, "role": role}


def _id_of(tb: Touchbase, email: str) -> str:
    users = tb.team.users.list(email=email.strip().lower())["data"]
    if not users:
        raise click.ClickException(f"there is no user {email}: `touchbase users list` shows all")
    return str(users[0]["id"])


def _print_link(shown: dict[str, Any], as_json: bool) -> None:
    """Print a link as people reach it: without a server and a public URL it has the address of one that runs on this store."""
    application = here()
    if application is not None:
        from touchbase.cli.in_process import URL
        from touchbase.presence import list_servers

        servers = application.on_store(lambda store: store.read(list_servers(now_us())))
        shown["link"] = shown["link"].replace(URL, servers[0].address if servers else USUAL_ADDRESS, 1)
    if as_json:
        print_json(shown)
        return
    click.echo(shown["link"])
    click.echo(f"works once, until {shown['expires_time']}" + ("; it was sent by e-mail too" if shown["mailed"] else ""), err=True)
