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
from playwright.sync_api import TimeoutError as TimedOut
from playwright.sync_api import expect
from tests.cli.test_serve import Server
from tests.console.seed import Send, fill, sender

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
CLIENT = "northlight"
ROOT = Path(__file__).parents[2]
WIDE, NARROW = (1280, 800), (380, 780)
TOO_WIDE = """[...document.querySelectorAll('.shell, .side, .content, #main, #main .empty')]
  .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.className)"""
"""The parts of the page whose content is wider than they are."""
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Waits until the page has been drawn again."""
SLOWER, _, SEED = os.environ.get("TOUCHBASE_SLOW_BROWSER", "").partition(",")
"""How many times slower than this machine the processor of pages is, and the seed of their delays: a test that does not wait fails then."""
HELD = 200 if SLOWER else 0
"""Milliseconds that a slow browser holds a request, and its response, at most."""
TIMEOUT = 60_000
"""Milliseconds in which a page shows what it should, on a busy machine too."""
SECONDS = re.findall(r"const SECONDS = (\d+);", (ROOT / "console" / "src" / "ui" / "toast.tsx").read_text(encoding="utf-8"))[0]
"""How long a message is shown; a bad one twice as long."""
SCRIPT = """{
  let state = SEED;
  const held = () => HELD && new Promise((done) => later(done, (state = (state * 48271) % 2147483647) % HELD));
  const later = window.setTimeout;
  const send = window.fetch;
  const drawn = async (frames) => { for (let n = 0; n < frames; n += 1) await new Promise(requestAnimationFrame); };
  window.pending = [];
  const stays = (milliseconds) => [SECONDS * 1000, SECONDS * 2000].includes(milliseconds);
  window.setTimeout = (run, milliseconds, ...more) => later(run, stays(milliseconds) ? 600_000 : milliseconds, ...more);
  window.fetch = async (request, options) => {
    const address = `${request.url ?? request}`;
    const ends = !address.includes('/team/v1/stream');
    let read = Promise.resolve();
    if (ends) window.pending.push(address);
    try {
      await held();
      const response = await send(request, options);
      await held();
      options?.signal?.throwIfAborted();
      if (ends) read = response.clone().text();
      return response;
    } finally {
      read.catch(() => 0).then(() => drawn(4)).then(() => ends && window.pending.splice(window.pending.indexOf(address), 1));
    }
  };
}"""
"""Counts the requests whose responses the page has not drawn yet, but for the stream, which does not end; has messages stay, so that
"Undo" is still there when a test on a busy machine comes to it; in a slow browser holds requests and responses, so that they overtake
each other."""
BUSY = """[...window.pending,
  ...[...document.querySelectorAll('.skeleton, .waiting, [aria-busy=true]')].map((part) => part.outerHTML.slice(0, 200)),
  ...(document.querySelector('#main, .sign-in') ? [] : ['neither a screen nor the form to sign in'])]"""
"""What a page waits for: addresses, and parts that say so."""
expect.set_options(timeout=TIMEOUT)


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

    def open(self, path: str = "", *, size: tuple[int, int] = WIDE, dark: bool = False, held: int = HELD) -> Any:
        """A new page at this address of the console, whose requests and responses are held for at most `held` milliseconds."""
        scheme = "dark" if dark else "light"
        context = self.browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, locale="en-GB", timezone_id="UTC", reduced_motion="reduce"
        )
        context.set_default_timeout(TIMEOUT)
        self.contexts.append(context)
        seed = 1 + int(SEED or 0) * 1000 + len(self.contexts)
        context.add_init_script(SCRIPT.replace("SEED", str(seed)).replace("HELD", str(held)).replace("SECONDS", SECONDS))
        page = context.new_page()
        if SLOWER:
            slow_down(page)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda line: self.wrong.append(f"{line.type}: {line.text}") if _is_wrong(line) else None)
        page.on("request", lambda asked: None if asked.url.startswith((self.origin, "data:", "blob:")) else self.wrong.append(asked.url))
        self.go(page, path)
        return page

    def go(self, page: Any, path: str) -> None:
        """Show another address, and wait until it is quiet."""
        page.goto(f"{self.origin}/console{path}")
        settle(page)

    def close(self) -> None:
        for each in self.contexts:
            each.close()


def slow_down(page: Any) -> None:
    """Make a page as slow as on a busy machine far from the server."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": float(SLOWER)})
    network = {"offline": False, "latency": 100, "downloadThroughput": -1, "uploadThroughput": -1}
    devtools.send("Network.emulateNetworkConditions", network)


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
    for _ in range(2400):
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
    match = re.search(r"tb_\w+", server.banner)
    assert match, server.banner
    return match[0]


def settle(page: Any) -> None:
    """Wait until the effects of the last act, and everything that is on its way to the page, have been drawn."""
    page.evaluate(DRAWN)
    try:
        page.wait_for_function(f"() => !({BUSY}).length")
    except TimedOut:
        raise AssertionError(f"{page.url} still waits: {page.evaluate(BUSY)}") from None


def press(page: Any, *keys: str) -> None:
    """Press keys, each when the page is quiet: a screen listens to its keys once it was drawn. `g c` are two keys at once."""
    for key in keys:
        settle(page)
        if " " in key:
            page.keyboard.type(key.replace(" ", ""))
        else:
            page.keyboard.press(key)


def escape(page: Any) -> None:
    """Press Escape, and wait until no dialog and no panel is left: while one closes, its texts and labels are there twice."""
    page.keyboard.press("Escape")
    page.locator("dialog, :popover-open").first.wait_for(state="detached")


def axe_faults(page: Any, *rules: str, without: str = "") -> list[str]:
    """What axe finds on the quiet page: each rule with the places; `rules` are all rules if none is named, `without` is a part left out."""
    settle(page)
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
    page.emulate_media(color_scheme="dark")
    faults = [f"dark: {fault}" for fault in axe_faults(page, "color-contrast", without=without)]
    page.emulate_media(color_scheme="light")
    return faults


def forced_faults(page: Any, without: str = "") -> list[str]:
    """What axe finds wrong with the colours of the page where the system sets them."""
    page.emulate_media(forced_colors="active")
    faults = [f"forced: {fault}" for fault in axe_faults(page, "color-contrast", without=without)]
    page.emulate_media(forced_colors="none")
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
