"""Commands through the API of a server, in place of the store: `--url`, and the key that goes with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.server_options import CLIENT_OPTION, KEY, KEY_OPTION, URL_OPTION, url_given
from touchbase.cli.store import read_text, run

if TYPE_CHECKING:
    from touchbase.client import Touchbase

Work = Callable[..., Any]

SERVER = "touchbase.server"
"""The server of a command that works through one, in the command's context."""
ADDRESS = "touchbase.address"
"""The address of that server."""
PAGE = 200
"""Items that are asked for at once."""


def or_at_server(remote: Callable[..., None], *, needs_client: bool = False, of_client: bool = False) -> Callable[[Work], Work]:
    """Add `--url` and `--key-file` to a command; with an address, `remote(touchbase, **options)` runs in its place.

    `needs_client`: the command has `--client`, which a store needs and a key may make needless. `of_client`: the command has none, and
    gets it for the API.
    """

    def decorate(local: Work) -> Work:
        @wraps(local)
        def chosen(server_url: str | None, key_file: Path | None, **options: Any) -> None:
            address = server_url or url_given()
            client_id = options.pop("client_id") if of_client else options.get("client_id")
            if address is not None:
                with _server(address, key_file, client_id, options) as found:
                    remote(found, **options)
                return
            if key_file is not None or (of_client and client_id is not None):
                raise click.UsageError(f"{'--key-file' if key_file else '--client'} goes with --url: the store itself does not need it")
            if needs_client and client_id is None:
                raise click.UsageError("Missing option '--client'.")
            local(**options)

        return URL_OPTION(KEY_OPTION(CLIENT_OPTION(chosen) if of_client else chosen))

    return decorate


def through_server(*, client: str = "", only_store: tuple[str, ...] = ()) -> Callable[[Work], Work]:
    """Add `--url` and `--key-file` to a command that gets what it needs with `fetch`.

    `client`: "needed" for commands of one client, whose option `--client` is required without a server; "given" for those of one client or
    another list; empty for those of administrators. `only_store`: options that make no sense at a server.
    """

    def decorate(work: Work) -> Work:
        @wraps(work)
        def chosen(server_url: str | None, key_file: Path | None, **options: Any) -> None:
            address = server_url or url_given()
            if address is None:
                if key_file is not None:
                    raise click.UsageError("--key-file goes with --url: the store itself does not need it")
                if client == "needed" and options.get("client_id") is None:
                    raise click.UsageError("Missing option '--client'.")
                work(**options)
                return
            for name in only_store:
                if options.get(name) is not None:
                    raise click.UsageError(f"--{name.replace('_', '-')} goes with a store, not with --url")
            with _server(address, key_file, options.get("client_id") if client else None, options) as found:
                click.get_current_context().meta.update({SERVER: found, ADDRESS: address})
                work(database=None, **options)

        return URL_OPTION(KEY_OPTION(chosen))

    return decorate


def fetch(remote: Callable[[Touchbase], Any], local: Callable[[], Coroutine[Any, Any, Any]], runner: Callable[[Any], Any] = run) -> Any:
    """Return what a command needs: from its server, or without one from the store."""
    server = chosen_server()
    return runner(local()) if server is None else remote(server)


def chosen_server() -> Touchbase | None:
    """Return the server of the command; None: it works on the store."""
    found: Touchbase | None = click.get_current_context().meta.get(SERVER)
    return found


def some(found: Iterator[Any], limit: int) -> tuple[list[Any], bool]:
    """Return the first items, and whether there are more."""
    items = [*islice(found, limit + 1)]
    return items[:limit], len(items) > limit


def ended(tb: Touchbase, job: Mapping[str, Any]) -> dict[str, Any]:
    """Wait until a job of the server has ended, and return it."""
    from touchbase.client import JobFailed

    try:
        return {**tb.jobs.wait(job["id"])}
    except JobFailed as failed:
        return {**failed.job}


def say_more(option: str, last: object) -> None:
    """Say on standard error how to get the next page."""
    click.echo(f"there are more: {f'{option} {last}' if chosen_server() is None else 'raise --limit'}", err=True)


def at_server(function: Work) -> Work:
    """Add `--url`, `--key-file` and `--client` to a command that only works through the API."""

    @wraps(function)
    def chosen(server_url: str | None, key_file: Path | None, client_id: str | None, **options: Any) -> None:
        address = server_url or url_given()
        if address is None:
            raise click.UsageError("this command works through the API of a server: give --url, such as --url http://127.0.0.1:8000")
        with _server(address, key_file, client_id, options) as found:
            function(found, **options)

    return URL_OPTION(KEY_OPTION(CLIENT_OPTION(chosen)))


@contextmanager
def _server(url: str, key_file: Path | None, client_id: str | None, options: dict[str, Any]) -> Iterator[Touchbase]:
    """Yield the server; errors of its API become messages without the advice for programs."""
    from touchbase.client import Problem, Touchbase, TouchbaseError

    if options.pop("database", None) is not None:
        raise click.UsageError("give --database to work on a store, or --url to work through a server, not both")
    try:
        made = Touchbase(url, _key(key_file), client_id=client_id)
    except ValueError as error:
        raise click.UsageError(f"--url, --key-file or --client: {error}") from None
    with made:
        try:
            yield made
        except Problem as error:
            raise click.ClickException(error.summary) from None
        except TouchbaseError as error:
            raise click.ClickException(str(error)) from None


def _key(key_file: Path | None) -> str | None:
    if key_file is None:
        key_file = click.get_current_context().find_root().params.get("key_file")
    text = os.environ.get(KEY, "").strip() if key_file is None else read_text(key_file)
    if key_file is not None and not text:
        raise click.UsageError(f"{key_file} is empty: write the key into it")
    return text or None
