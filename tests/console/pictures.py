"""Pictures of the console's screens, light, dark and narrow: `python -m tests.console.pictures http://127.0.0.1:8000 FOLDER`.

The server runs in open mode; `python -m tests.console.seed` has filled it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.console.conftest import ARGUMENTS, CHROMIUM, CLIENT, NARROW, WIDE

OF = f"?client={CLIENT}"
FILTERED = "&contact_status[in]=replied&last_reply_received[gte]=3w&sort=-last_reply_received"
COLUMNS = "&cols=name,email,contact_status,company,last_reply_received,cf.Title,cf.Country"
SCREENS = {
    "overview": OF,
    "contacts": f"/contacts{OF}",
    "contacts-replied": f"/contacts{OF}{FILTERED}{COLUMNS}",
    "contact": f"/contacts/3{OF}",
    "companies": f"/companies{OF}",
    "company": f"/companies/3{OF}",
    "duplicates": f"/duplicates{OF}",
    "imports": f"/imports{OF}",
    "suppressions": f"/suppressions{OF}",
    "replies": f"/replies{OF}",
    "inbox": f"/webhooks/7{OF}",
    "problems": f"/webhooks{OF}&tab=problems",
    "clients": f"/clients{OF}",
    "client": f"/clients/{CLIENT}{OF}",
    "client-tool": f"/clients/{CLIENT}{OF}&tool=email_campaign/smartlead",
    "words": f"/clients/{CLIENT}{OF}&words=email_campaign/smartlead",
    "outgoing": f"/endpoints{OF}",
    "endpoint": f"/endpoints/1{OF}",
    "new-endpoint": f"/endpoints/new{OF}",
    "erasure": f"/erasure{OF}&person=3",
    "keys": f"/keys{OF}",
    "settings": f"/settings{OF}",
    "no-contacts": "/contacts?client=new-one",
    "no-companies": "/companies?client=new-one",
    "no-duplicates": "/duplicates?client=new-one",
    "no-imports": "/imports?client=new-one",
    "no-suppressions": "/suppressions?client=new-one",
    "no-replies": "/replies?client=new-one",
    "no-endpoints": "/endpoints?client=new-one",
    "no-calls": "/webhooks?client=new-one",
}


def take(origin: str, folder: Path) -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for name, size, scheme in (("light", WIDE, "light"), ("dark", WIDE, "dark"), ("narrow", NARROW, "light")):
            context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
            page = context.new_page()
            for screen, path in SCREENS.items():
                page.goto(f"{origin}/console{path}")
                page.wait_for_load_state("networkidle")
                page.screenshot(path=folder / f"{screen}-{name}.png")
            if size == WIDE:
                take_overlays(page, origin, folder, name)
        browser.close()


def take_overlays(page: Any, origin: str, folder: Path, name: str) -> None:
    """Take the pictures of what opens above the contacts."""

    def picture(of: str) -> None:
        page.wait_for_load_state("networkidle")
        page.screenshot(path=folder / f"{of}-{name}.png")
        page.keyboard.press("Escape")

    page.goto(f"{origin}/console/contacts{OF}")
    page.locator(".grid-rows .strong").first.wait_for()
    page.keyboard.press("Control+k")
    page.keyboard.type("chen")
    page.locator("li:has-text('@')").first.wait_for()
    picture("find")
    page.keyboard.press("?")
    picture("shortcuts")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_role("button", name="Set status").click()
    picture("selected")
    page.get_by_role("button", name="Filter").click()
    picture("filter")


if __name__ == "__main__":
    take(sys.argv[1], Path(sys.argv[2]))
