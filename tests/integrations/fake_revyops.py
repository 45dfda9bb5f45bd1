"""A fake of RevyOps' lists on a local socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
        result, requested = lists[parts.path], {name: values[0] for name, values in parse_qs(parts.query).items()}
        assert requested.pop("structure") == "NESTED"
        number, size = int(requested.pop("page")), int(requested.pop("page_size"))
        assert not requested
        pages = max(1, -(-len(result) // size))
        if number > pages:
            return 404, {"detail": "Invalid page."}
        results = result[(number - 1) * size : number * size]
        return 200, {"count": len(result), "total_pages": pages, "current_page": number, "page_size": size, "results": results}

    def _of_workspace(self, path: str, requested: dict[str, list[str]]) -> Answer:
        """Answer a request for e-mails or one contact, which only the key of a workspace can read."""
        if self.workspace and path == "/public/emails":
            number, size = int(requested["page"][0]), int(requested["page_size"][0])
            return 200, self.emails[(number - 1) * size : number * size]
        if self.workspace and path.startswith("/public/v2/contacts/"):
            for item in self.contacts:
                if str(item["id"]) == path.rpartition("/")[2]:
                    return 200, item
        return 404, {"detail": "Not found."}

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


def _bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()
