#!/usr/bin/env python3
"""Import contacts, companies and e-mails from RevyOps into Touchbase, through the HTTP APIs of both.

Needs Python 3.11 and nothing else. It has no journal: stop it and start it again as often as you like, the store ends the same.
"""

from __future__ import annotations

import argparse
import csv
import ipaddress
import itertools
import json
import os
import socket
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

ATTEMPTS, LONGEST_WAIT, LONGEST_RETRY_AFTER = 8, 60.0, 3_600.0
"""Requests before a failure; seconds between two of them; seconds of `Retry-After` that are waited."""
TIMEOUT, MOST_BYTES = 60.0, 32 * 1024 * 1024
BUFFERED, MOST_CHARACTERS = 20_000, 500_000
"""Records that wait for their upload; characters of one of them."""
FIELDS = {
    "companies": ("domain", "name", "company_status"),
    "contacts": (
        "email", "linkedin_url", "first_name", "last_name", "origin", "contact_status", "first_campaign_email_sent",
        "last_campaign_email_sent", "last_reply_received", "company.domain",
    ),
    "emails": (
        "email_timestamp", "updated_time", "contact_email", "contact_id", "agent_email", "email_type", "subject", "body_text",
        "body_html", "campaign_id", "campaign_name", "interested", "origin",
    ),
}  # fmt: skip
KEYS = {"companies": ("domain",), "contacts": ("email", "linkedin_url"), "emails": ("contact_id",)}
CUSTOM = {"companies": "company_custom_fields", "contacts": "contact_custom_fields", "emails": "custom_fields"}
NOT_IMPORTED = {"id", "client_id", "company_id", "updated_time", "created_time", "previous_status", "status_changed_at"}
COLUMN = "RevyOps "
"""Prefix of the columns that are fields; any other column is a custom field of its name."""
MESSAGE = "revyops-email:"
"""Prefix of the `message_id` by which an imported e-mail is known."""
TEXTS = {
    "subject": ("subject", 1_000), "body_text": ("text", 200_000), "body_html": ("html", 200_000), "agent_email": ("mailbox", 1_000),
    "campaign_id": ("campaign_id", 1_000), "campaign_name": ("campaign_name", 1_000),
}  # fmt: skip
DIRECTIONS = dict.fromkeys(("sent", "send", "email sent", "outbound", "outgoing"), "sent") | dict.fromkeys(
    ("reply", "replied", "received", "email reply", "email replied", "email received", "inbound", "incoming"), "received"
)
COUNTS = ("read", "created", "updated", "unchanged", "duplicates", "refused", "erased", "deleted", "suppressed", "cells_left_out")


class ImportStopped(Exception):
    """The import cannot go on; the message says why."""


class Busy(Exception):
    """A response that another attempt may improve."""


class Api:
    """An HTTP API on one connection, with retries. It follows no redirect, which would take the key along."""

    def __init__(self, option: str, base: str, headers: dict[str, str]) -> None:
        parts = urlsplit(base)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
            sys.exit(f"{option} {base!r} is not an address such as https://app.example.com, without user, query and #")
        if parts.scheme == "http":
            try:
                addresses = {str(info[4][0]).partition("%")[0] for info in socket.getaddrinfo(parts.hostname, None)}
            except OSError as error:
                sys.exit(f"{option}: {parts.hostname} has no address: {error.strerror}")
            if any(ipaddress.ip_address(address).is_global for address in addresses):
                sys.exit(f"{option}: http would show the key to others on the way: give https://{parts.hostname}")
        self.path, self._host, self._headers = parts.path.rstrip("/"), parts.netloc, headers
        self._connection = (HTTPSConnection if parts.scheme == "https" else HTTPConnection)(parts.netloc, timeout=TIMEOUT)
        self._is_reached = False

    def send(
        self, method: str, path: str, body: object = None, client: str = "", *, attempts: int = ATTEMPTS,
        headers: dict[str, str] | None = None, read: Callable[[int, bytes], Any] = lambda _, body: json.loads(body or b"null"),
    ) -> tuple[int, Any]:  # fmt: skip
        """Return the status and what `read` makes of the body. Tried again: no answer, 429, 5xx, `Busy`, and a body that is not JSON."""
        headers = self._headers | ({"X-Client-Id": client} if client else {}) | (headers or {})
        if body is not None and not isinstance(body, bytes):
            headers["Content-Type"], body = "application/json", json.dumps(body).encode()
        wait, content = 1.0, b""
        if attempts == 1:
            self._connection.close()
        for attempt in range(1, attempts + 1):
            pause = wait
            try:
                self._connection.request(method, self.path + path, body, headers)
                response = self._connection.getresponse()
                content, self._is_reached = response.read(MOST_BYTES + 1), True
                requested = response.headers.get("retry-after", "")
                pause = float(requested) if requested.isdigit() else wait
                if len(content) > MOST_BYTES:
                    raise ImportStopped(f"{path} has more than {MOST_BYTES} bytes: give a smaller --page-size")
                if response.status < 500 and response.status not in (408, 423, 425, 429):
                    return response.status, read(response.status, content)
                why = f"answered {response.status}"
            except Busy as error:
                why = str(error)
            except ValueError:
                why = f"is not JSON; it begins with {excerpt(content)!r}"
            except (OSError, HTTPException) as error:
                self._connection.close()
                why = f"{self._host} cannot be reached: {error or type(error).__name__}"
                if not self._is_reached:
                    raise ImportStopped(why) from None
                if attempt == 1 < attempts:  # the connection may have been idle for too long
                    continue
            if attempt == attempts or pause > LONGEST_RETRY_AFTER:
                raise ImportStopped(f"{path}: {why} ({attempt} attempts); start the import again in {pause:.0f} s or later")
            print(f"{path}: {why}; next attempt in {pause:.0f} s", file=sys.stderr)
            time.sleep(pause)
            wait = min(2 * wait, LONGEST_WAIT)
        raise AssertionError

    def get(self, method: str, path: str, body: object = None, client: str = "", **options: Any) -> Any:
        """Return the body of a call that must succeed."""
        status, result = self.send(method, path, body, client, **options)
        if status >= 300:
            raise ImportStopped(f"{method} {path.partition('?')[0]} answered {status}: {reason(result)}")
        return result

    def pages(self, path: str, client: str = "") -> Iterator[dict[str, Any]]:
        """Yield the entries of a list of Touchbase."""
        cursor: str | None = ""
        while cursor is not None:
            page = self.get("GET", f"{path}?limit=100" + (f"&cursor={quote(cursor)}" if cursor else ""), client=client)
            yield from page["data"]
            cursor = page["next_cursor"]


class RevyOps:
    """Their lists, page by page; `/api` in front of the address is tried, too."""

    def __init__(self, api: Api, options: argparse.Namespace) -> None:
        self._api, self._options, self._is_found = api, options, False
        self.incomplete: list[str] = []
        """Lists that may have records that were not read, with the reason."""

    def pages(self, name: str) -> Iterator[list[Any]]:
        """Yield the records of each page of a list."""
        path = "/public/emails" if name == "emails" else f"/public/v2/{name}" + ("" if self._options.workspace else "-master-list")
        size, structure = self._options.page_size, "" if name == "emails" else "&structure=NESTED"
        ids, before, count, total = set[str](), None, 0, 0
        for number in itertools.count(1):
            status, page = self._page(path, f"?page={number}&page_size={size}{structure}", number, total)
            if status in (400, 422):
                self.incomplete.append(f"{name}: page {number} and later ones were not read: {status} {page!r}")
            if status != 200:  # 404: the list became shorter
                break
            records, count, total = page
            if not total and records and records == before:  # the page is ignored, or the last one comes for ever
                if number == 2 and (len(records) == size or len(records) % 50 == 0):
                    self.incomplete.append(f"{name}: their server gives no second page, and the list may have more than was read")
                break
            yield records
            ids.update(text_of(record.get("id") if isinstance(record, dict) else record) for record in records)
            if number >= total if total else not records:
                break
            before = records
            if sys.stderr.isatty():
                print(f"\r\x1b[K{name}: page {number}" + (f" of {total}" if total else ""), end="", file=sys.stderr, flush=True)
        if count > len(ids):
            self.incomplete.append(f"{name}: their list counts {count - len(ids)} records more than its pages had; import again")

    def contact(self, number: str) -> dict[str, Any]:
        """Return a contact of the workspace; empty if the key cannot read it."""
        status, contact = self._api.send("GET", f"/public/v2/contacts/{quote(number, safe='')}?structure=NESTED")
        return contact if status == 200 and isinstance(contact, dict) else {}

    def _page(self, path: str, query: str, number: int, total: int) -> tuple[int, Any]:
        """Return the status of a page and its records, and how many records and pages the list has, if it says so."""

        def read(status: int, body: bytes) -> Any:
            page = json.loads(body) if status == 200 else excerpt(body)
            if status != 200 or isinstance(page, list):
                return page if status != 200 else (page, 0, 0)
            if not isinstance(page, dict):
                raise Busy(f"is neither an object nor an array: {excerpt(body)!r}")
            records = page.get("results") or page
            if not isinstance(records, list):
                records = [records] if isinstance(records, dict) and "id" in records else []
                if not records and number <= total:
                    raise Busy(f"is an object without results, although the list has {total} pages: {excerpt(body)!r}")
            count, pages = (size if isinstance(size := page.get(name), int) else 0 for name in ("count", "total_pages"))
            return records, count, pages

        status, page = self._api.send("GET", path + query, read=read)
        if status == 404 and not self._is_found:
            base = self._api.path
            self._api.path = base.removesuffix("/api") if base.endswith("/api") else f"{base}/api"
            status, page = self._api.send("GET", path + query, read=read)
        self._is_found = True
        if status == 404 and number == 1:
            hint = "" if self._options.workspace else ", and --workspace CLIENT for the key of one workspace"
            raise ImportStopped(f"{path} answered 404, with /api and without: give the address before /public{hint}")
        if status not in (200, 404) and (number == 1 or status not in (400, 422)):
            why = "the key is refused" if status in (401, 403) else "answered"
            raise ImportStopped(f"page {number} of {path}: {why} ({status}: {page!r})".replace(self._options.theirs_key, "***"))
        return status, page


def excerpt(body: bytes) -> str:
    """Return the beginning of a body as one line."""
    return " ".join(body[:800].decode("utf-8", "replace").split())[:200]


def reason(problem: Any) -> str:
    """Return what a problem response says."""
    problem = problem if isinstance(problem, dict) else {"detail": problem}
    faults = [f"{fault.get('pointer', '')} {fault.get('detail', '')}".strip() for fault in problem.get("errors") or ()]
    return "; ".join(faults) or str(problem.get("detail"))


def text_of(value: Any) -> str:
    """Return a value as the text that is imported."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def plain(word: str) -> str:
    """Return an `email_type` in lower case, with single spaces between its words."""
    return " ".join(word.casefold().replace("_", " ").replace("-", " ").split())


@dataclass(slots=True)
class Record:
    """A record of theirs."""

    client: str
    id: str
    values: dict[str, str] = field(default_factory=dict)
    custom: dict[str, str] = field(default_factory=dict)
    fault: str = ""


class Import:
    """One run: companies, then contacts, then the e-mails of a workspace."""

    def __init__(self, theirs: RevyOps, ours: Api, options: argparse.Namespace) -> None:
        self._theirs, self._ours, self._options = theirs, ours, options
        self.counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        """By list and their id of the client."""
        self.notices: Counter[str] = Counter()
        self.refused: list[tuple[str, ...]] = []
        """Client there, list, id there, address, reason."""
        self.clients: dict[str, str | None] = {options.workspace: options.workspace} if options.workspace else {}
        """Their id of a client -> ours; None: left out; blank: a dry run does not add it."""
        self.added: dict[str, str] = {}
        self._domains: dict[tuple[str, str], str] = {}
        """Domains of companies, by their ids of client and company."""
        self._owners: dict[tuple[str | None, str, str], str] = {}
        """Client here, list and address -> their id of the first record that has it."""
        self._existing: list[dict[str, Any]] = []
        self._started = time.time_ns()

    def run(self) -> None:
        """Import the lists."""
        options = self._options
        if not options.workspace:
            self._existing = list(self._ours.pages("/admin/v1/clients"))
        for theirs in options.clients:
            self._client(theirs)
        for name in ("companies", "contacts") if options.emails != "only" else ():
            waiting: dict[str, list[Record]] = defaultdict(list)
            ids: set[tuple[str, str]] = set()
            for page in self._theirs.pages(name):
                for record in (self._record(name, value) for value in page):
                    if record.client and self._client(record.client) is None:
                        self.notices["records of clients that are left out"] += 1
                    elif not record.id or (record.client, record.id) not in ids:  # else it stood on an earlier page, too
                        ids.add((record.client, record.id))
                        if self._is_new(name, record):
                            waiting[record.client].append(record)
                if sum(map(len, waiting.values())) >= BUFFERED:
                    largest = max(waiting, key=lambda client: len(waiting[client]))
                    self._upload(name, largest, waiting.pop(largest))
            for theirs, records in waiting.items():
                self._upload(name, theirs, records)
        if options.workspace and options.emails != "without":
            self._import_emails(options.workspace)

    def _record(self, name: str, value: Any) -> Record:
        """Read a record of a list."""
        if not isinstance(value, dict):
            return Record(self._options.workspace, "", dict.fromkeys(FIELDS[name], ""), fault="is not a JSON object")
        record = Record(self._options.workspace or text_of(value.get("client_id")), text_of(value.get("id")))
        record.values = {member: text_of(value.get(member)) for member in FIELDS[name]}
        record.fault = "" if record.client else "has no client_id"
        if name == "contacts" and (company := text_of(value.get("company_id"))):
            record.values["company.domain"] = domain = self._domains.get((record.client, company), "")
            self.notices["contacts without their company, which was not imported or is not in the list of companies"] += not domain
        custom = value.get(CUSTOM[name]) or []
        pairs = custom.items() if isinstance(custom, dict) else [(item.get("field_name"), item.get("field_value")) for item in custom]
        for label, content in ((str(label or "").strip(), text_of(content)) for label, content in pairs):
            if not 0 < len(label) <= 200:
                record.fault = f"the name of the custom field {label[:40]!r} must have 1 to 200 characters"
            elif content.strip():
                self.notices["custom fields that stood twice in a record; the last value was taken"] += label in record.custom
                record.custom[label] = content
        for other_item in value.keys() - NOT_IMPORTED - {*FIELDS[name], CUSTOM[name]}:
            self.notices[f"{name} with the member {other_item!r}, which has no field here"] += value[other_item] not in (None, "", [], {})
        text = "".join([*record.values.values(), *record.custom, *record.custom.values()])
        if len(text) > MOST_CHARACTERS and name != "emails":
            record.fault = f"has more than {MOST_CHARACTERS} characters"
        if any("\ud800" <= char <= "\udfff" for char in text):
            record.fault = "has half of a surrogate pair, which is no text"
        return record

    def _is_new(self, name: str, record: Record) -> bool:
        """Count a record; refuse one that cannot be read, or whose address an earlier one has."""
        self.counts[name, record.client]["read"] += 1
        if record.fault:
            return self._refuse(name, record, record.fault)
        client = self.clients[record.client] or record.client
        for column in KEYS[name] if name != "emails" else ():
            address = (
                record.values[column].strip().lower().rstrip("/").removeprefix("https://").removeprefix("http://").removeprefix("www.")
            )
            owner = self._owners.setdefault((client, name, address), record.id) if address else record.id
            if owner != record.id:
                return self._refuse(name, record, f"has the {column} of the record {owner}", "duplicates")
        if name == "companies":
            self._domains[record.client, record.id] = record.values["domain"]
        return True

    def _refuse(self, name: str, record: Record, why: str, word: str = "refused") -> bool:
        self.counts[name, record.client][word] += 1
        address = next((record.values[column] for column in KEYS[name] if record.values[column]), "")
        self.refused.append((record.client, name, record.id, address, why))
        if name == "companies" and word != "cells_left_out":
            self._domains.pop((record.client, record.id), None)
        return False

    def _client(self, theirs: str) -> str | None:
        """Return the client here for one of theirs; None if it is left out."""
        if theirs in self.clients:
            return self.clients[theirs]
        options, wanted = self._options, self._options.clients.get(theirs, theirs)
        same = [client["client_id"] for client in self._existing if client["client_id"] == wanted]
        same = same or [client["client_id"] for client in self._existing if client["name"] == wanted]
        if not wanted or (theirs not in options.clients and options.only_mapped):
            self.clients[theirs] = None
        elif len(same) > 1:
            raise ImportStopped(f"{len(same)} clients have the name {wanted!r}: choose one with --client '{theirs}=CLIENT'")
        elif not same and theirs in options.clients:
            raise ImportStopped(f"there is no client {wanted!r} for {theirs!r}: add it, or correct --client")
        elif same:
            self.clients[theirs] = same[0]
        elif options.dry_run:
            self.clients[theirs] = self.added[theirs] = ""
        else:  # one attempt: a second one after a lost response would add the client twice
            added = self._ours.get("POST", "/admin/v1/clients", {"name": wanted[:200]}, attempts=1)
            self.clients[theirs] = self.added[theirs] = added["client_id"]
        return self.clients[theirs]

    def _upload(self, name: str, theirs: str, records: list[Record]) -> None:
        """Import records of one of their clients as a job of the server; a record that spoils the file is refused alone."""
        client, counts = self.clients[theirs], self.counts[name, theirs]
        if not client:  # a dry run, for a client that does not exist
            counts["created"] += len(records)
            return
        mapping = {"columns": {COLUMN + member: member for member in FIELDS[name]}, "others": "custom"}
        query = {"start": "true", "dry_run": str(self._options.dry_run).lower(), "mode": self._options.mode, "mapping": json.dumps(mapping)}
        lines = [{COLUMN + member: text for member, text in record.values.items()} | record.custom for record in records]
        body, kind = "\n".join(map(json.dumps, lines)).encode(), {"Content-Type": "application/x-ndjson"}
        status, job = self._ours.send("POST", f"/public/v2/{name}/imports?{urlencode(query)}", body, client, headers=kind)
        if status in (400, 413, 422):
            half = len(records) // 2
            if not half:
                self._refuse(name, records[0], reason(job))
            for part in (records[:half], records[half:]) if half else ():
                self._upload(name, theirs, part)
            return
        if status >= 300:
            raise ImportStopped(f"the import of {name} for the client {client} answered {status}: {reason(job)}")
        pause, path = 0.02, f"/public/v2/jobs/{job['id']}"
        while job["state"] in ("uploading", "queued", "running"):
            time.sleep(pause)
            pause, job = min(2 * pause, 2.0), self._ours.get("GET", path, client=client)
        if job["state"] != "succeeded":
            raise ImportStopped(f"job {job['id']} of the client {client} {job['state']}: {job['error']}")
        result = job["progress"]
        counts.update({word: result[word] for word in ("created", "updated", "unchanged", "erased", "suppressed")})
        counts["duplicates"] += result["duplicate_in_file"]
        self.notices[f"{name} whose address another one has in another spelling"] += result["duplicate_in_file"]
        self.notices.update({f"{name}: {code}": times for code, times in result["notices"].items()})
        if "bad_rows" in job["files"]:
            for row in self._lines(f"{path}/bad-rows", client):
                self._refuse(name, records[int(row["row"]) - 1], row["reason"].replace(COLUMN, ""))
        for row in self._lines(f"{path}/report", client) if result["cells_left_out"] else ():
            if row["outcome"] == "cells_left_out":
                why = f"{row['column'].removeprefix(COLUMN)} {row['value'][:200]!r} was left out: {row['reason'].replace(COLUMN, '')}"
                self._refuse(name, records[int(row["row"]) - 1], why, "cells_left_out")

    def _lines(self, path: str, client: str) -> Iterator[dict[str, str]]:
        """Return the lines of a CSV file of a job."""
        text = self._ours.get("GET", path, client=client, read=lambda _, body: body.decode("utf-8-sig"))
        return csv.DictReader(text.splitlines(keepends=True))

    def _import_emails(self, client: str) -> None:
        counts, people = self.counts["emails", client], dict[str, list[dict[str, str]]]()
        message_ids = {message["message_id"] for message in self._ours.pages("/public/v2/messages", client)}
        for page in self._theirs.pages("emails"):
            fresh: list[tuple[Record, dict[str, Any]]] = []
            for record in (self._record("emails", value) for value in page):
                message = self._message(record)
                if record.id and message["message_id"] in message_ids:
                    counts.update(read=1, unchanged=1)
                elif self._is_new("emails", record):
                    message_ids.add(message["message_id"])
                    fresh.append((record, message))
            ids = self._contacts(client, [{"email": record.values["contact_email"].strip() or "-"} for record, _ in fresh])
            for (record, message), number in zip(fresh, ids, strict=True):
                self._store_email(client, record, message, number or self._contact_by_id(client, record.values["contact_id"], people))

    def _contacts(self, client: str, items: list[dict[str, str]]) -> list[int]:
        """Return the contacts here with these addresses; 0: none, -1: a dry run would have imported it."""
        if not items:
            return []
        matches = self._ours.get("POST", "/public/v2/contacts/match", {"items": items}, client)["data"]
        is_new = [(client, "contacts", *item.values()) in self._owners and self._options.dry_run for item in items]
        return [match.get("id") or -new for match, new in zip(matches, is_new, strict=True)]

    def _contact_by_id(self, client: str, number: str, people: dict[str, list[dict[str, str]]]) -> int:
        """Return the contact here with an address that their contact of this id has now."""
        if number and number not in people:
            contact = self._theirs.contact(number)
            people[number] = [{member: text} for member in KEYS["contacts"] if (text := text_of(contact.get(member)).strip())]
        return next(filter(None, self._contacts(client, people.get(number, []))), 0)

    def _message(self, record: Record) -> dict[str, Any]:
        """Return the message that an e-mail becomes; sets the record's fault if it can be none."""
        values, faults = record.values, [record.fault] if record.fault else []
        at, interested = values["email_timestamp"].strip(), values["interested"].strip().lower()
        direction = (DIRECTIONS | self._options.types).get(plain(values["email_type"]))
        if not at and values["updated_time"].strip():
            at = values["updated_time"].strip()
            self.notices["emails without email_timestamp; updated_time was taken"] += 1
        if not record.fault:
            faults += ["has no id, by which a second import knows it"] if not record.id else []
            faults += ["email_timestamp is missing"] if not at else []
            faults += ["interested is neither true nor false"] if interested not in ("", "true", "false") else []
            if not direction:
                word = values["email_type"].strip()[:40]
                faults.append(f"email_type {word!r} is not known; import again with --email-type '{word}=sent' or '{word}=reply'")
        record.fault = "; ".join(faults)
        message: dict[str, Any] = {"message_id": MESSAGE + record.id, "direction": direction, "occurred_at": at}
        message |= {"tool": values["origin"] or "import", "interested": {"true": True, "false": False}.get(interested)}
        for name, (member, most) in TEXTS.items():
            self.notices[f"emails of whose {name} only the first {most} characters were stored"] += len(values[name]) > most
            message[member] = values[name][:most] or None
        return message | {"custom_fields": record.custom}

    def _store_email(self, client: str, record: Record, message: dict[str, Any], contact: int) -> None:
        status, result = 201, None
        if contact and not self._options.dry_run:
            once = {"Idempotency-Key": f"{MESSAGE}{record.id}:{self._started}"}
            status, result = self._ours.send("POST", "/public/v2/messages", message | {"contact_id": contact}, client, headers=once)
        if not contact:
            self._refuse("emails", record, "its contact is not here: import the contact, then the e-mails again")
        elif status in (400, 413, 422):
            self._refuse("emails", record, reason(result))
        elif status >= 300 and status != 404:
            raise ImportStopped(f"an e-mail for the client {client} answered {status}: {reason(result)}")
        else:  # 404: a message that was deleted here stays deleted
            self.counts["emails", client]["deleted" if status == 404 else "created"] += 1


def arguments() -> argparse.Namespace:
    """Read the command line and the keys."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    add = parser.add_argument
    add("--revyops", required=True, metavar="URL", help="their address before /public, such as https://app.example.com")
    add("--touchbase", required=True, metavar="URL", help="the address of your Touchbase server")
    add("--workspace", default="", metavar="CLIENT", help="the key is of one workspace: import it into this client")
    add("--client", action="append", default=[], metavar="THEIR=OURS", help="the client for one of theirs; blank: leave it out")
    add("--only-mapped", action="store_true", help="leave out clients without a --client")
    add("--mode", choices=("upsert", "create"), default="upsert", help="create: existing records stay as they are")
    add("--emails", choices=("with", "only", "without"), default="with", help="with --workspace: e-mails after the records, or only them")
    add("--email-type", action="append", default=[], metavar="WORD=DIRECTION", help="direction of an email_type: sent or reply")
    add("--page-size", type=int, choices=range(1, 101), default=100, metavar="1-100", help="records of one request")
    add("--report", default="revyops-refused.csv", metavar="FILE", help="where records and cells that were not imported are listed")
    add("--dry-run", action="store_true", help="count, and write nothing")
    add("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    options.clients, options.types = {}, {}
    options.theirs_key, options.our_key = keys = [os.environ.get(name, "").strip() for name in ("TOUCHBASE_REVYOPS_KEY", "TOUCHBASE_KEY")]
    if not keys[0] or any(not key.isascii() or len(key.split()) > 1 for key in keys):
        parser.error("set TOUCHBASE_REVYOPS_KEY to their key and TOUCHBASE_KEY to yours: each one word of ASCII characters")
    for pair in options.client:
        theirs, mark, ours = (part.strip() for part in pair.rpartition("="))
        if not mark or not theirs or theirs in options.clients:
            parser.error(f"--client {pair!r} must be THEIR=OURS, each of theirs once")
        options.clients[theirs] = ours
    for pair in options.email_type:
        word, _, direction = pair.rpartition("=")
        if not word or direction not in ("sent", "reply"):
            parser.error(f"--email-type {pair!r} must be WORD=sent or WORD=reply, such as 'OUT_MAIL=sent'")
        options.types[plain(word)] = DIRECTIONS[direction]
    if options.workspace and (options.clients or options.only_mapped):
        parser.error("--workspace names the client of all records: leave out --client and --only-mapped")
    if options.emails == "only" and not options.workspace:
        parser.error("--emails only needs --workspace CLIENT and the key of that workspace: a master key reads no e-mails")
    return options


def main() -> int:
    """Import; return the exit status: 1 if something was not imported, 130 if stopped."""
    options, error = arguments(), ""
    theirs = Api("--revyops", options.revyops, {"x-api-key": options.theirs_key, "accept": "application/json"})
    ours = Api("--touchbase", options.touchbase, {"Authorization": f"Bearer {options.our_key}"} if options.our_key else {})
    reader = RevyOps(theirs, options)
    run = Import(reader, ours, options)
    try:
        run.run()
    except ImportStopped as stopped:
        error = f"Error: {stopped}"
    except KeyboardInterrupt:
        error = "stopped; the same command goes on"
    print_result(run, [*reader.incomplete, *([error] if error else [])], options)
    if error.startswith("stopped"):
        return 130
    return 1 if error or reader.incomplete or any(count["refused"] + count["duplicates"] for count in run.counts.values()) else 0


def print_result(run: Import, faults: list[str], options: argparse.Namespace) -> None:
    """Print counts and notices, and write the report of the refused records, for its owner only."""
    rows = [
        {"theirs": theirs, "list": name, **{word: count[word] for word in COUNTS}, "client": run.clients.get(theirs) or ""}
        for (name, theirs), count in run.counts.items()
    ]
    notices = {text: times for text, times in run.notices.most_common() if times}
    if options.json:
        print(json.dumps({"clients": rows, "added": run.added, "notices": notices, "faults": faults}, indent=2))
    else:
        shown = ["theirs", "list", *(word for word in COUNTS if word in COUNTS[:4] or any(row[word] for row in rows)), "client"]
        table = [[word.upper() for word in shown], *([str(row[word]) for word in shown] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for line in table:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    lines = [f"client {ours or '(new)'} {'is' if ours else 'would be'} added for {theirs}" for theirs, ours in run.added.items()]
    lines += [f"{times} x {text}" for text, times in notices.items()]
    if run.refused:
        with os.fdopen(os.open(options.report, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("client", "list", "id", "address", "reason"))
            for row in run.refused:  # a cell that begins like a formula would be one in a spreadsheet
                writer.writerow("'" + cell if cell.startswith(("=", "+", "-", "@")) else cell for cell in row)
        lines.append(f"see {options.report}")
    print("\n".join([*lines, *faults]), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
