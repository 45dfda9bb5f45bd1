"""The documentation as text: every page at its address, and an index whose links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urljoin

import pytest
from tests.asgi_client import ApiClient

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md"))


async def test_pages__are_served_as_they_are(sqlite_call: ApiClient) -> None:
    for path in PAGES:
        reply = await sqlite_call.get(f"/docs/{path.relative_to(DOCS)}")
        assert (reply.status, reply.body) == (200, path.read_bytes()), path
        assert reply.headers["content-type"] == "text/markdown; charset=utf-8"
        assert "default-src 'none'" in reply.headers["content-security-policy"]


async def test_pictures__have_their_types(sqlite_call: ApiClient) -> None:
    png = await sqlite_call.get("/docs/pictures/overview.png")
    svg = await sqlite_call.get("/docs/images/overview.svg")

    assert (png.status, png.headers["content-type"]) == (200, "image/png")
    assert (svg.status, svg.headers["content-type"]) == (200, "image/svg+xml")


async def test_links_between_pages__lead_to_pages(sqlite_call: ApiClient) -> None:
    for path in PAGES:
        here = f"/docs/{path.relative_to(DOCS)}"
        for link in re.findall(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            there = urljoin(here, link)
            if there.startswith("/docs/"):
                assert (await sqlite_call("HEAD", there)).status == 200, (here, link)


async def test_index_for_agents__names_every_page_of_the_index_by_an_address_that_answers(sqlite_call: ApiClient) -> None:
    text = (await sqlite_call.get("/llms.txt")).body.decode()

    links = re.findall(r"\]\(([^)]+)\)", text)
    listed = set(re.findall(r"\]\(([^)#]+\.md)\)", (DOCS / "README.md").read_text(encoding="utf-8")))
    assert set(links) == {f"docs/{each}" for each in listed}
    assert text.startswith("# Touchbase\n\n> ")
    assert "## Reference" in text
    assert "|" not in text
    for link in links:
        assert (await sqlite_call("HEAD", urljoin("/llms.txt", link))).status == 200, link


@pytest.mark.parametrize("path", ["how-to/nothing.md", "../README.md", "%2e%2e/README.md", "how-to/..%2fREADME.md", "nothing.md", "README"])
async def test_other_addresses__are_not_found(sqlite_call: ApiClient, path: str) -> None:
    assert (await sqlite_call.get(f"/docs/{path}")).status == 404
