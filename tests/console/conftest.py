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
TOO_WIDE = """[...document.querySelectorAll('.shell, .side, .content, #main, #main .empty')]
  .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.className)"""
"""The parts of the page whose content is wider than they are."""
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Waits until the page has been drawn again."""


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


@pytest.fixture(scope="session")
def filled_sqlite(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Path:
    """A SQLite file with a client that has contacts and calls, to be copied: filling takes as long as the start of the server."""
    folder = tmp_path_factory.mktemp("filled")
    path = folder / "touchbase.db"
    shutil.copyfile(sqlite_template, path)
    server = Server(folder, ("--database", f"sqlite:///{path}"))
    fill_console(f"http://127.0.0.1:{server.port}")
    assert server.stop() == 0
    server.clean_up()
    assert not path.with_name("touchbase.db-wal").exists()
    return path


def fill_console(origin: str) -> None:
    """Send contacts and calls of the client, and wait until they are applied."""
    fill(origin, 120, CLIENT, calls=60)
    wait_until_read(origin)


@pytest.fixture
def console(engine_url: str, start: Callable[..., Console], request: pytest.FixtureRequest) -> Console:
    """A server without keys, with a client that has contacts and calls."""
    if engine_url.startswith("sqlite"):
        shutil.copyfile(request.getfixturevalue("filled_sqlite"), engine_url.removeprefix("sqlite:///"))
        return start()
    made = start()
    fill_console(made.origin)
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


def axe_faults(page: Any, *rules: str, without: str = "") -> list[str]:
    """What axe finds on the page: each rule with the places; `rules` are all rules if none is named, `without` is a part left out."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    options = {"resultTypes": ["violations"], "preload": False, **({"runOnly": list(rules)} if rules else {})}
    part = {"include": [["html"]], "exclude": [[without]] if without else []}
    found = page.evaluate("([part, options]) => axe.run(part, options)", [part, options])
    return [
        f"{each['id']}: {node['target']} {node['failureSummary'].splitlines()[1:2]}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


def dark_faults(page: Any, without: str = "") -> list[str]:
    """What axe finds wrong with the colours of the page in the dark."""
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    faults = [f"dark: {fault}" for fault in axe_faults(page, "color-contrast", without=without)]
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    return faults


def look_faults(page: Any) -> list[str]:
    """What axe finds on a wide, light page, in the dark and when it is narrow, and which parts are wider than the page.

    The page changes while it is shown, which takes a fourth of the time of loading it again. The dark changes colours alone.
    """
    faults = [*axe_faults(page), *page.evaluate(TOO_WIDE), *dark_faults(page)]
    resize(page, NARROW)
    faults += [f"narrow: {fault}" for fault in (*axe_faults(page), *page.evaluate(TOO_WIDE))]
    resize(page, WIDE)
    return faults


def resize(page: Any, size: tuple[int, int]) -> None:
    """Change the size of the page, and wait until it is drawn again."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate(DRAWN)
