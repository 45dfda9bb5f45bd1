"""Failures of commands: a sentence for the known ones, a file with the trace for others, and no secret in either."""

from __future__ import annotations

import errno
import os
import platform
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import click

import touchbase
from touchbase.cli.output import escape_controls

STOPPED = 130
"""Exit status of a command that Ctrl+C has stopped."""
HIDDEN = "***"

_PATTERNS = (
    re.compile(r"(tb_[a-z0-9]{1,16}_[0-9a-f]{12}_)[0-9A-Za-z_]+"),
    re.compile(r"(tbs_|whsec_)[\w+/=-]{8,}"),
    re.compile(r"(://)(?!USER:PASSWORD@)[^\s?'\"]{0,200}(?=@)"),
    re.compile(r"([?&][\w-]{0,60}(?:key|password|secret|token)[\w-]{0,60}=)[^\s&'\"]+", re.IGNORECASE),
)
"""Keys, generated secrets, and users, passwords and tokens in addresses: the groups stay."""
_ASSIGNED = re.compile(
    r"((?:key|passfile|password|passwd|secret|token|authorization)['\"]?\s{0,9}[=:]\s{0,9})(?:(?:bearer|basic)\s{1,9}\S+|'[^']*'|\"[^\"]*\"|[^\s&'\",]+)",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(r"key|password|secret|token|smtp_url|database", re.IGNORECASE)

_ADVICE = {
    "08": "check the address, and that the server runs",
    "28": "check role and password in the address, and pg_hba.conf",
    "3D": "create the database, or correct its name in the address",
    "42501": "use a role that owns the database (docs/how-to/run-on-postgresql.md)",
    "53100": "free some space on the server's disk",
    "53": "the server has run out of this: end other connections, or raise its limit",
    "57": "the server starts, stops or cancelled this: try again",
}
"""The next step by the beginning of PostgreSQL's SQLSTATE."""
_STEPS = {
    errno.ENOSPC: "free some space on this disk",
    errno.EDQUOT: "free some space: the quota is used up",
    errno.EACCES: "check the owner and mode of the file and its folder",
    errno.EPERM: "check the owner and mode of the file and its folder",
    errno.EROFS: "write to another disk: this one is mounted read-only",
    errno.ENOENT: "check the path",
    errno.ECONNREFUSED: "check the address, and that the server runs",
    errno.EADDRINUSE: "stop the other program, or use another --port",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
}


def without_secrets(text: str) -> str:
    """Return a text without keys, and without the passwords and tokens of addresses."""
    for pattern in _PATTERNS:
        text = pattern.sub(rf"\1{HIDDEN}", text)
    return text


def _without_all_secrets(text: str) -> str:
    """Return a text without anything that may be a secret, also the values of this command's options and environment."""
    for value in sorted(_secret_values(), key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return _ASSIGNED.sub(rf"\1{HIDDEN}", without_secrets(text))


def _secret_values() -> Iterator[str]:
    """Yield the values of settings and options whose name says that they are secret."""
    named = [(name, value) for name, value in os.environ.items() if name.startswith("TOUCHBASE_")]
    for option, value in zip(sys.argv, [*sys.argv[1:], ""], strict=True):
        name, equals, attached = option.partition("=")
        named += [(name, attached if equals else value)] if name.startswith("--") else []
    for name, value in named:
        if _SECRET_NAME.search(name) and len(value) >= 6 and not value.startswith(("sqlite:", "--")):
            yield value


@contextmanager
def one_line_errors(ctx: click.Context) -> Iterator[None]:
    """Turn each error into an error of click, which is one line and exit status 1; an unexpected one leaves a file with its trace."""
    try:
        yield
    except click.ClickException as error:
        vars(error)["message"] = escape_controls(without_secrets(error.message))
        raise
    except (click.exceptions.Exit, click.Abort):
        raise
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        raise click.exceptions.Exit(STOPPED) from None
    except Exception as error:
        name = ctx.invoked_subcommand or "touchbase"
        sentence = _sentence_of(error)
        failed = f"{name} failed: {sentence}" if sentence else _unexpected(name, error)
        raise click.ClickException(escape_controls(without_secrets(failed))) from error


def _sentence_of(error: Exception) -> str | None:
    """Return cause and next step of an error with a cause outside of this program."""
    if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("touchbase"):
        return f"the package {error.name} is not installed; install what this version needs: `make install`, or the wheel with pip again"
    state = getattr(error, "sqlstate", None)
    step = next((advice for begin, advice in _ADVICE.items() if isinstance(state, str) and state.startswith(begin)), None)
    if step is not None:
        return f"PostgreSQL refuses: {_line(error)}; {step}"
    if "apsw" in sys.modules and isinstance(error, sys.modules["apsw"].Error):
        from touchbase.storage.sqlite.connection import advice

        return None if (text := advice(error)) == str(error) else text
    if isinstance(error, MemoryError):
        return "the memory is used up; end other programs, or work on less at once"
    if isinstance(error, OSError):
        return f"{_line(error)}; {_STEPS[error.errno]}" if error.errno in _STEPS else _line(error)
    return _line(error) if isinstance(error, (UnicodeError, OverflowError)) else None  # arguments that no store, file or system accepts


def _unexpected(command: str, error: Exception) -> str:
    """Write the trace to a file; return a sentence that names it."""
    happened = f"{command} failed unexpectedly: {type(error).__name__}: {_without_all_secrets(_line(error))}"
    try:
        file = _write_trace(command, error)
    except OSError as refused:
        return f"{happened}; its trace could not be written ({_line(refused)}); report the error"
    return f"{happened}; the trace is in {file}: look for this error in the changelog, or report it with that file"


def _write_trace(command: str, error: Exception) -> str:
    """Write versions and the trace, but no arguments and settings, to a new file that its owner alone reads; return its path."""
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    about = f"touchbase {touchbase.__version__}, Python {platform.python_version()}, {platform.platform()}\ntouchbase {command}\n\n"
    text = about + _without_all_secrets("".join(traceback.format_exception(error)))
    for number in range(1_000):
        path = os.path.join(tempfile.gettempdir(), f"touchbase-{at}-{os.getpid()}{f'-{number}' if number else ''}.txt")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        return path
    raise FileExistsError(errno.EEXIST, "there are 1,000 traces of this second")


def _line(error: BaseException) -> str:
    """Return an error's text on one line, cut to 300 characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else f"{text[:299]}…"
