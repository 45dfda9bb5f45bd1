"""The console's page and files: from the package, with a strict policy, for every address below `/console`."""

from __future__ import annotations

import gzip
import re

import pytest
from tests.asgi_client import ApiClient

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
ADDRESSES = ("/console", "/console/", "/console/contacts", "/console/contacts/12", "/console/webhooks/3/body")


async def test_front_address__leads_to_the_console(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call.get("/")

    assert (reply.status, reply.headers["location"]) == (307, "console")


@pytest.mark.parametrize("address", ADDRESSES)
async def test_every_address_of_the_console__gives_the_page_and_finds_its_files(sqlite_call: ApiClient, address: str) -> None:
    page = await sqlite_call.get(address)

    assert (page.status, page.headers["content-type"], page.headers["cache-control"]) == (200, "text/html; charset=utf-8", "no-cache")
    assert page.headers["content-security-policy"] == POLICY
    folder = address.rpartition("/")[0]
    for name in re.findall(r'(?:src|href)="(?!data:)([^"]+)"', page.body.decode()):
        path = _resolved(folder, name)
        found = await sqlite_call.get(path)
        assert (found.status, found.headers["cache-control"]) == (200, "public, max-age=31536000, immutable"), path
        assert found.headers["content-security-policy"] == POLICY
        assert re.search(r"-[0-9A-Z]{8}\.(js|css|woff2)$", path)


def _resolved(folder: str, name: str) -> str:
    parts = folder.split("/")
    for each in name.split("/"):
        parts = parts[:-1] if each == ".." else [*parts, each]
    return "/".join(parts)


async def test_page__has_no_inline_code_and_no_outside_address(sqlite_call: ApiClient) -> None:
    page = (await sqlite_call.get("/console")).body.decode()
    files = [(await sqlite_call.get("/" + name)).body.decode() for name in re.findall(r'(?:src|href)="(console/[^"]+(?:js|css))"', page)]

    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", page)
    addresses = {each for text in (page, *files) for each in re.findall(r"https?://[\w.-]+", text)}
    assert addresses <= {"http://www.w3.org"}  # the names of SVG and MathML, which are no addresses
    assert not any(re.search(r"\beval\(|new Function\(|document\.write|dangerouslySetInnerHTML\s*:", text) for text in files if "{" in text)


async def test_file__is_compressed_where_the_browser_accepts_it(sqlite_call: ApiClient) -> None:
    for accepted, compressed in (("gzip, br", True), ("br", False), ("gzip;q=0", False), ("", False)):
        reply = await sqlite_call.get("/console", accept_encoding=accepted)
        assert (reply.headers.get("content-encoding") == "gzip") is compressed
        assert reply.headers["vary"] == "accept-encoding"
        body = gzip.decompress(reply.body) if compressed else reply.body
        assert body == (await sqlite_call.get("/console")).body


async def test_page__is_not_sent_again_while_it_is_the_same(sqlite_call: ApiClient) -> None:
    etag = (await sqlite_call.get("/console")).headers["etag"]

    reply = await sqlite_call.get("/console", if_none_match=etag, accept_encoding="gzip")

    assert (reply.status, reply.body, reply.headers["etag"], "content-encoding" in reply.headers) == (304, b"", etag, False)
    assert reply.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("name", ["x.js", "..%2Findex.html", "index.html", "console.js", "%00"])
async def test_other_files__are_not_found(sqlite_call: ApiClient, name: str) -> None:
    assert (await sqlite_call.get(f"/console/assets/{name}")).status == 404


async def test_licences__of_the_libraries_are_served(sqlite_call: ApiClient) -> None:
    text = (await sqlite_call.get("/console/assets/LICENSES.txt")).body.decode()

    assert re.findall(r"^(\S+) \S+ \((MIT|OFL-1.1)\)$", text, re.MULTILINE) == [
        ("@fontsource-variable/inter", "OFL-1.1"), ("@preact/signals", "MIT"), ("@preact/signals-core", "MIT"),
        ("@tanstack/preact-query", "MIT"), ("@tanstack/query-core", "MIT"), ("@tanstack/virtual-core", "MIT"), ("preact", "MIT"),
    ]  # fmt: skip


async def test_console__is_not_part_of_the_description_of_the_api(sqlite_call: ApiClient) -> None:
    paths = (await sqlite_call.get("/openapi.json")).json()["paths"]

    assert [path for path in paths if "console" in path or path == "/"] == []
