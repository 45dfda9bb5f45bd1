"""Servers forked from a process that has imported the service: imports are three quarters of a start, and hundreds of tests start one."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

IMPORTED = ("touchbase.cli", "touchbase.cli.serve", "touchbase.app", "touchbase.fleet", "touchbase.web", "touchbase.workers", "uvloop")
LONGEST_REQUEST = 1 << 17


class ForkedProcess:
    """A `touchbase` command with these arguments, as `subprocess.Popen` would run it."""

    def __init__(self, arguments: list[str], folder: Path, environment: dict[str, str], stderr: int) -> None:
        reading, writing = os.pipe()
        self.stdout = os.fdopen(reading)
        self.returncode: int | None = None
        self._status, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        request = json.dumps({"arguments": ["touchbase", *arguments], "folder": str(folder), "environment": environment}).encode()
        with theirs:
            socket.send_fds(_parent(), [request], [writing, stderr, theirs.fileno()])
        os.close(writing)
        self.pid = int(self._status.recv(16))

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status, as that of `subprocess`."""
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                self.returncode = int(self._status.recv(16))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("touchbase", timeout or 0) from None
            self._status.close()
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@cache
def _parent() -> socket.socket:
    """Start the process that servers are forked from; it ends with this one."""
    mine, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-P", __file__, str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL)
    atexit.register(process.wait)
    atexit.register(mine.close)
    return mine


def _serve(requests: socket.socket) -> list[str]:
    """Fork a process for each request, and report its exit status; return the arguments in each of them."""
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.data is not None:
                    pid, status = key.data
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    with status, contextlib.suppress(OSError):  # its test may have ended
                        status.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
                    continue
                text, fds, _, _ = socket.recv_fds(requests, LONGEST_REQUEST, 3)
                if not text:
                    sys.exit()
                if (pid := os.fork()) == 0:
                    requests.close()
                    for other in selector.get_map().values():
                        if other.data is not None:
                            os.close(other.fd)
                            other.data[1].close()
                    return _become(json.loads(text), *fds)
                status = socket.socket(fileno=fds.pop())
                for fd in fds:
                    os.close(fd)
                status.send(str(pid).encode())
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, status))
    raise AssertionError


def _become(request: dict[str, Any], stdout: int, stderr: int, status: int) -> list[str]:
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    for fd in (stdout, stderr, status):
        os.close(fd)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    arguments: list[str] = request["arguments"]
    return arguments


if __name__ == "__main__":
    from touchbase.cli import main

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal, for the tests
    for module in IMPORTED:
        importlib.import_module(module)
    gc.freeze()
    sys.argv = _serve(socket.socket(fileno=int(sys.argv[1])))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
