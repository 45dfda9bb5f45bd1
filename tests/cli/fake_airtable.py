"""A fake of Airtable's API on a local socket: a base of three tables, as its documentation describes bodies, pages and errors."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "pat-that-no-output-shows"
BASE = "appAgency0000001"
AT = "2026-11-03T09:30:00.000Z"


def table(id: str, name: str, *fields: tuple[str, str] | tuple[str, str, str]) -> dict[str, Any]:
    """A table of the schema; a field is its name and type, and the table to which it links."""
    listed = [
        {"id": f"fld{id[3:6]}{number:03}", "name": item[0], "type": item[1]} | ({"options": {"linkedTableId": item[2]}} if item[2:] else {})
        for number, item in enumerate(fields)
    ]
    return {"id": id, "name": name, "primaryFieldId": listed[0]["id"], "fields": listed, "views": []}


def entry(id: str, **fields: Any) -> dict[str, Any]:
    """A record; Airtable leaves out members of empty cells."""
    return {"id": id, "createdTime": AT, "fields": {name.replace("_", " "): value for name, value in fields.items()}}


TABLES = [
    table(
        "tblCompanies0001", "Companies", ("Name", "singleLineText"), ("Website", "url"), ("Industry", "singleSelect"),
        ("Employees", "number"), ("People", "multipleRecordLinks", "tblPeople0000001"),
    ),
    table(
        "tblPeople0000001", "People", ("Name", "singleLineText"), ("Email", "email"), ("LinkedIn", "url"),
        ("Company", "multipleRecordLinks", "tblCompanies0001"), ("Status", "singleSelect"), ("Tags", "multipleSelects"),
        ("Do not contact", "checkbox"), ("Files", "multipleAttachments"), ("Greeting", "formula"), ("Score", "formula"),
        ("Owner", "singleCollaborator"), ("Deals", "multipleRecordLinks", "tblDeals00000001"), ("Created", "createdTime"),
        ("Last modified", "lastModifiedTime"),
    ),
    table(
        "tblDeals00000001", "Deals", ("Title", "singleLineText"), ("Amount", "currency"),
        ("Person", "multipleRecordLinks", "tblPeople0000001"),
    ),
]  # fmt: skip
RECORDS: dict[str, list[dict[str, Any]]] = {
    "tblCompanies0001": [
        entry("recAcme", Name="Acme", Website="https://acme.com", Industry="software", Employees=120, People=["recAnn"]),
        entry("recBeta", Name="Beta", People=["recBob"]),
    ],
    "tblPeople0000001": [
        entry(
            "recAnn", Name="Ann Lee", Email="ann@acme.com", LinkedIn="https://www.linkedin.com/in/ann-lee", Company=["recAcme", "recBeta"],
            Status="Replied", Tags=["lead", "warm"], Files=[{"id": "att1", "url": "https://files.example/a.pdf", "filename": "a.pdf"}],
            Greeting="Hi Ann", Score=0.5, Owner={"id": "usr1", "email": "sam@agency.example", "name": "Sam Poe"}, Deals=["recDeal"],
            Created=AT, Last_modified="2026-11-20T10:00:00.000Z",
        ),
        entry(
            "recBob", Name="Bob Ray", Email="bob@beta.io", Company=["recBeta"], Do_not_contact=True, Score={"error": "#ERROR!"}, Created=AT,
        ),
        entry("recCy", Name="Cy Poe", Company=["recAcme"], Score={"specialValue": "NaN"}, Created=AT),
        entry("recEmpty", Created=AT),
    ],
    "tblDeals00000001": [entry("recDeal", Title="Acme 2026", Amount=1200.5, Person=["recAnn"])],
}  # fmt: skip


@dataclass
class FakeAirtable:
    """What the fake has been asked, and what it does to requests."""

    address: str = ""
    requests: list[str] = field(default_factory=list)
    refused: list[tuple[int, Any]] = field(default_factory=list)
    """Answers to the next requests for records, in place of a page."""
    page: int = 100
    """Records of a page at most, to have pages in a small base."""

    def answer(self, method: str, target: str, token: str | None) -> tuple[int, Any]:
        """Return status and body of a request."""
        parts = urlsplit(target)
        query, path = parse_qs(parts.query), parts.path.split("/")[1:]
        self.requests.append(target)
        if token != f"Bearer {TOKEN}":
            return 401, {"error": {"type": "AUTHENTICATION_REQUIRED", "message": "Authentication required"}}
        if path == ["v0", "meta", "bases", BASE, "tables"]:
            return 200, {"tables": TABLES}
        if method != "GET" or path[:2] != ["v0", BASE] or len(path) != 3:
            return 403, {"error": {"type": "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND", "message": "Invalid permissions"}}
        if self.refused:
            return self.refused.pop(0)
        return self.page_of(path[2], query)

    def page_of(self, table_id: str, query: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        """Return a page of a table's records."""
        size = int(query.get("pageSize", ["100"])[0])
        assert size <= 100
        records = RECORDS[table_id][: 1 if query.get("view") == ["First"] else None]
        if fields := query.get("fields[]"):
            records = [
                {**record, "fields": {name: value for name, value in record["fields"].items() if name in fields}} for record in records
            ]
        start = int(query.get("offset", ["itr/0"])[0].partition("/")[2])
        end = start + min(size, self.page)
        return 200, {"records": records[start:end]} | ({"offset": f"itr/{end}"} if end < len(records) else {})


@contextmanager
def fake_airtable() -> Iterator[FakeAirtable]:
    """Serve the fake on a local port."""
    fake = FakeAirtable()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, body = fake.answer("GET", self.path, self.headers.get("Authorization"))
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
