"""Database addresses as they may be shown."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit


def without_password(url: str) -> str:
    """A database URL as it may be shown."""
    try:
        parts = urlsplit(url)
        # A port that is none is a piece of a password with a / or # in it, and so is an @ that comes late.
        password, _ = parts.password, [urlsplit(f"//{host}").port for host in parts.netloc.rpartition("@")[2].split(",")]
        # Without a place it is in another form, such as libpq's `host=... password=...`.
        misplaced = not url.startswith("sqlite") and (not parts.netloc or bool({"@", ":"} & {*parts.path, *parts.fragment}))
    except ValueError:
        misplaced = True
    if misplaced:
        return "(not a URL)"
    if password is None:
        return urlunsplit(parts._replace(query="")) if parts.netloc else url.partition("?")[0]
    user = parts.username or ""
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}:***@{place}", query=""))
