"""What commands share: options made from settings, an open store, and output for people or machines."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from touchbase.cli.password import without_password
from touchbase.clients.models import DELETING
from touchbase.common.field_limits import LARGEST_ID
from touchbase.config import RENAMED_AUTH, Settings, environment_name
from touchbase.errors import NotFound

if TYPE_CHECKING:
    from touchbase.clients.models import Client
    from touchbase.events.work import ProcessingStore

ALWAYS_JSON = "Changes nothing: the output is JSON anyway."
ID = click.IntRange(1, LARGEST_ID)
"""What ids of ours can be."""

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Group(click.Group):
    """Commands of a kind, listed with the whole first sentence of each."""

    former: Mapping[str, click.Command] = {}
    """Former names of commands, which still work; no list shows them."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, or of this former name."""
        return super().get_command(ctx, cmd_name) or self.former.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=200)) for name, command in sorted(self.commands.items())])


def with_client_argument(name: str, command: click.Command) -> click.Command:
    """A command under a former name, which took the client's id as an argument and not as `--client`."""
    params = [click.Argument(["client_id"]) if each.name == "client_id" else each for each in command.params]
    return click.Command(name, callback=command.callback, params=params, help=command.help, hidden=True)


def setting_options(*names: str) -> Callable[[F], F]:
    """An option for each of these settings; one that is not given leaves the word to the environment."""

    def decorate(function: F) -> F:
        for name in reversed(names):
            function = _option(name)(function)
        return function

    return decorate


def _option(name: str) -> Callable[[F], F]:
    setting = next(each for each in fields(Settings) if each.name == name)
    kind: Any = type(setting.default)
    default = setting.default if kind is not bool else ("on" if setting.default else "off")
    usual = f"; default: {default}" if default != "" else ""
    about = f"{setting.metadata['about']}  [{environment_name(name)}{usual}]"
    flag = "--" + name.replace("_", "-")
    if kind is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=about)
    choices = setting.metadata["choices"]
    return click.option(flag, name, type=_Choice(choices) if choices else kind, default=None, help=about)


class _Choice(click.Choice[str]):
    """The values of a setting, some of which may be given by their old names."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        present = RENAMED_AUTH.get(value)
        return super().convert(present if present in self.choices else value, param, ctx)


def read_settings(**options: object) -> Settings:
    """The settings of this call: options, then the environment, then defaults."""
    return Settings.read(os.environ, **options)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end."""
    import asyncio

    return asyncio.run(work)


def run_fast(work: Coroutine[Any, Any, T]) -> T:
    """The same on uvloop, for whoever has much to do, or on asyncio's own loop where there is no uvloop."""
    try:
        import uvloop
    except ImportError:
        return run(work)
    return uvloop.run(work)


@asynccontextmanager
async def opened(
    database: str | None, *, as_is: bool = False, new: bool = False, copies: bool | None = None
) -> AsyncIterator[ProcessingStore]:
    """The store that a command works on; it must be there already, unless it may be `new`, and wait for no migration, unless `as_is`."""
    from touchbase.encryption.keys import EncryptionKeys
    from touchbase.storage import open_store

    settings = read_settings(database=database, migration_copy=copies)
    if not new:
        must_exist(settings.database)
    keys = EncryptionKeys(settings.encryption_key, settings.encryption_key_old)
    store = await open_store(settings.database, as_is=as_is, encryption_keys=keys, upgrade=False, copies=settings.migration_copy)
    try:
        yield store
    finally:
        await store.close()


@contextmanager
def saying(what_to_do: str) -> Iterator[None]:
    """Whatever is not found meanwhile is told together with what to do then."""
    try:
        yield
    except NotFound as error:
        raise click.ClickException(f"{error.detail}: {what_to_do}") from error


def must_exist(url: str) -> None:
    """Fail when a SQLite address names a file that is not there: opening it would make an empty store."""
    path = url.removeprefix("sqlite:///")
    if url.startswith("sqlite:///") and path and not path.startswith(":") and not Path(path).exists():
        raise click.ClickException(f"there is no store at {url}: name it with --database, or make it with `touchbase serve` or `migrate`")


def shown(url: str) -> str:
    """A database address without its password."""
    return without_password(url)


def read_file(file: Path) -> bytes:
    """The bytes of a file; of standard input for `-`."""
    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from error


def read_text(file: Path) -> str:
    """The text in a file, as `read_file`, without the line's end."""
    try:
        return read_file(file).decode().strip()
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file} holds no text (UTF-8)") from error


def print_json(value: object) -> None:
    """Print a value as JSON, structs included."""
    import msgspec

    click.echo(json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=False))


def json_option(about: str = "Print JSON.") -> Callable[[F], F]:
    """The option `--json` of a command."""
    return click.option("--json", "as_json", is_flag=True, help=about)


def channel_of(channel: str | None, tool: str | None) -> str:
    """The channel that was given, or else the only one that this tool is on."""
    from touchbase.adapters.registry import load_adapters
    from touchbase.connections.models import CHANNELS

    if channel is not None:
        return channel
    if tool is None:
        raise click.UsageError(f"give --channel {' or '.join(CHANNELS)}, or --tool")
    found = [each for each in CHANNELS if tool in load_adapters([each]).tools(each)]
    if not found:
        raise click.BadParameter(f"no tool is called {tool!r}: `touchbase tools` lists them", param_hint="'--tool'")
    if len(found) > 1:
        raise click.UsageError(f"{tool} is on both channels: give --channel {' or '.join(found)}")
    return found[0]


async def find_client(store: ProcessingStore, client_id: str, *, lasting: bool = False) -> Client:
    """The client of this id, or of one that it had and that is still honoured; fails when there is none.

    With `lasting` it also fails for one that is being deleted: whatever it were given now would go with it.
    """
    from touchbase.clients.commands import FindClient

    found = await store.read(FindClient(client_id, time.time_ns() // 1000))
    if found is None:
        raise click.ClickException(f"there is no client {client_id!r}: `touchbase clients list` shows those that are there")
    if lasting and found.state == DELETING:
        raise click.ClickException(f"client {client_id!r} is being deleted; nothing of it can be changed any more")
    return found
