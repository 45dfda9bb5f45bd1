"""`make pictures`: the pictures of README and docs, taken of the demo: `python -m tests.console.readme_pictures [STORE]`.

Makes the demo in a temporary folder, or serves the one in the file STORE, and writes six PNGs into `docs/pictures`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.console.conftest import ARGUMENTS, CHROMIUM, NARROW, WIDE
from tests.console.small_png import small

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
CLIENT = "alder-robotics"
LARGEST = 150_000
"""Bytes of a picture."""
OF = f"?client={CLIENT}"
COLUMNS = "&cols=name,email,contact_status,company,last_reply_received,cf.Title,cf.Country"
REPLIED = "&contact_status[in]=replied,interested,meeting_booked,opportunity&sort=-last_reply_received"


@contextmanager
def demo(database: Path) -> Iterator[str]:
    """Serve the demo; yield the server's address."""
    command = [sys.executable, "-u", "-m", "touchbase", "demo", "--serve", "--port", "0", "--database", f"sqlite:///{database}"]
    environment = os.environ | {"TOUCHBASE_ACCESS_LOG": "off"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if found := re.search(r"listens on (http://\S+)", line):
                yield found[1]
                break
        server.terminate()
        server.wait(20)


def ask(origin: str, path: str) -> Any:
    """Return what a list has."""
    request = urllib.request.Request(origin + urllib.parse.quote(path, safe="/?&=[]-,"), headers={"x-client-id": CLIENT})
    with urllib.request.urlopen(request) as response:
        return json.loads(response.read())["data"]


def screens(origin: str) -> dict[str, str]:
    """Return the addresses to picture; which contact and which call is asked for."""
    [contact, *_] = ask(
        origin, "/public/v2/contacts?contact_status=meeting_booked&first_campaign_email_sent[is_set]=true&sort=-last_reply_received&limit=1"
    )
    groups = ask(origin, f"/admin/v1/deliveries/groups?client={CLIENT}")
    problem = next(each["example_id"] for each in groups if each["state"] == "unrecognised")
    return {
        "overview": "/all/overview",
        "replies": "/all/replies",
        "contacts": f"/contacts{OF}{REPLIED}{COLUMNS}",
        "contact": f"/contacts/{contact['id']}{OF}",
        "inbox": f"/webhooks/{problem}{OF}&tab=problems",
        "narrow-dark": "/all/replies",
    }


def take(origin: str) -> None:
    """Take the pictures."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for name, path in screens(origin).items():
            size, scheme = (NARROW, "dark") if name == "narrow-dark" else (WIDE, "light")
            viewport = {"width": size[0], "height": size[1]}
            context = browser.new_context(viewport=viewport, color_scheme=scheme, locale="en-GB", timezone_id="UTC")
            page = context.new_page()
            page.goto(f"{origin}/console{path}")
            page.locator("#main h1").first.wait_for(state="attached")
            if name == "replies":
                page.locator(".reply").first.wait_for()
                page.keyboard.press("j")
                page.locator(".pane .letter").first.wait_for()
            page.wait_for_timeout(1_500)  # the stream of events is open, so the network never rests
            (FOLDER / f"{name}.png").write_bytes(small(page.screenshot()))
            context.close()
        browser.close()
    for each in sorted(FOLDER.glob("*.png")):
        print(f"{each.relative_to(FOLDER.parents[1])}: {each.stat().st_size / 1000:.0f} kB")
        assert each.stat().st_size <= LARGEST, "the picture is too large for README"


def main() -> None:
    """Make the demo or take the one that is named, and picture it."""
    with tempfile.TemporaryDirectory(prefix="touchbase-pictures-") as folder:
        database = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(folder) / "demo.db"
        with demo(database) as origin:
            take(origin)


if __name__ == "__main__":
    main()
