"""A fake of RevyOps' lists: in the test's process, or on a local socket for the command line; and an import from it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.asgi_client import ApiClient

from touchbase.connections.tools import ApiRequest, ApiResponse
from touchbase.revyops_import.client_map import ClientMap
from touchbase.revyops_import.importer import ImportOptions, RevyOpsImport
from touchbase.revyops_import.journal import Head, Journal
from touchbase.revyops_import.list_reader import ListReader
from touchbase.revyops_import.models import Entry
from touchbase.revyops_import.results import Result, result_of

BASE = "http://revyops.test"
KEY = "a-master-key-that-no-output-shows"
Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]
"""Status, body (bytes as they are, else as JSON), headers."""


def contact(number: int, client: str = "41", **fields: Any) -> dict[str, Any]:
    """A contact as their lists show it."""
    custom = fields.pop("custom", {})
    return {
        "id": number, "client_id": client, "updated_time": "2026-11-01T10:00:00Z", "email": f"person{number}@example.com",
        "linkedin_url": None, "first_name": f"First {number}", "last_name": "", "company_id": None, "origin": "list",
        "first_campaign_email_sent": None, "last_campaign_email_sent": None, "last_reply_received": None, "previous_status": None,
        "status_changed_at": None, "contact_status": "new", "contact_custom_fields": custom_fields(custom), **fields,
    }  # fmt: skip


def company(number: int, client: str = "41", **fields: Any) -> dict[str, Any]:
    """A company as their lists show it."""
    custom = fields.pop("custom", {})
    return {
        "id": number, "client_id": client, "updated_time": "2026-11-01T10:00:00Z", "domain": f"company{number}.example",
        "name": f"Company {number}", "previous_status": None, "status_changed_at": None, "company_status": "target",
        "company_custom_fields": custom_fields(custom), **fields,
    }  # fmt: skip


def email(number: int, contact_email: str | None = "person1@example.com", **fields: Any) -> dict[str, Any]:
    """An e-mail as their list shows it."""
    custom = fields.pop("custom", {})
    return {
        "id": number, "updated_time": "2026-11-01T10:00:00Z", "email_timestamp": f"2026-06-01T08:{number % 60:02}:00Z",
        "contact_email": contact_email, "contact_id": None, "agent_email": "sam@agency.example", "email_type": "sent",
        "subject": f"Subject {number}", "body_text": f"Text {number}", "body_html": f"<p>Text {number}</p>", "campaign_id": "77",
        "campaign_name": "Autumn", "interested": False, "origin": "smartlead", "custom_fields": custom_fields(custom), **fields,
    }  # fmt: skip


def custom_fields(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Custom fields with the structure NESTED."""
    return [
        {"id": index, "updated_time": "2026-11-01T10:00:00Z", "field_name": name, "field_value": value}
        for index, (name, value) in enumerate(values.items(), 1)
    ]


@dataclass
class FakeRevyOps:
    """Their server: lists, and the answers of the next requests in place of pages."""

    contacts: list[Any] = field(default_factory=list)
    companies: list[Any] = field(default_factory=list)
    emails: list[Any] = field(default_factory=list)
    instead: list[tuple[str, Answer]] = field(default_factory=list)
    """Answers for the next requests whose path contains a text, each once."""
    before: Callable[[str], None] = lambda _: None
    """Called with the path before each page, so that a list can change."""
    prefix: str = ""
    workspace: bool = False
    requests: list[str] = field(default_factory=list)

    def answer(self, path: str, key: str) -> Answer:
        """Answer a request."""
        self.requests.append(path)
        self.before(path)
        for index, (text, answer) in enumerate(self.instead):
            if text in path:
                del self.instead[index]
                return answer
        parts, ending = urlsplit(path), "" if self.workspace else "-master-list"
        if key != KEY:
            return 403, {"detail": f"Invalid key {key}"}
        lists = {f"{self.prefix}/public/v2/contacts{ending}": self.contacts, f"{self.prefix}/public/v2/companies{ending}": self.companies}
        if parts.path not in lists:
            return self._of_workspace(parts.path.removeprefix(self.prefix), parse_qs(parts.query))
        found, asked = lists[parts.path], {name: values[0] for name, values in parse_qs(parts.query).items()}
        assert asked.pop("structure") == "NESTED"
        number, size = int(asked.pop("page")), int(asked.pop("page_size"))
        assert not asked
        pages = max(1, -(-len(found) // size))
        if number > pages:
            return 404, {"detail": "Invalid page."}
        results = found[(number - 1) * size : number * size]
        return 200, {"count": len(found), "total_pages": pages, "current_page": number, "page_size": size, "results": results}

    def _of_workspace(self, path: str, asked: dict[str, list[str]]) -> Answer:
        """Answer a request for e-mails or one contact, which only the key of a workspace can read."""
        if self.workspace and path == "/public/emails":
            number, size = int(asked["page"][0]), int(asked["page_size"][0])
            return 200, self.emails[(number - 1) * size : number * size]
        if self.workspace and path.startswith("/public/v2/contacts/"):
            for each in self.contacts:
                if str(each["id"]) == path.rpartition("/")[2]:
                    return 200, each
        return 404, {"detail": "Not found."}

    async def send(self, base: str, request: ApiRequest) -> ApiResponse:
        """Answer a request of an import in the test's process."""
        path = base.removeprefix(BASE) + request.path
        status, body, *more = self.answer(path, request.headers["x-api-key"])
        return ApiResponse(status, more[0] if more else {}, _bytes(body))

    @contextmanager
    def served(self) -> Iterator[str]:
        """Serve on a local socket; yield the base address."""
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, body, *more = fake.answer(self.path, self.headers["x-api-key"])
                data = _bytes(body)
                self.send_response(status)
                for name, value in (more[0] if more else {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


@dataclass
class OldAccount:
    """Our own server as their account: the client `old` of an application."""

    call: ApiClient

    async def send(self, base: str, request: ApiRequest) -> ApiResponse:
        """Answer a request of an import."""
        reply = await self.call.get(base.removeprefix(BASE) + request.path, x_client_id="old")
        return ApiResponse(reply.status, reply.headers, reply.body)


def _bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


@dataclass
class Import:
    """Imports from a fake into the store of an application; `waits` has the seconds that the import slept."""

    call: ApiClient
    fake: FakeRevyOps | OldAccount
    folder: Path
    page_size: int = 3
    waits: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    on_page: Callable[[Entry], None] = lambda _: None

    async def __call__(self, given: dict[str, str] | None = None, *, only_given: bool = False, **options: Any) -> Result:
        """Import once."""
        store, clock = self.call.parts.store, self.call.clock
        chosen = ImportOptions(**options)
        head = Head(BASE, "the store", {"clients": given or {}})
        journal = Journal(self.folder, head, dry_run=chosen.dry_run)
        try:
            reader = ListReader(
                self.fake, BASE, KEY, clock, all_clients=chosen.workspace is None, page_size=self.page_size, sleep=self._sleep,
                on_wait=self.notes.append,
            )  # fmt: skip
            clients = ClientMap(store, clock, given or {}, only_given, chosen.dry_run)
            await clients.check()
            progress = await RevyOpsImport(store, clock, reader, clients, journal, chosen, self.on_page).run()
            result = await result_of(store, clients, progress, journal, reader.base_url, dry_run=chosen.dry_run)
            journal.end(head)
        finally:
            journal.close()
        return result

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def counts(result: Result, name: str = "contacts") -> dict[str, dict[str, int]]:
    """The counts of each client that are not 0, by their id of the client."""
    words = ("created", "updated", "unchanged", "duplicates", "refused", "erased", "deleted", "late", "missing", "different", "here")
    return {
        one.their_client: {word: found for word in words if (found := getattr(one, word))} for one in result.clients if one.list == name
    }
