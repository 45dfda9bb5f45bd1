"""The documentation as text: every page at its address, and an index whose links lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from docs import build
from tests.asgi_client import ApiClient

from touchbase.http import docs_page

FOLDER = docs_page.folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    build.write(folder)
    return folder


@pytest.fixture(scope="module")
def built(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.md")}


@pytest.fixture(autouse=True)
def served(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve the built pages, whatever this tree has in build/docs."""
    monkeypatch.setattr(docs_page, "folder", lambda: folder)
    caches = (docs_page.pages, docs_page._index_for_agents, docs_page._sections)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


async def test_pages__are_served_as_they_are_built(built: dict[str, bytes], sqlite_call: ApiClient) -> None:
    for path, page in built.items():
        reply = await sqlite_call.get(f"/docs/{path}")
        assert (reply.status, reply.body) == (200, page), path
        assert reply.headers["content-type"] == "text/markdown; charset=utf-8"
        assert "default-src 'none'" in reply.headers["content-security-policy"]


async def test_pictures__have_their_types(sqlite_call: ApiClient) -> None:
    png = await sqlite_call.get("/docs/pictures/overview.png")
    svg = await sqlite_call.get("/docs/images/overview.svg")

    assert (png.status, png.headers["content-type"]) == (200, "image/png")
    assert (svg.status, svg.headers["content-type"]) == (200, "image/svg+xml")


async def test_links_between_pages__lead_to_pages(built: dict[str, bytes], sqlite_call: ApiClient) -> None:
    for path, page in built.items():
        here = f"/docs/{path}"
        for link in re.findall(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", page.decode()):
            there = urljoin(here, link)
            if there.startswith("/docs/"):
                assert (await sqlite_call("HEAD", there)).status == 200, (here, link)


async def test_index_for_agents__names_every_page_of_the_index_by_an_address_that_answers(
    built: dict[str, bytes], sqlite_call: ApiClient
) -> None:
    text = (await sqlite_call.get("/llms.txt")).body.decode()

    links = re.findall(r"\]\(([^)]+)\)", text)
    listed = set(re.findall(r"\]\(([^)#]+\.md)\)", built["README.md"].decode()))
    assert set(links) == {f"docs/{item}" for item in listed}
    assert text.startswith("# Touchbase\n\n> ")
    assert "## Reference" in text
    assert "|" not in text
    for link in links:
        assert (await sqlite_call("HEAD", urljoin("/llms.txt", link))).status == 200, link


async def test_search__finds_the_parts_of_pages_that_have_every_word(built: dict[str, bytes], sqlite_call: ApiClient) -> None:
    hits = (await sqlite_call.get("/docs/search?q=RESTORE+delete")).json()["data"]

    assert [hits[0]["page"], hits[0]["title"]] == ["how-to/delete-and-restore", "Delete and restore"]
    part = next(hit for hit in hits if hit["page"] == "how-to/delete-and-restore#restore")
    assert part["title"] == "Delete and restore: Restore"
    for hit in hits:
        path, _, anchor = hit["page"].partition("#")
        headings = re.findall(r"^#+ (.+)$", built[f"{path}.md"].decode(), re.MULTILINE)
        assert not anchor or anchor in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}, hit
    assert (await sqlite_call.get("/docs/search?q=restore+zzzz")).json() == {"data": []}
    excerpt = (await sqlite_call.get("/docs/search?q=gone_at")).json()["data"][0]["text"]
    assert "gone_at" in excerpt
    assert len(excerpt) < 2 * docs_page.EXCERPT


@pytest.mark.parametrize("query", ["", "?q=", f"?q={'a' * 201}", "?q=a&q=b", "?word=a&q=a"])
async def test_search_without_words__says_what_to_send(sqlite_call: ApiClient, query: str) -> None:
    reply = await sqlite_call.get(f"/docs/search{query}")

    assert (reply.status, reply.json()["code"]) == (422, "invalid")


@pytest.mark.parametrize("path", ["how-to/nothing.md", "../README.md", "%2e%2e/README.md", "how-to/..%2fREADME.md", "nothing.md", "README"])
async def test_other_addresses__are_not_found(sqlite_call: ApiClient, path: str) -> None:
    assert (await sqlite_call.get(f"/docs/{path}")).status == 404


def test_folder_of_a_source_tree__is_what_make_docs_built_else_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs_page, "__file__", str(tmp_path / "src" / "touchbase" / "http" / "docs_page.py"))
    assert FOLDER() == tmp_path / "docs"

    (tmp_path / "build" / "docs").mkdir(parents=True)

    assert FOLDER() == tmp_path / "build" / "docs"
