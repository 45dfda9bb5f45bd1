"""A real Chromium, and a running server with realistic data for it."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_serve import Server
from tests.console.seed import Send, fill, sender

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
CLIENT = "northlight"
WIDE, NARROW = (1280, 800), (380, 780)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The distribution's Chromium, driven by playwright, which brings none of its own here.

    For one module only: while the driver runs, this thread has a running event loop, and no asynchronous test can have its own.
    """
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here to try the console with (Debian: chromium)")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make setup")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Console:
    """A running server, its data, and pages of its console."""

    server: Server
    browser: Any
    wrong: list[str] = field(default_factory=list)
    """What the pages complained about: errors of scripts, refusals by the policy, requests to elsewhere."""
    contexts: list[Any] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    @property
    def send(self) -> Send:
        return sender(self.origin, CLIENT)

    def open(self, path: str = "", *, size: tuple[int, int] = WIDE, dark: bool = False) -> Any:
        """A new page at this address of the console."""
        scheme = "dark" if dark else "light"
        context = self.browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, locale="en-GB", timezone_id="UTC"
        )
        context.set_default_timeout(15_000)
        self.contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda line: self.wrong.append(f"{line.type}: {line.text}") if _is_wrong(line) else None)
        page.on("request", lambda asked: None if asked.url.startswith((self.origin, "data:", "blob:")) else self.wrong.append(asked.url))
        self.go(page, path)
        return page

    def go(self, page: Any, path: str) -> None:
        """Show another address, and wait until it is quiet."""
        page.goto(f"{self.origin}/console{path}")
        self.settle(page)

    def settle(self, page: Any) -> None:
        """Wait until everything that is on its way has arrived."""
        page.locator("#main, .sign-in").wait_for()
        page.locator(".skeleton, .waiting, [aria-busy=true]").first.wait_for(state="detached")

    def close(self) -> None:
        for each in self.contexts:
            each.close()


def _is_wrong(line: Any) -> bool:
    """Whether a line of the browser's console says that something is wrong; answers such as 401 are for the page to show."""
    return line.type in ("error", "warning") and "Failed to load resource" not in line.text


@pytest.fixture
def start(engine_url: str, tmp_path: Path, chromium: Any) -> Iterator[Callable[..., Console]]:
    """Start a server with these options on a store of each engine."""
    started: list[Console] = []

    def begin(*options: str) -> Console:
        started.append(Console(Server(tmp_path, ("--database", engine_url, *options)), chromium))
        return started[-1]

    yield begin
    for each in started:
        each.close()
        each.server.clean_up()
    assert [text for each in started for text in each.wrong] == []


@pytest.fixture
def console(start: Callable[..., Console]) -> Console:
    """A server without keys, with a client that has contacts and calls."""
    made = start()
    fill(made.origin, 120, CLIENT, calls=60)
    wait_until_read(made.origin)
    return made


def wait_until_read(origin: str) -> None:
    """Wait until no delivery waits."""
    for _ in range(600):
        with urllib.request.urlopen(f"{origin}/admin/v1/deliveries?state=received&limit=1") as response:
            if not json.loads(response.read())["data"]:
                return
        time.sleep(0.05)
    raise AssertionError("deliveries are still waiting")


@pytest.fixture(scope="session", autouse=True)
def _quiet_driver() -> None:
    """The driver is a Node program, which must not write about its own version to the tests' output."""
    os.environ.setdefault("NODE_NO_WARNINGS", "1")


def first_key(server: Server) -> str:
    """The key that a new server printed."""
    found = re.search(r"tb_\w+", server.banner)
    assert found, server.banner
    return found[0]


def axe_faults(page: Any) -> list[str]:
    """What axe finds on the page: each rule with the places."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['target']} {node['failureSummary'].splitlines()[1:2]}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
