"""Reader of RevyOps' lists: one page for each call, with retries; the address below which the lists are is found with the first page.

The operator gives the address by hand, so it may be a private one. It is reached by https; without it only on private networks.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from touchbase.common.timestamps import Clock
from touchbase.common.url_origin import origin_of
from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed
from touchbase.enrichment.http_client import is_public
from touchbase.enrichment.retry_policy import seconds_to_wait
from touchbase.errors import TouchbaseError
from touchbase.revyops_import.list_pages import ListPage, NotAPage, excerpt, page_of
from touchbase.revyops_import.models import EMAILS, ListName

ATTEMPTS = 8
"""Requests for one page before the import stops."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds between two requests without `Retry-After`; each wait is twice the one before."""
LONGEST_ASKED = 3_600.0
"""Seconds of `Retry-After` that are waited."""
_RETRY = (408, 409, 423, 425, 429)
_REFUSED = (400, 422)
_PREFIX = "/api"
T = TypeVar("T")


class ReadFailed(TouchbaseError):
    """A page could not be read; the import continues from it when it is run again."""


class KeyRefused(ReadFailed):
    """The key may not read this."""


class PageRefused(ReadFailed):
    """The server does not give a page with this number."""


class Sender(Protocol):
    """An HTTP client."""

    async def send(self, base: str, request: ApiRequest) -> ApiResponse:
        """Send a request; raise `FetchFailed`."""
        ...


class ListReader:
    """Reads pages of the lists of contacts and companies: of all clients, or of the one workspace that the key belongs to;
    of a workspace also the e-mails."""

    def __init__(
        self, sender: Sender, base_url: str, key: str, clock: Clock, *, all_clients: bool = True, page_size: int = 100,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep, on_wait: Callable[[str], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.base_url = base_url.rstrip("/")
        self.page_size = page_size
        self._sender, self._key, self._clock = sender, key, clock
        self._all_clients = all_clients
        self._sleep, self._on_wait = sleep, on_wait
        self._is_found = False
        self._pages: dict[ListName, int] = {}
        """The pages that each list had when it was read last."""

    async def page(self, name: ListName, number: int) -> ListPage:
        """Return a page, from 1; an empty one behind the end. Raises `ReadFailed`, which names the page."""
        if number > 1 and not self._is_found:
            await self.page(name, 1)  # which shows the address and the number of pages to an import that continues
        try:
            page = await self._page(name, number)
        except PageRefused as error:
            if name != EMAILS or number == 1:
                raise
            return ListPage([], note=f"it and later ones were not read: {error}", is_cut=True)
        if page is None and not self._is_found:
            page = await self._elsewhere(name, number)
        self._is_found = True
        if page is None and number == 1:
            hint = "; leave the e-mails out with --emails without" if name == EMAILS else ""
            raise ReadFailed(f"{self._path(name)} answered 404{hint}")
        if page is None:  # the list became shorter
            return ListPage([], pages=number - 1)
        self._pages[name] = page.pages or 0
        return page

    async def _elsewhere(self, name: ListName, number: int) -> ListPage:
        """Read the first page with `/api` in the address, or without; some servers have it, some do not."""
        given = self.base_url
        self.base_url = given.removesuffix(_PREFIX) if given.endswith(_PREFIX) else given + _PREFIX
        try:
            page = await self._page(name, number)
        except ReadFailed:
            page = None
        if page is None:
            raise ReadFailed(
                f"neither {given} nor {self.base_url} has {self._path(name)} (404): give the address before /public as --base-url"
                + (", and --workspace CLIENT for a key of one workspace" if self._all_clients else "")
            )
        return page

    async def contact(self, their_id: str) -> Mapping[str, Any] | None:
        """Return a contact of the workspace; None if there is none with this id, or if it is of another one (401 there)."""
        path = f"/public/v2/contacts/{quote(their_id, safe='')}"

        def read(body: bytes) -> Mapping[str, Any]:
            records = page_of(body).records
            if len(records) != 1 or not isinstance(records[0], dict):
                raise NotAPage(f"is no contact: {excerpt(body)!r}")
            return records[0]

        try:
            return await self._get(f"the contact {path}", f"{path}?structure=NESTED", read)
        except (KeyRefused, PageRefused):  # the key has just read a list; and a text may be no id
            return None

    async def _page(self, name: ListName, number: int) -> ListPage | None:
        """Return a page; None for a 404."""
        query = f"page={number}&page_size={self.page_size}" + ("" if name == EMAILS else "&structure=NESTED")

        def read(body: bytes) -> ListPage:
            page = page_of(body)
            if number == 1 or page.pages is not None or page.records or not page.note or number > self._pages.get(name, 0):
                return page
            raise NotAPage(f"is an object without results, although the list has {self._pages[name]} pages: {page.note}")

        return await self._get(f"page {number} of {self._path(name)}", f"{self._path(name)}?{query}", read)

    async def _get(self, place: str, path: str, read: Callable[[bytes], T]) -> T | None:
        """Return what an address has, as `read` reads its body, after as many attempts as needed; None for a 404."""
        wait, request = FIRST_WAIT, ApiRequest("GET", path, {"x-api-key": self._key, "accept": "application/json"})
        for attempt in range(1, ATTEMPTS + 1):
            asked = None
            try:
                response = await self._sender.send(self.base_url, request)
                if response.status == 404:
                    return None
                why = self._fault(place, response)
                if not why:
                    return read(response.body)
                if "retry-after" in response.headers:
                    asked = seconds_to_wait(response, self._clock())
            except NotAPage as error:
                why = str(error)
                if "retry-after" in response.headers:
                    asked = seconds_to_wait(response, self._clock())
            except FetchFailed as error:
                why = str(error)
                if error.stop or not self._is_found:
                    raise ReadFailed(f"{place}: {why}") from None
            if attempt == ATTEMPTS or (asked or 0) > LONGEST_ASKED:
                hint = f"it asks to wait {asked:.0f} s" if asked else f"{attempt} attempts"
                raise ReadFailed(f"{place}: {why} ({hint}); run the command again later: it continues with this page")
            pause = wait if asked is None else max(asked, FIRST_WAIT)
            self._on_wait(f"{place}: {why}; next attempt in {pause:.0f} s")
            await self._sleep(pause)
            wait = min(2 * wait, LONGEST_WAIT)
        raise AssertionError

    def _fault(self, place: str, response: ApiResponse) -> str:
        """Return why a request must be repeated, blank for a page; raise `ReadFailed` where that does not help."""
        status = response.status
        if 200 <= status < 300:
            return ""
        if status >= 500 or status in _RETRY:
            return f"answered {status}"
        said = excerpt(response.body.replace(self._key.encode(), b"***"))
        if status in (401, 403):
            needed = "a master key; with the key of one workspace give --workspace CLIENT" if self._all_clients else "the workspace's key"
            raise KeyRefused(f"{place}: the key is refused ({status}: {said!r}); this list needs {needed}")
        if 300 <= status < 400:
            where = response.headers.get("location", "").partition("?")[0]
            raise ReadFailed(f"{place}: answered {status} with the address {where[:200]!r}: give that server as --base-url")
        raise (PageRefused if status in _REFUSED else ReadFailed)(f"{place}: answered {status}: {said!r}")

    def _path(self, name: ListName) -> str:
        if name == EMAILS:
            return "/public/emails"
        return f"/public/v2/{name}-master-list" if self._all_clients else f"/public/v2/{name}"


async def check_base_url(url: str) -> None:
    """Raise `ReadFailed` for a text that is no address of an API, and for one whose connection would show the key to others."""
    try:
        scheme, host, port = origin_of(url)
    except ValueError:
        raise ReadFailed(f"--base-url {url!r} is not an address such as https://app.example.com, without user, query and #") from None
    if scheme == "https":
        return
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ReadFailed(f"--base-url: {host} has no address: {error.strerror}") from None
    if any(is_public(str(one[4][0])) for one in found):
        raise ReadFailed(f"--base-url: {host} is a public address, and http would show the key to others: give https://{host}")
