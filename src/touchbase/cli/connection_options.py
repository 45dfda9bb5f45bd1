"""Naming one connection on the command line: by its client, its tool, and the channel of a tool that is on both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from touchbase.connections.models import CHANNELS

F = TypeVar("F", bound=Callable[..., Any])


def of_connection(function: F) -> F:
    """The options that name a connection."""
    for option in (
        click.option("--channel", type=click.Choice(CHANNELS), help="Which webhook address the tool calls; needed for a tool on both."),
        click.option("--tool", required=True, help="The tool's name, as `touchbase tools` lists it."),
        click.option("--client", "client_id", required=True, help="Whose connection it is."),
    ):
        function = option(function)
    return function
