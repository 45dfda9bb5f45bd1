"""`touchbase serve`: the HTTP server and the inbox worker."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import sys
from dataclasses import fields
from typing import TYPE_CHECKING

import click

import touchbase
from touchbase.cli.options import read_settings, setting_options
from touchbase.cli.store import run_fast, without_password
from touchbase.config import RENAMED, BadSettings, Settings
from touchbase.tracing.setup import check_tracing

if TYPE_CHECKING:
    from touchbase.server.metrics import SharedMetrics

_EXAMPLE = """-H 'Content-Type: application/json' -d '{"email":"contact@example.com"}'"""


def _renamed(option: str) -> str:
    """Return the present name of an option that is given by its former one."""
    setting = option.removeprefix("no-")
    present = RENAMED.get(setting.replace("-", "_"))
    return option if present is None else option.removesuffix(setting) + present.replace("_", "-")


@click.command(context_settings={"token_normalize_func": _renamed})
@setting_options(*(field.name for field in fields(Settings) if field.metadata["option"]))
def serve(**options: object) -> None:
    """Run the HTTP server and the inbox worker until SIGTERM or Ctrl+C.

    Without options it serves this machine only, without keys, from the file touchbase.db in the working
    directory. Each option is also an environment variable. When it listens, it prints its address, the store, the mode, and a
    request to try. With --auth api-key, on a store without any key, it makes an administrator's key and prints it once.

    \b
    touchbase serve                                            # this machine, no keys, SQLite
    touchbase serve --host 0.0.0.0 --workers 4 --database postgresql://touchbase@db/touchbase
    """
    from touchbase.server.logs import set_up_logging

    settings = read_settings(**options)
    settings.check_serving()
    if settings.tracing:
        check_tracing()
    set_up_logging(settings.log_level, settings.log_format)
    serve_with(settings)


def serve_with(settings: Settings) -> None:
    """Serve until a stop signal."""
    with _listen(settings) as listener:
        settings.check_listening(listener.getsockname()[0])
        if warning := open_mode_warning(settings, listener.getsockname()[0]):
            click.echo(warning, err=True)
        if settings.workers > 1:
            sys.exit(_serve_processes(settings, listener))
        run_fast(_serve_alone(settings, listener))


async def _serve_alone(settings: Settings, listener: socket.socket) -> None:
    from touchbase import app

    await app.serve(settings, listener, on_ready=lambda key: click.echo(banner(settings, listener, key)))


def _serve_processes(settings: Settings, listener: socket.socket) -> int:
    from touchbase import app
    from touchbase.server.metrics import SharedMetrics
    from touchbase.server.supervisor import Supervisor

    key = asyncio.run(app.prepare(settings))
    shared = SharedMetrics()
    processes = Supervisor(settings.workers, lambda process: _serve_process(process, settings, listener, shared), shared.ended)
    try:
        return processes.run(lambda: click.echo(banner(settings, listener, key)))
    finally:
        shared.remove()


def _serve_process(process: int, settings: Settings, listener: socket.socket, shared: SharedMetrics) -> int:
    from touchbase import app

    try:
        run_fast(app.serve(settings, listener, shared=shared, process=process))
    finally:
        if os.getppid() != shared.parent:  # the parent was killed and cannot remove it
            shared.remove()
    return 0


def _listen(settings: Settings) -> socket.socket:
    from touchbase.server.server import listen

    try:
        return listen(settings.host, settings.port)
    except OSError as error:
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise BadSettings(
                f"{settings.host!r} is no address of this machine: use --host 127.0.0.1, or 0.0.0.0 for every address"
            ) from error
        why = f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}"
        raise click.ClickException(f"{why}; choose another with --port (TOUCHBASE_PORT), or use --port 0 for a free one") from error


def open_mode_warning(settings: Settings, address: str) -> str:
    """Return a warning if other machines can reach a server without keys, else an empty text."""
    if not settings.open_mode or (settings.is_loopback and not settings.is_public):
        return ""
    lines = [
        f"WARNING: OPEN MODE ON {address}",
        "Requests need no key. Every machine that reaches this address can read,",
        "change and delete all contacts of all clients, and create keys.",
        "Use it only behind a proxy that authenticates requests. Otherwise stop",
        "the server now, and start it with --auth api-key.",
    ]
    rule = "!" * 76
    return "\n".join([rule, *(f"!!  {line:<70}!!" for line in lines), rule])


def banner(settings: Settings, listener: socket.socket, key: str | None) -> str:
    """Return the text that is printed when the server listens: address, store, mode, and a request to try."""
    host, port = listener.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    outside = settings.public_url.rstrip("/") or address
    mode = "open, no key needed" if settings.open_mode else "keys, every request except webhooks needs one"
    key_headers = f'-H "Authorization: Bearer {key or "$TOUCHBASE_KEY"}" -H "X-Client-Id: CLIENT" '
    headers = "" if settings.open_mode else key_headers
    lines = [
        f"Touchbase {touchbase.__version__} listens on {address}",
        f"  store    {without_password(settings.database)}{_in_memory_note(settings)}",
        f"  mode     {mode}",
        f"  secrets  {_encrypted_with(settings)}",
        f"  webhooks {outside}/public/emailcampaign-webhook/CLIENT and {outside}/public/crm-webhook/CLIENT",
        f"  console  {address}/console",
        f"  try it   curl {address}/public/v2/contacts {headers}{_EXAMPLE}",
    ]
    if key is not None:
        lines.insert(3, f"  key      {key}  (the first one, for administrators; it is shown only once)")
        lines.insert(4, '  client   add one with `touchbase clients add --name "Acme Ltd"`, which prints its id')
    return "\n".join(lines)


def _in_memory_note(settings: Settings) -> str:
    from touchbase.storage import key_file_of

    in_memory = settings.on_sqlite and key_file_of(settings.database) is None
    return "  (in memory: all data is lost when this process ends)" if in_memory else ""


def _encrypted_with(settings: Settings) -> str:
    from touchbase.storage import key_file_of

    if settings.encryption_key:
        return "encrypted with TOUCHBASE_ENCRYPTION_KEY"
    file = key_file_of(settings.database) if settings.on_sqlite else None
    if file is not None:
        return f"encrypted with the key in {file}" + (
            "; store a copy of it elsewhere" if file.exists() else ", which is made with the first secret"
        )
    return "encrypted until the process ends" if settings.on_sqlite else "refused until TOUCHBASE_ENCRYPTION_KEY is set"
