"""`touchbase openapi`: the interface's OpenAPI document."""

from __future__ import annotations

import click

import touchbase
from touchbase.cli.common import ALWAYS_JSON, json_option, print_json, read_settings, setting_options


@click.command()
@setting_options("host", "auth", "public_url")
@json_option(ALWAYS_JSON)
def openapi(as_json: bool, **options: object) -> None:
    """Print the interface's OpenAPI document, as a server with these options answers it."""
    from touchbase.http.openapi import description

    settings = read_settings(**options)
    print_json(description(touchbase.__version__, keys_needed=not settings.open_mode, public_url=settings.public_url.rstrip("/")))
