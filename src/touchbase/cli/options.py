"""Options that commands share, and groups of commands."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import click

from touchbase.cli.server_options import ON_THE_HOST, url_given
from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import DAY, SECOND, Micros, from_text
from touchbase.config import RENAMED_AUTH, Settings, environment_name
from touchbase.errors import Invalid
from touchbase.history.events import CHANNELS

if TYPE_CHECKING:
    from touchbase.history.identity_links import Ref

F = TypeVar("F", bound=Callable[..., Any])

ALWAYS_JSON = "Changes nothing: the output is always JSON."
OF_CLIENT = click.option("--client", "client_id", help="Only of this client.")
ID = click.IntRange(1, LARGEST_ID)
"""The type of an option or argument that is the id of a record or a delivery."""
UNITS = {"s": SECOND, "m": 60 * SECOND, "h": 3_600 * SECOND, "d": DAY}
_DURATION = re.compile(r"(\d{1,9})([smhd])")


class Group(click.Group):
    """A group of commands; its help shows the whole first sentence of each."""

    former: Mapping[str, click.Command] = {}
    """Commands by their former names, which still work; help does not list them."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name or former name."""
        return super().get_command(ctx, cmd_name) or self.former.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands."""
        write_commands(formatter, sorted(self.commands.items()))


def write_commands(formatter: click.HelpFormatter, commands: list[tuple[str, click.Command]]) -> None:
    """Write each command with the first sentence of its help."""
    with formatter.section("Commands"):
        formatter.write_dl([(name, command.get_short_help_str(limit=200)) for name, command in commands])


def with_client_argument(name: str, command: click.Command) -> click.Command:
    """Return a command under a former name, which took the client's id as an argument and not as `--client`."""
    params = [click.Argument(["client_id"]) if param.name == "client_id" else param for param in command.params]
    return click.Command(name, callback=command.callback, params=params, help=command.help, hidden=True)


def former_option(former: str, present: str) -> Callable[[F], F]:
    """Add an option under its former name, which is refused with the present one."""

    def refuse(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise click.UsageError(f"{former} is called {present} now")

    return click.option(former, hidden=True, expose_value=False, callback=refuse)


def setting_options(*names: str) -> Callable[[F], F]:
    """Add an option for each of these settings; its value is None if the option is not given."""

    def decorate(function: F) -> F:
        for name in reversed(names):
            function = _setting_option(name)(function)
        return function

    return decorate


def _setting_option(name: str) -> Callable[[F], F]:
    setting = next(field for field in fields(Settings) if field.name == name)
    kind: Any = type(setting.default)
    default = setting.default if kind is not bool else ("on" if setting.default else "off")
    shown_default = f"; default: {default}" if default != "" else ""
    about = f"{setting.metadata['about']}  [{environment_name(name)}{shown_default}]"
    flag = "--" + name.replace("_", "-")
    if kind is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=about)
    choices = setting.metadata["choices"]
    return click.option(flag, name, type=_SettingChoice(choices) if choices else kind, default=None, help=about)


class _SettingChoice(click.Choice[str]):
    """The values of a setting, including their former names."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        present = RENAMED_AUTH.get(value)
        return super().convert(present if present in self.choices else value, param, ctx)


def read_settings(**options: object) -> Settings:
    """Return the settings: options, then the environment, then defaults. Fail if `--url` was given: a server has its own settings."""
    if url_given() is not None:
        raise click.UsageError(f"this command works on the store itself: {ON_THE_HOST}")
    return Settings.read(os.environ, **options)


def json_option(about: str = "Print JSON.") -> Callable[[F], F]:
    """Add the option `--json`."""
    return click.option("--json", "as_json", is_flag=True, help=about)


def connection_options(function: F) -> F:
    """Add the options that name a connection: client, tool, and the channel of a tool that is on both."""
    for option in (
        click.option("--channel", type=click.Choice(CHANNELS), help="The tool's channel; needed only for a tool on both."),
        click.option("--tool", required=True, help="The tool's name, as `touchbase tools` lists it."),
        click.option("--client", "client_id", required=True, help="The client's id."),
    ):
        function = option(function)
    return function


def find_channel(channel: str | None, tool: str | None) -> str:
    """Return the given channel, or else the tool's only channel."""
    from touchbase.adapters.registry import load_adapters

    if channel is not None:
        return channel
    if tool is None:
        raise click.UsageError(f"give --channel {' or '.join(CHANNELS)}, or --tool")
    channels = [channel for channel in CHANNELS if tool in load_adapters([channel]).tools(channel)]
    if not channels:
        raise click.BadParameter(f"no tool is called {tool!r}: `touchbase tools` lists them", param_hint="'--tool'")
    if len(channels) > 1:
        raise click.UsageError(f"{tool} is on both channels: give --channel {' or '.join(channels)}")
    return channels[0]


def person_options(function: F) -> F:
    """Add the options that name one person: client, and an address or the contact's id."""
    for option in (
        click.option("--id", "contact_id", type=ID, help="The contact's id."),
        click.option("--linkedin", "linkedin_url", help="The person's LinkedIn address."),
        click.option("--email", help="The person's e-mail address, also a former one."),
        click.option("--client", "client_id", required=True, help="The client's id."),
    ):
        function = option(function)
    return function


def read_identities(email: str | None, linkedin_url: str | None, contact_id: int | None) -> list[Ref]:
    """Return the addresses given with `person_options`, normalised; fail if no option names the person."""
    from touchbase.erasure.service import identities

    if email is None and linkedin_url is None and contact_id is None:
        raise click.UsageError("name the person with --email, --linkedin or --id")
    try:
        return identities(email, linkedin_url)
    except Invalid as error:
        raise click.UsageError("; ".join(f"--{fault.pointer.removesuffix('_url')} {fault.detail}" for fault in error.faults)) from error


def keep_old_option(default: str, about: str) -> Callable[[F], F]:
    """Add the option `--keep-old` of commands that replace an id or a key and accept the old one for a while."""
    return click.option("--keep-old", default=default, show_default=True, callback=duration(90), metavar="DURATION", help=about)


def duration(most_days: int = 3_660) -> Callable[[click.Context, click.Parameter, str | None], Micros | None]:
    """Return a callback that parses an option such as `7d`, `24h`, `30m`, `90s` or `0` into microseconds."""

    def parse(context: click.Context, parameter: click.Parameter, text: str | None) -> Micros | None:
        if text is None:
            return None
        micros = 0 if text.strip() == "0" else _parse_duration(text)
        if micros is None:
            raise click.BadParameter(f"{text!r} is no duration such as 7d, 24h, 30m or 0")
        if micros > most_days * DAY:
            raise click.BadParameter(f"{text} is more than {most_days}d")
        return micros

    return parse


def point_in_time(context: click.Context, parameter: click.Parameter, text: str | None) -> Micros | None:
    """Parse an option that is a time, or a duration before now."""
    if text is None:
        return None
    ago = _parse_duration(text)
    if ago is not None:
        return max(0, time.time_ns() // 1000 - ago)
    try:
        return from_text(text.upper())
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(f"{text!r} is no time such as 2h (ago), 7d or 2026-11-20T09:30:00Z") from error


def _parse_duration(text: str) -> Micros | None:
    match = _DURATION.fullmatch(text.strip())
    return int(match[1]) * UNITS[match[2]] if match else None
