"""Help in the console, and the palette's actions, in a real Chromium."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, escape, press, settle

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)]
OF = f"?client={CLIENT}"
SHOW = "(page) => { history.pushState(null, '', `help?page=${page}`); dispatchEvent(new PopStateEvent('popstate')); }"
"""Shows a page without loading the console again."""


def test_help__shows_the_page_of_the_screen_and_finds_others(console: Console) -> None:
    page = console.open(f"/imports{OF}")
    page.get_by_label("Help for this screen").click()
    page.get_by_role("heading", name="Import a list", level=1).wait_for()
    page.locator(".prose pre", has_text="touchbase contacts import").first.wait_for()
    expect(page.locator(".prose script, .prose style")).to_have_count(0)

    press(page, "/")
    page.keyboard.type("restore deleted")
    page.locator(".hits a", has_text="Delete and restore").first.click()
    page.get_by_role("heading", name="Delete and restore", level=1).wait_for()
    page.go_back()
    page.locator(".hits a").first.wait_for()

    console.go(page, f"/replies{OF}")
    press(page, "F1")
    page.wait_for_url("**/help?page=how-to/use-the-console#work-through-replies")
    settle(page)
    expect(page.locator("#work-through-replies")).to_be_in_viewport()
    page.get_by_role("link", name="conversations").first.click()
    page.get_by_role("heading", name="Conversations", level=1).wait_for()


def test_every_page_of_the_help__is_rendered_whole(console: Console, subtests: pytest.Subtests) -> None:
    page = console.open("/all/help")
    links = page.locator(".prose a").evaluate_all("(all) => all.map((link) => new URL(link.href).searchParams.get('page')).filter(Boolean)")
    assert len(links) > 60
    for path in [link for link in links if link.startswith(("how-to/", "reference/"))]:
        with subtests.test(page=path):
            page.evaluate(SHOW, path)
            settle(page)
            text = page.locator(".prose").inner_text()
            assert "](" not in text.replace("`", "")
            assert "|---|" not in text


def test_palette__runs_actions_and_leads_to_tools_and_pages(console: Console) -> None:
    page = console.open(f"/contacts{OF}")

    def find(words: str, entry: str) -> None:
        press(page, "Control+k")
        page.keyboard.type(words)
        expect(page.locator("#palette-list [aria-selected=true]")).to_contain_text(entry)
        page.keyboard.press("Enter")

    find("new key", "New key")
    page.get_by_role("dialog", name="New key").wait_for()
    escape(page)
    settle(page)
    assert "do=" not in page.url

    find("connect instantly", "Connect Instantly")
    page.wait_for_url("**tool=email_campaign/instantly")
    find("new company", "New company")
    page.get_by_role("dialog", name="New company").wait_for()
    escape(page)
    find("merge two", "Merge two people")
    page.get_by_role("heading", name="Merge two people", level=1).wait_for()

    console.go(page, f"/contacts/3{OF}")
    find("set the status", "Set the status")
    page.locator(":popover-open .entry").first.wait_for()
    escape(page)
    find("webhooks of instantly", "Webhooks of Instantly")
    page.wait_for_url("**/webhooks?tool=instantly")
    find("settings custom", "Settings: Custom fields")
    page.wait_for_url("**/settings?tab=fields")
