"""What the address of a PostgreSQL store says about its sessions."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

APPLICATION = "touchbase"
_NAME_BYTES = 63


def schema_of(url: str) -> str | None:
    """Return the schema that an address names; None for the one that the role uses by itself."""
    return dict(parse_qsl(urlsplit(url).query)).get("search_path")


def application_of(url: str) -> str:
    """Return the name under which the server lists the connections of the store at this address."""
    schema = schema_of(url)
    return f"{APPLICATION}/{schema}"[:_NAME_BYTES] if schema else APPLICATION


def settings_of(url: str) -> dict[str, str]:
    """Return the startup parameters of a session: only the ones PgBouncer accepts without `ignore_startup_parameters`."""
    return {"application_name": application_of(url)}
