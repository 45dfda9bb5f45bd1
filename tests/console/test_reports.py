"""Charts and reports: values read by keys, and numbers that open as many contacts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import AXE, CLIENT, Console, escape, look_faults, press

pytestmark = pytest.mark.slow


def rows_of(page: Any) -> Any:
    return page.locator("[role=grid] [role=row]:has([role=gridcell])")


def test_numbers__open_their_contacts_by_click_and_by_keys(console: Console) -> None:
    page = console.open(f"/overview?client={CLIENT}&since=90d&compare=previous")
    chart = page.get_by_role("slider", name=re.compile("^People emailed"))
    assert look_faults(page) == []
    chart.focus()
    press(page, "Home")
    expect(chart).to_have_attribute("aria-valuenow", "1")
    press(page, "ArrowRight")
    expect(chart).to_have_attribute("aria-valuenow", "2")
    expect(chart).to_have_attribute("aria-valuetext", re.compile(r"people emailed, \d+ in the period before"))

    press(page, "Enter")
    page.wait_for_url(re.compile(r"/contacts\?counted=mailed"))
    expect(page.locator(".chip", has_text="Counted as emailed")).to_be_visible()

    press(page, "g", "p")
    page.get_by_role("group", name="By").get_by_role("button", name="Campaign").wait_for()
    page.get_by_role("button", name="90 days").click()
    number = page.locator("#main td a").first
    number.wait_for()
    assert look_faults(page) == []
    counted = int(number.inner_text().replace(",", ""))
    number.click()
    page.wait_for_url(re.compile("counted="))
    expect(rows_of(page)).to_have_count(counted)


def test_statuses_over_time__open_the_contacts_that_have_one_now(console: Console) -> None:
    page = console.open(f"/overview?client={CLIENT}")
    chart = page.locator(".over-time")
    replied = chart.locator(".legend a", has_text="Replied")
    counted = int(replied.inner_text().split()[-1])
    today = chart.locator("rect.opens.hue-green")
    assert "url(" in (today.get_attribute("style") or "")
    today.click()
    page.wait_for_url("**contact_status*in*=replied**")
    expect(rows_of(page)).to_have_count(counted)

    page.go_back()
    chart.locator(".legend a", has_text="No status").click()
    page.wait_for_url("**contact_status*is_set*=false**")


def test_report__is_shared_by_a_link_and_revoked(console: Console) -> None:
    page = console.open(f"/reports?client={CLIENT}")
    page.get_by_role("button", name="Share").click()
    page.get_by_label("For", exact=True).fill("Dana")
    assert look_faults(page) == []
    page.get_by_role("button", name="Create link").click()
    url = page.locator(".once code").inner_text()
    escape(page)

    reader = page.context.new_page()
    reader.goto(url)
    reader.get_by_role("heading", name="By campaign").wait_for()
    reader.evaluate(AXE)
    assert reader.evaluate("axe.run(document).then(found => found.violations.map(each => each.id))") == []

    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Revoke the link for Dana").click()
    page.get_by_role("heading", name="Links").wait_for(state="detached")
    reader.reload()
    reader.get_by_role("heading", name="This link has ended").wait_for()
    reader.close()
