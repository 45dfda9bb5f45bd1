"""The command line: one file per command group.

A command's file is imported when that command is used, and what it needs when it runs: `touchbase
--version` and `touchbase preview` never load the server or a database driver.
"""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from importlib import import_module

import click

import touchbase
from touchbase.config import BadSettings, check_names
from touchbase.errors import BadAddress, TouchbaseError

COMMANDS = {
    "serve": "Run the HTTP server, with the inbox worker beside it.",
    "worker": "Run the inbox worker alone.",
    "migrate": "Bring the store's schema up to date.",
    "inbox": "List and show deliveries, and apply them again.",
    "refusals": "List webhook calls that were refused.",
    "verify": "Recompute every derived value from the kept events.",
    "backup": "Copy a SQLite store, also while a server runs.",
    "restore": "Put a backup into the place of a SQLite store.",
    "persons": "Erase a person, export a person's data, and reapply erasures in a restored store.",
    "prune": "Remove the bodies of calls that were kept long enough.",
    "vacuum": "Leave no trace of removed rows in the store's files.",
    "clients": "List, add, suspend and delete clients, and change their settings.",
    "connections": "Connect clients' tools, list and show connections, and remove them.",
    "keys": "Make, list, rotate and revoke API keys.",
    "encryption-keys": "Look after the encryption key that seals secrets in the store.",
    "doctor": "Check settings and store, and say what to do about each problem.",
    "preview": "Show what a webhook call means, without keeping it.",
    "tools": "List the tools whose webhook calls are read.",
    "openapi": "Print the interface's OpenAPI document.",
    "completion": "Print the completion script of a shell.",
}
"""Every command with its short help. Each stands in the file of its name, under that name."""
RENAMED = {
    "translate": "preview",
    "erase": "persons erase",
    "export-person": "persons export",
    "reapply-erasures": "persons reapply-erasures",
}
"""Old names that still work; no list shows them."""


class Commands(click.Group):
    """The commands, imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, most needed first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, or of the new one of an old name."""
        group, _, member = RENAMED.get(cmd_name, "").partition(" ")
        if group:
            found = self.get_command(ctx, group)
            return found.get_command(ctx, member) if isinstance(found, click.Group) else found
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"touchbase.cli.{name}"), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called; unknown names of settings are errors of every command but `doctor`, which reports them all."""
        nearest = get_close_matches(args[0], COMMANDS, 1) if self.get_command(ctx, args[0]) is None else []
        if nearest and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {nearest[0]}?")
        name, command, rest = super().resolve_command(ctx, args)
        if name != "doctor" and not ctx.resilient_parsing:
            check_names(os.environ)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; an error that we can explain is one line, not a traceback."""
        try:
            return super().invoke(ctx)
        except BadSettings as error:
            raise click.UsageError(str(error)) from error
        except BadAddress as error:
            raise click.UsageError(f"--database (TOUCHBASE_DATABASE) names no store: {error.detail}") from error
        except TouchbaseError as error:
            raise click.ClickException(error.detail) from error
        except BrokenPipeError:
            # Whoever read our output has had enough of it (`touchbase inbox list | head`); nothing may be written to it at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None
        except (OSError, UnicodeError, OverflowError) as error:  # the last net: arguments that no store, file or system takes
            raise click.ClickException(f"{ctx.invoked_subcommand} cannot be done: {error}") from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(touchbase.__version__, message="touchbase %(version)s")
def cli() -> None:
    """Touchbase: contacts, companies and the webhook calls of campaign tools and CRMs, kept right in any order."""


def main() -> None:
    """The `touchbase` command."""
    cli(prog_name="touchbase")
