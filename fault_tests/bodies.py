"""Hostile bodies: each is small, and each cost a server seconds or hundreds of megabytes before its work had a budget."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

MIB = 1_048_576
WEBHOOK, API, MCP, SIGN_IN, IMPORT, TOOL, LOAD = "webhook", "api", "mcp", "sign_in", "import", "tool", "load"
"""Where a body is sent: to a receiving address, a path of the API, the tools for agents, the console's sign-in, or as a file to import;
or it is what a tool's API answers to the server that fetches a record, or loads the tool's history."""


@dataclass(frozen=True, slots=True)
class HostileBody:
    """A request with a body, and what has to be done for its cost to show."""

    name: str
    way: str
    path: str
    """With `{client}` for the client's id."""
    build: Callable[[], bytes]
    headers: Mapping[str, str] = field(default_factory=dict)
    is_packed: bool = True
    """Whether it is sent with gzip."""
    secret: str = ""
    """The secret that the client's Smartlead connection has to have; empty: none."""
    is_proven: bool = True
    """Whether it brings the secret; without it the webhook is refused."""
    endless: bytes = b""
    """What a tool sends after the body until the server closes the connection."""
    then: str = ""
    """What follows once the body is applied: `erase` anybody in the client, `search` its inbox, or read the `history` of a person,
    or `explain` it."""

    def sent(self) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body as they are sent."""
        headers, body = {"content-type": "application/json", **self.headers}, self.build()
        return (headers | {"content-encoding": "gzip"}, gzip.compress(body)) if self.is_packed else (headers, body)


MAILS, CRM = "/public/emailcampaign-webhook/{client}", "/public/crm-webhook/{client}"
V2 = "/public/v2"
LOADED = "/admin/v1/clients/{client}/connections/email_campaign/instantly/load"


def _json(value: object) -> bytes:
    return msgspec.json.encode(value)


def _reply(**members: str) -> bytes:
    event = {
        "event_type": "reply_received",
        "lead_email": "ann@example.com",
        "timestamp": "2026-11-20T09:30:00Z",
        "email_account": "a@our.example",
    }
    return _json(event | members)


def reply_with_unclosed_tags() -> bytes:
    """HTML of 20,000 tags without an end: quadratic in `html.parser`."""
    return _reply(reply_html="<a " * 20_000)


def reply_with_many_tags() -> bytes:
    """HTML as long as a message may be, of the densest tags."""
    return _reply(reply_html="<a>" * 66_000)


def many_replies_with_html() -> bytes:
    """A list of replies with 8 MiB of HTML."""
    return _json([{"event_type": "reply_received", "lead_email": f"p{n}@example.com", "reply_html": "<a>" * 66_000} for n in range(40)])


def message_with_unclosed_tags() -> bytes:
    """The same through the API."""
    return _json({"direction": "received", "contact_email": "ann@example.com", "html": "<a " * 66_000})


def percent_encoded_letters() -> bytes:
    """8 MiB of percent-encoded letters, which an erasure and a search of the inbox have to decode."""
    return b'{"a": "%b"}' % (b"%41" * (8 * MIB // 3 - 10))


def character_references() -> bytes:
    """8 MiB of character references of HTML."""
    return b'{"a": "%b"}' % (b"&#65;" * (8 * MIB // 5 - 10))


def many_addresses() -> bytes:
    """More addresses than a scan tries."""
    return b" ".join(b"p%d@example.com" % number for number in range(300_000))


def letters_of_a_secret() -> bytes:
    """A body of one letter, for a connection whose secret is that letter 500 times."""
    return b'{"text": "%b"}' % (b"a" * 100_000)


def escapes_for_a_redaction() -> bytes:
    """8 MiB of escapes, in which a secret has to be found."""
    return b'{"text": "%b"}' % (b"%61" * (8 * MIB // 3 - 10))


def deep_lists() -> bytes:
    """8 MiB of nested lists."""
    return b"[" * (4 * MIB) + b"]" * (4 * MIB)


def many_objects() -> bytes:
    """Eight million bytes of empty objects."""
    return b"[" + b"{}," * (8 * MIB // 3) + b"{}]"


def xml_of_one_element() -> bytes:
    """A megabyte of one XML element, as often as objects may be in a body."""
    return b"<a>%b</a>" % (b'<b c="1"/>' * 99_990)


def _partner(length: int, letter: str, minute: int) -> bytes:
    fields = {f"x_field_{number}": letter * length for number in range(900)}
    about = {"_model": "res.partner", "_id": 1, "email": "wide@example.com", "write_date": f"2026-11-20 09:{minute:02}:00"}
    return _json(about | fields)


def record_with_large_fields() -> bytes:
    """A partner of Odoo with 900 custom fields of 9,990 letters."""
    return _partner(9_990, "x", 0)


STATES = 20


def state_of_a_wide_record(number: int = 0) -> bytes:
    """One of 20 states of a partner of Odoo with 900 custom fields, whose history has 18,000 values of 250 letters."""
    return _partner(250, chr(65 + number), number)


def contact_with_folding_letters() -> bytes:
    """40 fields of a letter that folds to 18."""
    fields = {f"field_{number}": "\ufdfa" * 2_000 for number in range(40)}
    inputs = [{"field_name": name, "field_value": value} for name, value in fields.items()]
    return _json({"email": "folded@example.com", "contact_custom_fields_input": inputs})


def session_of_small_objects() -> bytes:
    """A sign-in whose key is a list of objects."""
    return b'{"key":[%b{"a":0}]}' % (b'{"a":0},' * 130_000)


def batch_of_numbers() -> bytes:
    """16 MiB of commands that are none."""
    return b'{"commands":[%b1]}' % (b"1," * (8 * MIB - 100))


def where_with_unknown_names() -> bytes:
    """A filter of 30,000 names, each of which a suggestion was searched for."""
    return _json({"where": {f"emial_address_{number}": "x" for number in range(30_000)}})


def where_with_numbers() -> bytes:
    """A filter of numbers, each of which was answered with a fault."""
    return _json({"where": {"any": [1] * 200_000}})


def where_with_empty_objects() -> bytes:
    """A filter of empty objects."""
    return _json({"where": {"any": [{}] * 1_000}})


def find_with_unknown_names() -> bytes:
    """The filter of unknown names through the tools for agents."""
    where = msgspec.json.decode(where_with_unknown_names())["where"]
    call = {"name": "find", "arguments": {"where": where}}
    return _json({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})


def endpoint_with_unknown_types() -> bytes:
    """An endpoint that wants 30,000 unknown events."""
    return _json({"url": "https://receiver.example.com/", "types": [f"contakt.craeted_{number}" for number in range(30_000)]})


def endpoint_with_unknown_filter() -> bytes:
    """An endpoint whose filter is on 30,000 unknown fields."""
    where = msgspec.json.decode(where_with_unknown_names())["where"]
    return _json({"url": "https://receiver.example.com/", "filter": where})


def endpoint_with_unknown_values() -> bytes:
    """An endpoint whose template is full of unknown values."""
    template = "".join(f"{{{{contakt.{number}}}}}" for number in range(170))
    return _json({"kind": "slack", "url": "https://hooks.slack.example/services/T0/B0/x", "template": template})


def contact_with_unknown_members() -> bytes:
    """A contact of 30,000 unknown fields."""
    return _json({"email": "new@example.com"} | {f"frist_name_{number}": "x" for number in range(30_000)})


def parquet_of_one_long_text() -> bytes:
    """200 rows that name one text of 1 MB, with a dictionary."""
    import pyarrow  # noqa: PLC0415 (an extra, and slow to import)
    from pyarrow import parquet  # noqa: PLC0415

    file = io.BytesIO()
    column = pyarrow.array(["x" * 1_000_000] * 200).dictionary_encode()
    parquet.write_table(pyarrow.table({"email": column}), file, compression="zstd")
    return file.getvalue()


_SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
_PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
    '<sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" '
    'Target="worksheets/sheet1.xml"/><Relationship Id="r2" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
}


def _workbook(sheet: str, shared: str) -> bytes:
    file = io.BytesIO()
    strings = f'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>{shared}</t></si></sst>'
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (_PARTS | {"xl/sharedStrings.xml": strings, "xl/worksheets/sheet1.xml": sheet}).items():
            archive.writestr(name, text)
    return file.getvalue()


def workbook_of_one_long_text() -> bytes:
    """3,000 cells that name one shared text of 100 KB."""
    return _workbook(_SHEET.format("".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, 3_001))), "x" * 100_000)


def workbook_of_unclosed_cells() -> bytes:
    """A sheet of cells whose tags have no end."""
    return _workbook(_SHEET.format('<c r="AA1" ' * 400_000), "x")


def archive_of_many_parts() -> bytes:
    """A directory of 150,000 parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(150_000):
            archive.writestr(str(number), b"")
    return file.getvalue()


def _answer(headers: str) -> Callable[[], bytes]:
    return f"HTTP/1.1 200 OK\r\nconnection: close\r\n{headers}".encode


def record_of_escapes() -> bytes:
    """A response with 30 MiB of percent-encoded letters, in which the access token has to be found."""
    record = b'{"results":[{"id":"1","properties":{"email":"ann@example.com","note":"%b"}}]}' % (b"%61" * (10 * MIB))
    body = gzip.compress(record)
    return _answer(f"content-encoding: gzip\r\ncontent-length: {len(body)}\r\n\r\n")() + body


def _page(body: bytes) -> bytes:
    return _answer(f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n")() + body


def page_of_a_lead_with_many_objects() -> bytes:
    """A page of a tool's history with one lead of 1.3 million lists."""
    return _page(b'{"items":[{"email":"ann@example.com","payload":[%b[]]}]}' % (b"[]," * (5 * MIB // 4)))


def page_of_leads_that_repeat() -> bytes:
    """A page of ten thousand rows that say nothing, and that another page follows."""
    return _page(b'{"items":[%b{}],"next_starting_after":"again"}' % (b"{}," * 9_999))


def page_of_deep_lists() -> bytes:
    """A page of nested lists."""
    return _page(deep_lists()[: 7 * MIB])


def csv_of_one_long_line() -> bytes:
    """8 MiB of commas: one row of eight million columns."""
    return b"," * (8 * MIB)


_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
XLSX: dict[str, Any] = {"headers": {"content-type": _SHEET_TYPE}, "is_packed": False}
PARQUET: dict[str, Any] = {"headers": {"content-type": "application/vnd.apache.parquet"}, "is_packed": False}
BODIES = (
    HostileBody("reply with unclosed tags", WEBHOOK, MAILS, reply_with_unclosed_tags),
    HostileBody("reply with many tags", WEBHOOK, MAILS, reply_with_many_tags),
    HostileBody("many replies with HTML", WEBHOOK, MAILS, many_replies_with_html),
    HostileBody("message with unclosed tags", API, f"{V2}/messages", message_with_unclosed_tags),
    HostileBody("percent-encoded letters, erasure", WEBHOOK, CRM, percent_encoded_letters, then="erase"),
    HostileBody("percent-encoded letters, search", WEBHOOK, CRM, percent_encoded_letters, then="search"),
    HostileBody("character references, erasure", WEBHOOK, CRM, character_references, then="erase"),
    HostileBody("many addresses, erasure", WEBHOOK, CRM, many_addresses, then="erase"),
    HostileBody("letters of a secret", WEBHOOK, MAILS, letters_of_a_secret, secret="a" * 500),
    HostileBody("escapes for a redaction", WEBHOOK, MAILS, escapes_for_a_redaction, secret="a-secret-of-ours"),
    HostileBody("deep lists", WEBHOOK, CRM, deep_lists, secret="a-secret-of-ours", is_proven=False),
    HostileBody("many objects", WEBHOOK, CRM, many_objects, secret="a-secret-of-ours", is_proven=False),
    HostileBody("XML of one element", WEBHOOK, CRM, xml_of_one_element, {"content-type": "application/xml"}),
    HostileBody("record with large fields", WEBHOOK, CRM, record_with_large_fields),
    HostileBody("record with a wide history", WEBHOOK, CRM, state_of_a_wide_record, then="history"),
    HostileBody("record with a wide history, explained", WEBHOOK, CRM, state_of_a_wide_record, then="explain"),
    HostileBody("contact with folding letters", API, f"{V2}/contacts", contact_with_folding_letters),
    HostileBody("session of small objects", SIGN_IN, "/console/session", session_of_small_objects, {"x-touchbase-console": "1"}),
    HostileBody("deep session", SIGN_IN, "/console/session", deep_lists, {"x-touchbase-console": "1"}),
    HostileBody("batch of numbers", API, f"{V2}/contacts/batch", batch_of_numbers),
    HostileBody("filter of unknown names", API, f"{V2}/contacts/search", where_with_unknown_names),
    HostileBody("filter of numbers", API, f"{V2}/contacts/search", where_with_numbers),
    HostileBody("filter of empty objects", API, f"{V2}/contacts/search", where_with_empty_objects),
    HostileBody("find with unknown names", MCP, "/mcp", find_with_unknown_names),
    HostileBody("endpoint with unknown types", API, f"{V2}/webhook-endpoints", endpoint_with_unknown_types),
    HostileBody("endpoint with unknown filter", API, f"{V2}/webhook-endpoints", endpoint_with_unknown_filter),
    HostileBody("endpoint with unknown values", API, f"{V2}/webhook-endpoints", endpoint_with_unknown_values),
    HostileBody("contact with unknown members", API, f"{V2}/contacts", contact_with_unknown_members),
    HostileBody("Parquet of one long text", IMPORT, f"{V2}/contacts/imports", parquet_of_one_long_text, **PARQUET),
    HostileBody("workbook of one long text", IMPORT, f"{V2}/contacts/imports", workbook_of_one_long_text, **XLSX),
    HostileBody("workbook of unclosed cells", IMPORT, f"{V2}/contacts/imports", workbook_of_unclosed_cells, **XLSX),
    HostileBody("archive of many parts", IMPORT, f"{V2}/contacts/imports", archive_of_many_parts, **XLSX),
    HostileBody(
        "tool's response in chunks of one byte", TOOL, CRM, _answer("transfer-encoding: chunked\r\n\r\n"), endless=b"1\r\na\r\n" * 10_000
    ),
    HostileBody("tool's response without an end of its head", TOOL, CRM, _answer(""), endless=b"x-a: b\r\n" * 10_000),
    HostileBody("tool's interim responses", TOOL, CRM, lambda: b"", endless=b"HTTP/1.1 102 Processing\r\n\r\n" * 3_000),
    HostileBody("tool's record of escapes", TOOL, CRM, record_of_escapes),
    HostileBody("tool's record of deep lists", TOOL, CRM, page_of_deep_lists),
    HostileBody("page of a lead with many objects", LOAD, LOADED, page_of_a_lead_with_many_objects),
    HostileBody("page of leads that repeat", LOAD, LOADED, page_of_leads_that_repeat),
    HostileBody("page of deep lists", LOAD, LOADED, page_of_deep_lists),
    HostileBody(
        "CSV of one long line", IMPORT, f"{V2}/contacts/imports", csv_of_one_long_line, {"content-type": "text/csv"}, is_packed=False
    ),
)
