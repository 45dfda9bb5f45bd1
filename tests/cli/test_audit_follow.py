"""`touchbase audit --follow`: prints each act once as it happens, waits for a server that restarts, and ends by Ctrl+C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_serve import Serve, Server, serve  # noqa: F401

pytestmark = pytest.mark.slow


def add_client(server: Server, name: str) -> None:
    assert server.post("/admin/v1/clients", {"client_id": name})[0] == 201


def test_follow__goes_on_after_a_restart_and_ends_by_an_interrupt(serve: Serve, tmp_path: Path) -> None:  # noqa: F811
    first = serve()
    add_client(first, "before")
    command = [sys.executable, "-m", "touchbase", "audit", "--follow", "--after", "oldest", "--url", f"http://127.0.0.1:{first.port}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHBASE_")}
    follower = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert follower.stdout is not None
        acts = [json.loads(follower.stdout.readline())]
        first.process.kill()
        first.process.wait(10)
        second = serve("--port", str(first.port))
        for name in ("after", "last"):
            add_client(second, name)
        acts += [json.loads(follower.stdout.readline()) for _ in range(2)]

        follower.send_signal(signal.SIGINT)
        remaining, errors = follower.communicate(timeout=30)
    finally:
        follower.kill()
        follower.wait(10)

    assert [act["target"]["id"] for act in acts] == ["before", "after", "last"]
    assert (follower.returncode, remaining, "Traceback" in errors) == (0, "", False)
