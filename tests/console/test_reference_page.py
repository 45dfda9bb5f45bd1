"""The page of the API at `/docs`, as a person with a key uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.console.conftest import NARROW, Console, first_key

pytestmark = pytest.mark.slow

Start = Callable[..., Console]


def open_page(console: Console, **look: Any) -> Any:
    """The page, with its groups shown; the fixture complains about requests to other hosts and refusals by the policy."""
    page = console.open(**look)
    page.goto(f"{console.origin}/docs")
    page.locator("#description[aria-busy=false]").wait_for()
    return page


def opened(page: Any, group: str, operation: str) -> Any:
    """The open form of an operation."""
    found = page.locator(f"#operations-{group}-{operation}")
    if not found.is_visible():
        page.locator(f"#operations-tag-{group}").click()
    found.locator(".opblock-summary-control").click()
    return found


def sent(operation: Any) -> str:
    """Send what the form holds; the status and the body of the response."""
    clear = operation.get_by_role("button", name="Clear")
    if clear.count():  # else the response to an earlier request could be read
        clear.click()
    operation.get_by_role("button", name="Execute").click()
    answer = operation.locator(".live-responses-table tbody .response").first
    answer.wait_for()
    return str(answer.inner_text())


def test_reference_page__sends_requests_with_a_key(start: Start) -> None:
    console = start("--auth", "api-key")
    key, page = first_key(console.server), open_page(console)
    console.server.post("/admin/v1/clients", {"client_id": "acme"}, Authorization=f"Bearer {key}")
    create = opened(page, "Contacts", "create_contact")

    refused = sent(create)
    page.get_by_role("button", name="Authorize", exact=True).first.click()
    page.get_by_label("auth-bearer-value").fill(key)
    page.get_by_role("button", name="Apply credentials").first.click()
    page.get_by_role("button", name="Close").first.click()
    create.get_by_placeholder("X-Client-Id").fill("acme")
    made = sent(create)
    listing = opened(page, "Contacts", "list_contacts")
    listing.get_by_placeholder("X-Client-Id").fill("acme")
    listed = sent(listing)
    missing = opened(page, "Contacts", "get_contact")
    missing.get_by_placeholder("X-Client-Id").fill("acme")

    assert "401" in refused
    assert "201" in made
    assert '"contact_status": "new"' in made
    assert "200" in listed
    assert '"email": "jane@example.com"' in listed
    assert "1042" in (missing_answer := sent(missing))
    assert '"code": "not_found"' in missing_answer
    page.reload()
    page.locator("#operations-Contacts-get_contact.is-open").wait_for()  # the address names the last operation that was opened
    # Swagger UI takes the `_` in the name of an operation for a way to write a space, and says that it is an old one.
    console.wrong[:] = [each for each in console.wrong if "escaping deep link whitespace" not in each]
    assert key not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])")


def test_reference_page__fits_a_narrow_screen_in_the_dark(start: Start) -> None:
    page = open_page(start(), size=NARROW, dark=True)
    update = opened(page, "Contacts", "update_contact")
    update.get_by_role("button", name="Execute").wait_for()

    widest = page.evaluate("document.documentElement.scrollWidth")
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert widest == NARROW[0]
    assert sum(int(each) for each in ground[4:-1].split(",")) < 150
    assert update.locator("textarea").first.input_value().startswith("{")
    assert page.locator(".opblock-tag").count() == len({each["tags"][0] for each in _operations(page)})


def _operations(page: Any) -> list[dict[str, Any]]:
    document = page.evaluate("fetch('openapi.json').then((answer) => answer.json())")
    return [each for item in document["paths"].values() for name, each in item.items() if name != "parameters"]
