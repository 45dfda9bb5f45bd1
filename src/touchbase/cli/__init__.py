"""The command line: the root command, which imports a command's module when the command is used.

A command is defined once, with its name, options, help and work, in the module that `COMMANDS` names. It imports its needs when
it runs: `touchbase --version` and `touchbase preview` never load the server or a database driver.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

import click

import touchbase
from touchbase.cli.failures import one_line_errors
from touchbase.cli.server_options import GROUPS, KEY_OPTION, ON_THE_HOST, URL_OPTION
from touchbase.common.misspelt import suggest
from touchbase.config import BadSettings, check_names
from touchbase.errors import BadAddress, TouchbaseError

COMMANDS = {
    "serve": "serve",
    "demo": "demo",
    "worker": "worker",
    "migrate": "maintain",
    "inbox": "inbox",
    "refusals": "inbox",
    "verify": "maintain",
    "backup": "backup",
    "restore": "backup",
    "copy": "copy",
    "contacts": "records",
    "companies": "records",
    "custom-fields": "custom_fields",
    "reports": "reports",
    "jobs": "jobs",
    "changes": "changes",
    "events": "events",
    "relay": "relay",
    "mcp": "mcp",
    "persons": "persons",
    "attention": "attention",
    "conversations": "conversations",
    "tasks": "tasks",
    "messages": "messages",
    "suppressions": "suppressions",
    "statuses": "statuses",
    "prune": "maintain",
    "vacuum": "maintain",
    "clients": "clients",
    "connections": "connections",
    "endpoints": "endpoints",
    "keys": "keys",
    "users": "users",
    "notes": "notes",
    "snippets": "snippets",
    "notifications": "notifications",
    "audit": "audit",
    "encryption-keys": "encryption_keys",
    "databases": "databases",
    "doctor": "doctor",
    "preview": "describe",
    "tools": "describe",
    "openapi": "describe",
    "completion": "describe",
}
"""The commands, most used first, each with the module of this package that defines it."""
RENAMED = {
    "cells": "databases",
    "translate": "preview",
    "erase": "persons erase",
    "export-person": "persons export",
    "reapply-erasures": "persons reapply-erasures",
}
"""Former names of commands, which still work; help does not list them."""
REMOVED = {"import": "RevyOps is imported by a script, integrations/revyops/import_revyops.py in the source"}


NEEDS_NO_STORE = ("preview", "tools", "openapi", "completion")
"""Commands that work on nothing but their arguments."""


class Commands(click.Group):
    """The root command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name or former name."""
        group, _, member = RENAMED.get(cmd_name, "").partition(" ")
        if group:
            renamed = self.get_command(ctx, group)
            return renamed.get_command(ctx, member) if member and isinstance(renamed, click.Group) else renamed
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"touchbase.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command to run; fail for unknown names of settings, except for `doctor`, which reports all of them."""
        if args[0] in REMOVED and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}: {REMOVED[args[0]]}.")
        near = suggest(args[0], COMMANDS) if self.get_command(ctx, args[0]) is None else None
        if near and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near}?")
        name, command, arguments = super().resolve_command(ctx, args)
        if ctx.params.get("server_url") is not None and name not in GROUPS and not ctx.resilient_parsing:
            ctx.fail(f"{name} does not work through a server: {_instead(name)}; with --url work {', '.join(GROUPS)}")
        if name != "doctor" and not ctx.resilient_parsing:
            check_names(os.environ)
        return name, command, arguments

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the first sentence of their help, in the order of `COMMANDS`."""
        from touchbase.cli.options import write_commands

        commands = [(name, self.get_command(ctx, name)) for name in COMMANDS]
        write_commands(formatter, [(name, command) for name, command in commands if command is not None])

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; an error is one line, not a traceback."""
        with one_line_errors(ctx):
            return self._invoke(ctx)

    def _invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            if error.option_name not in ("--url", "--key-file") or error.ctx is None:
                raise
            name = error.ctx.info_name
            raise click.UsageError(f"{name} does not work through a server: {_instead(name)}", error.ctx) from None
        except BadSettings as error:
            raise click.UsageError(str(error)) from error
        except BadAddress as error:
            raise click.UsageError(f"--database (TOUCHBASE_DATABASE) names no store: {error.detail}") from error
        except TouchbaseError as error:
            raise click.ClickException(error.detail) from error
        except BrokenPipeError:
            # The reader of standard output has ended (`touchbase inbox list | head`): nothing can be written to it any more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None


def _instead(name: str | None) -> str:
    """Return the advice for a command that does not accept `--url`."""
    if name in NEEDS_NO_STORE:
        return "it needs neither a server nor a store, leave out --url"
    return ON_THE_HOST


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(touchbase.__version__, message="touchbase %(version)s")
@URL_OPTION
@KEY_OPTION
def cli(server_url: str | None, key_file: Path | None) -> None:
    """Touchbase: contacts and companies from the webhooks of campaign tools and CRMs, the same in any order of arrival."""


def main() -> None:
    """Run the `touchbase` command."""
    cli(prog_name="touchbase")
