"""`touchbase mcp`: the tools of a server for agents that speak with a program, not with an address."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import click

import touchbase
from touchbase.cli.store import read_text

KEY = "TOUCHBASE_KEY"
SECONDS = 120
"""Time for one answer; tools answer in a fraction of it."""
UNREACHABLE = -32000
File = click.Path(path_type=Path, allow_dash=False)


@click.command()
@click.option("--url", default="http://127.0.0.1:8000", show_default=True, help="The server, such as https://touchbase.example.com.")
@click.option("--key-file", type=File, help=f"Read the API key from this file; or set {KEY}. Without keys on the server: none.")
@click.option("--client", "client_id", help="Work for this client only; needed for a key of all clients unless each call names one.")
def mcp(url: str, key_file: Path | None, client_id: str | None) -> None:
    """Serve the tools of a running server to an agent on standard input and output (Model Context Protocol).

    Agents that can call addresses need no program: give them the server's address with /mcp at its end.
    """
    if not url.startswith(("https://", "http://")):
        raise click.BadParameter("must begin with https:// or http://", param_hint="--url")
    key = read_text(key_file).strip() if key_file is not None else os.environ.get(KEY, "").strip()
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": f"touchbase-mcp/{touchbase.__version__}"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    if client_id is not None:
        headers["X-Client-Id"] = client_id
    serve_lines(sys.stdin.buffer, sys.stdout.buffer, f"{url.rstrip('/')}/mcp", headers)


def serve_lines(lines: BinaryIO, out: BinaryIO, address: str, headers: Mapping[str, str]) -> None:
    """Send each line to the server, and write its answer as a line, until the lines end."""
    for line in lines:
        if not line.strip():
            continue
        answered = _answered(line, address, headers)
        if answered:
            out.write(answered.replace(b"\n", b" ") + b"\n")
            out.flush()


def _answered(line: bytes, address: str, headers: Mapping[str, str]) -> bytes:
    """Return the server's answer; an error of the protocol if there is none."""
    request = urllib.request.Request(address, line, dict(headers))  # noqa: S310 (the scheme is checked)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310
            return bytes(response.read())
    except urllib.error.HTTPError as refused:
        with refused:
            body = bytes(refused.read())
        return body if b'"jsonrpc"' in body else _error(line, f"the server answered {refused.code}: {_detail(body)}")
    except OSError as error:
        return _error(line, f"the server does not answer at {address}: {error}. Start it, or give --url")


def _detail(body: bytes) -> str:
    try:
        return str(json.loads(body)["detail"])
    except (ValueError, KeyError, TypeError):
        return body[:200].decode(errors="replace")


def _error(line: bytes, text: str) -> bytes:
    """Return the error for the request in a line; nothing for a notification, which has no answer."""
    try:
        number = json.loads(line).get("id")
    except (ValueError, AttributeError):
        number = None
    else:
        if number is None:
            return b""
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": UNREACHABLE, "message": text}}).encode()
