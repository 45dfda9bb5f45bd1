"""The options `--url` and `--key-file`, and the address that stands before the command's name."""

from __future__ import annotations

from pathlib import Path

import click

KEY = "TOUCHBASE_KEY"
CLIENT = "The client's id or handle; with --url only if the key is not of one client. Without --url required."
GROUPS = (
    "contacts", "companies", "custom-fields", "statuses", "messages", "suppressions", "persons", "reports", "jobs", "events", "changes",
    "inbox", "refusals", "clients", "connections", "conversations", "tasks", "attention", "endpoints", "keys", "users", "notes",
    "snippets", "notifications", "audit", "databases",
)  # fmt: skip
"""Commands that can work through the API."""
URL_OPTION = click.option(
    "--url", "server_url", help="Work through the API of this server, such as https://touchbase.example.com, and not on the store."
)
KEY_OPTION = click.option(
    "--key-file",
    type=click.Path(path_type=Path, allow_dash=True),
    help=f"With --url: read the API key from this file (- for standard input); or set {KEY}.",
)


ON_THE_HOST = "run it on the server's host, without --url, and name the store with --database"
"""Advice about a command that does not work through the API."""


def url_given() -> str | None:
    """Return the address that stands before the command's name."""
    context = click.get_current_context(silent=True)
    url = None if context is None else context.find_root().params.get("server_url")
    return str(url) if url is not None else None
