"""Commands as clients of the API: of a server with `--url`, else of the application inside the command's process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import wraps
from itertools import dropwhile, islice
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal

import click

from touchbase.cli.failures import STOPPED
from touchbase.cli.options import setting_options
from touchbase.cli.server_options import CLIENT, KEY, KEY_OPTION, URL_OPTION, url_given
from touchbase.cli.store import read_text

if TYPE_CHECKING:
    from touchbase.cli.in_process import InProcess
    from touchbase_client import FieldError, Problem, Touchbase
    from touchbase_client.core import Wire

Work = Callable[..., Any]

HERE = "touchbase.here"
"""The application in the process of a command, in the command's context."""
ADDRESS = "touchbase.address"
"""The address of the server of a command, in its context."""
CLIENT_ID = "touchbase.client"
"""The client that a command works for, in its context."""
PAGE = 200
"""Items that are read at once."""
ADVICE = {"send misfits=keep": "add --keep-misfits", "send values=delete": "add --values"}
"""Advice of problems to programs -> advice on the command line."""
NO_CLIENT = "there is no client "
CLIENT_OPTION = click.option("--client", "client_id", help=CLIENT)


def through_api(*, client: Literal["", "needed", "own"] = "", settings: tuple[str, ...] = ()) -> Callable[[Work], Work]:
    """Add `--url`, `--key-file` and `--database` to a command, which gets the API as its first argument.

    `client`: "needed" adds `--client`, which only a key of one client makes needless; "own": the command has a `--client` itself.
    `settings` of the application in this process get options; a server has other settings.
    """

    def decorate(work: Work) -> Work:
        @wraps(work)
        def chosen(server_url: str | None, key_file: Path | None, database: str | None, **options: Any) -> None:
            client_id = options.pop("client_id") if client == "needed" else options.get("client_id") if client == "own" else None
            url, chosen_settings = server_url or url_given(), {name: options.pop(name) for name in settings}
            if url is None:
                if key_file is not None:
                    raise click.UsageError("--key-file goes with --url: the store itself does not need it")
                if client == "needed" and client_id is None:
                    raise click.UsageError("Missing option '--client'.")
                api = _in_process({**chosen_settings, "database": database}, client_id)
            else:
                if database is not None:
                    raise click.UsageError("give --database to work on a store, or --url to work through a server, not both")
                for name, value in chosen_settings.items():
                    if value is not None:
                        raise click.UsageError(f"--{name.replace('_', '-')} goes with a store, not with --url")
                api = _server(url, key_file, client_id)
            click.get_current_context().meta.update({CLIENT_ID: client_id, ADDRESS: url})
            with api as tb:
                work(tb, **options)

        with_client = CLIENT_OPTION(chosen) if client == "needed" else chosen
        return URL_OPTION(KEY_OPTION(setting_options("database", *settings)(with_client)))

    return decorate


def here() -> InProcess | None:
    """Return the application in this process; None: the command works through a server."""
    application: InProcess | None = click.get_current_context().meta.get(HERE)
    return application


def address() -> str:
    """Return the address of the server that the command works through."""
    chosen_address: str = click.get_current_context().meta[ADDRESS]
    return chosen_address


def with_client_id(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object of the API with the client that it belongs to, if the command names one."""
    client_id = click.get_current_context().meta[CLIENT_ID]
    return {**values} if client_id is None else {"client_id": client_id, **values}


def page_of(items: Iterable[Any], limit: int, after: object = None, option: str = "--after", name: str = "id") -> tuple[list[Any], bool]:
    """Return the first items, or those behind the item with the id `after`, and whether there are more."""
    if after is not None:
        following = dropwhile(lambda item: item[name] != after, items)
        if next(following, None) is None:
            raise click.ClickException(f"{option} names nothing on this list: begin again without it")
        items = following
    page = [*islice(items, limit + 1)]
    return page[:limit], len(page) > limit


def end_of(tb: Touchbase, job: Mapping[str, Any]) -> dict[str, Any]:
    """Wait until a job has ended, and return it; without a server it runs in this process. A terminal shows its progress."""
    from touchbase_client import JobFailed

    application = here()
    try:
        with nullcontext() if application is None else application.running(job["id"]), _progress() as show:
            try:
                return with_client_id(tb.jobs.wait(job["id"], progress=show))
            except JobFailed as failed:
                return with_client_id(failed.job)
    except KeyboardInterrupt:
        click.echo(f"\nstopped; job {job['id']} continues in a running server, or with `touchbase worker`", err=True)
        sys.exit(STOPPED)


@contextmanager
def _progress() -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Yield a function that shows the progress of a job in one line of a terminal."""
    is_shown = sys.stderr.isatty()

    def show(job: Mapping[str, Any]) -> None:
        if is_shown:
            progress = job["progress"]
            click.echo(f"\r{progress.get('percent', 0):3} %  {_counts(progress)} ", nl=False, err=True)

    yield show
    if is_shown:
        click.echo("\r" + " " * 60 + "\r", nl=False, err=True)


def _counts(progress: Mapping[str, Any]) -> str:
    if "rows" in progress:
        return f"{progress['rows']:,} rows, {progress.get('invalid', 0):,} refused"
    return f"{progress.get('records', 0):,} records"


@contextmanager
def _in_process(settings: dict[str, Any], client_id: str | None) -> Iterator[Touchbase]:
    """Yield the API of the application in this process."""
    from touchbase.cli.in_process import URL, InProcess
    from touchbase_client import Problem, Touchbase
    from touchbase_client.retries import Retries

    application = click.get_current_context().meta[HERE] = InProcess(settings)
    try:
        api = Touchbase(URL, client_id=client_id, retries=Retries(attempts=3), transport=application)
    except ValueError as error:
        raise click.UsageError(f"--client: {error}") from None
    with api:
        try:
            yield api
        except Problem as problem:
            raise _failure(problem) from None


def _failure(problem: Problem) -> click.ClickException:
    """Return the error for a problem of the application in this process; members and parameters are named as options."""
    context = click.get_current_context()
    text = problem.errors[0].detail if problem.errors else problem.detail
    if text.startswith(NO_CLIENT):
        return click.ClickException(f"{text}: `touchbase clients list` shows all")
    if text.startswith(("there is no ", "no tool ")) and not problem.errors and context.parent is not None:
        return click.ClickException(f"{text}: `touchbase {context.parent.info_name} list` shows all")
    if problem.errors:
        return click.UsageError(_as_options("; ".join(f"{_option(context, error)}: {error.detail}" for error in problem.errors)))
    return click.ClickException(_as_options(problem.detail))


def _option(context: click.Context, fault: FieldError) -> str:
    """Return the option or argument for the place of a fault; the place itself if the command has none."""
    name = fault.field
    for parameter in context.command.params:
        if parameter.name == name or f"--{name.replace('_', '-')}" in parameter.opts:
            return name.upper() if isinstance(parameter, click.Argument) else parameter.opts[0]
    return f"--{name.replace('_', '-')}" if fault.pointer.startswith("?") else fault.pointer or "the body"


def _as_options(text: str) -> str:
    """Return a problem's advice with options in place of the parameters of the API."""
    for parameter, option in ADVICE.items():
        text = text.replace(parameter, option)
    return text


@contextmanager
def _server(url: str, key_file: Path | None, client_id: str | None) -> Iterator[Touchbase]:
    """Yield the API of a server; its errors become messages without the advice for programs."""
    from touchbase_client import Problem, Touchbase, TouchbaseError
    from touchbase_client._sync.transport import HttpTransport

    class NamedTransport(HttpTransport):
        """Says in each request's id that the command line sent it, so that histories and the audit log do."""

        def stream(self, wire: Wire) -> Any:
            return super().stream(replace(wire, headers=[*wire.headers, ("X-Request-Id", f"cli:{token_hex(8)}")]))

    try:
        api = Touchbase(url, _key(key_file), client_id=client_id, transport=NamedTransport(url))
    except ValueError as error:
        raise click.UsageError(f"--url, --key-file or --client: {error}") from None
    with api:
        try:
            yield api
        except Problem as error:
            raise click.ClickException(_as_options(error.summary)) from None
        except TouchbaseError as error:
            raise click.ClickException(str(error)) from None


def _key(key_file: Path | None) -> str | None:
    if key_file is None:
        key_file = click.get_current_context().find_root().params.get("key_file")
    text = os.environ.get(KEY, "").strip() if key_file is None else read_text(key_file)
    if key_file is not None and not text:
        raise click.UsageError(f"{key_file} is empty: write the key into it")
    return text or None
