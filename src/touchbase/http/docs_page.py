"""The documentation: an interactive page of the API, and for agents and people without the repository `/llms.txt` and Markdown pages.

All from files in the package; the interactive page loads nothing from other sites.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path

import msgspec

from touchbase.errors import NotFound
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route

FILES = {
    "docs.css": ("static/docs.css", b"text/css; charset=utf-8"),
    "docs.js": ("static/docs.js", b"text/javascript; charset=utf-8"),
    "swagger-ui-bundle.js": ("static/swagger-ui/swagger-ui-bundle.js", b"text/javascript; charset=utf-8"),
    "swagger-ui.css": ("static/swagger-ui/swagger-ui.css", b"text/css; charset=utf-8"),
    "LICENSE": ("static/swagger-ui/LICENSE", b"text/plain; charset=utf-8"),
}
# The page may load from, send to, and be framed by no other site.
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE = [(b"content-security-policy", POLICY)]


async def api_page(call: Call) -> Response:
    """Handle `GET` of the page that shows the API."""
    return Response(200, _read("static/docs.html"), b"text/html; charset=utf-8", SAFE)


async def file(call: Call) -> Response:
    """Handle `GET` of a file of the page."""
    entry = FILES.get(call.path("name"))
    if entry is None:
        raise NotFound("there is no such file")
    path, kind = entry
    return Response(200, _read(path), kind, [*SAFE, (b"cache-control", b"public, max-age=3600")])


@cache
def _read(path: str) -> bytes:
    return resources.files("touchbase.http").joinpath(path).read_bytes()


MARKDOWN = b"text/markdown; charset=utf-8"
PICTURE = {"png": b"image/png", "svg": b"image/svg+xml"}
CACHED = (b"cache-control", b"public, max-age=3600")
INDEX = "README.md"
SUMMARY = """# Touchbase

> A self-hosted data service for revenue operations: contacts and companies of many clients, the webhooks of their campaign tools and
> CRMs, and each record's status, mails, replies and history, the same in any order of arrival. HTTP API, Python client, console, agents.

- API: `/openapi.json` (OpenAPI 3.1). Keys as `Authorization: Bearer tb_...`; a key of all clients names one in `X-Client-Id`.
- Agents: the Model Context Protocol at `/mcp`; call `whoami` first.
- Errors are problem bodies (RFC 9457) whose `detail` says what to send instead.
- Pages below are Markdown, and their links lead to further pages.
"""
_LINK = re.compile(r"\]\(((?:[\w-]+/)?[\w-]+\.md)\)")


async def llms(call: Call) -> Response:
    """`GET /llms.txt`: a summary, and a line for each page."""
    return Response(200, _index_for_agents(), b"text/plain; charset=utf-8", [CACHED])


async def page(call: Call) -> Response:
    """`GET` of a page or a picture of the documentation."""
    return _page(f"{call.path('kind')}/{call.path('name')}")


async def page_or_file(call: Call) -> Response:
    """`GET` of a page that belongs to no kind, such as the index, or of a file of the page that shows the API."""
    name = call.path("name")
    return _page(name) if name.endswith(".md") else await file(call)


def _page(path: str) -> Response:
    page = pages().get(path)
    if page is None:
        raise NotFound("there is no such page; /llms.txt lists all pages")
    return Response(200, page.read_bytes(), PICTURE.get(path.rpartition(".")[2], MARKDOWN), [*SAFE, CACHED])


def folder() -> Traversable:
    """Return the folder of the documentation: in the package if it was installed, else built by `make docs`, else its sources."""
    tree = Path(__file__).parents[3]
    folders = (resources.files("touchbase") / "docs", tree / "build" / "docs", tree / "docs")
    return next((folder for folder in folders if folder.is_dir()), folders[-1])


@cache
def pages() -> dict[str, Traversable]:
    """Return the files of the documentation by their path below it; none if it is not installed."""
    root = folder()
    if not root.is_dir():
        return {}
    entries = {entry.name: entry for entry in root.iterdir() if entry.is_file()}
    for kind in root.iterdir():
        if kind.is_dir():
            entries |= {f"{kind.name}/{entry.name}": entry for entry in kind.iterdir()}
    return {path: entry for path, entry in entries.items() if path.rpartition(".")[2] in ("md", *PICTURE)}


MOST_HITS = 30
LONGEST_SEARCH = 200
EXCERPT = 200
_FIRST = ("how-to/", "tutorial/", "reference/")
"""Kinds of pages that are found before the others."""
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CODE = re.compile(r"```.*?```", re.DOTALL)
_MARKS = re.compile(r"!?\[([^][]*)\]\([^()]*\)|[*`|]|^[#>]+ ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page below a heading."""

    page: str
    """The page's path without its ending, with the heading's anchor."""
    title: str
    text: str
    title_words: str
    words: str


@cache
def _sections() -> list[Section]:
    """Return the parts of all pages in the order in which a search names them."""
    paths = sorted((path for path in pages() if path.endswith(".md")), key=lambda path: (not path.startswith(_FIRST), path))
    return [section for path in paths for section in _sections_of(path.removesuffix(".md"), pages()[path].read_text(encoding="utf-8"))]


def _sections_of(path: str, page: str) -> Iterator[Section]:
    # A comment in a block of code looks like a heading.
    headings = list(_HEADING.finditer(_CODE.sub(lambda block: " " * len(block[0]), page)))
    first = _MARKS.sub(r"\1", headings[0][1]) if headings else ""
    for number, heading in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(page)
        text = " ".join(_MARKS.sub(r"\1", page[heading.end() : end]).split())
        name = _MARKS.sub(r"\1", heading[1])
        title = name if number == 0 else f"{first}: {name}"
        anchor = "" if number == 0 else "#" + re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")
        yield Section(path + anchor, title, text, title.lower(), f"{title} {text}".lower())


async def search(call: Call) -> Response:
    """`GET /docs/search?q=`: the parts of pages that have every word, those with them in their titles first."""
    parameters = call.parameters()
    text = parameters.text("q")
    if text is None:
        parameters.fault("q", "missing", "must be the words to search for")
    elif len(text) > LONGEST_SEARCH:
        parameters.fault("q", "too_long", f"must have at most {LONGEST_SEARCH} characters")
    parameters.done()
    words = (text or "").lower().split()
    hits = [section for section in _sections() if all(word in section.words for word in words)]
    hits.sort(key=lambda section: sum(word not in section.title_words for word in words))
    data = [{"page": hit.page, "title": hit.title, "text": _excerpt(hit.text, words)} for hit in islice(hits, MOST_HITS)]
    return Response(200, msgspec.json.encode({"data": data}), headers=[*SAFE, CACHED])


def _excerpt(text: str, words: list[str]) -> str:
    """Return the surroundings of the first of these words."""
    places = [place for place in map(text.lower().find, words) if place >= 0]
    start = max(0, min(places, default=0) - EXCERPT // 4)
    start = text.find(" ", start) + 1 if start else 0
    end = start + EXCERPT
    return ("… " if start else "") + (text[start:end].rsplit(" ", 1)[0] + " …" if end < len(text) else text[start:])


@cache
def _index_for_agents() -> bytes:
    """Return the index, with its links as they are below the server's address."""
    index = pages().get(INDEX)
    if index is None:
        return f"{SUMMARY}\nThe documentation is not installed here.\n".encode()
    return f"{SUMMARY}\n{''.join(map(_line, index.read_text(encoding='utf-8').splitlines()))}".encode()


def _line(line: str) -> str:
    """Return a line of the index with its links below the server's address; the title goes."""
    return "" if line.startswith("# ") else _LINK.sub(r"](docs/\1)", line) + "\n"


ROUTES = [
    Route("GET", "/docs", api_page, scope=""),
    Route("GET", "/llms.txt", llms, scope=""),
    Route("GET", "/docs/search", search, scope=""),
    Route("GET", "/docs/{name}", page_or_file, scope=""),
    Route("GET", "/docs/{kind}/{name}", page, scope=""),
]
