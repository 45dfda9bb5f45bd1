"""Notion: webhooks of a connection, pages that an automation sends, and fetching pages.

Reference: developers.notion.com, webhooks and event types. A webhook names a page and its parent, and has no values. Rows are pages whose
parent is a database or a data source; a column tells by its type, whatever its name, what it holds.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter, chosen_kind
from touchbase.adapters.kit.crm_values import as_dict, as_list, query_parameter
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget, build_path
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.adapters.kit.times import parse_time
from touchbase.connections.models import IGNORE
from touchbase.connections.tools import ApiRequest, Fetcher
from touchbase.history.events import Event

_PAGE = "page"
_TITLE = "title"
_COMPANY_COLUMNS = ("Company", "Account", "Organization", "Organisation", "Employer")
SHAPES = {
    CONTACT: RecordShape(
        CONTACT, email=("email", "Email", "E-mail"), first_name=("First name", "First Name"), last_name=("Last name", "Last Name"),
        full_name=(_TITLE,), linkedin=("linkedin",), employer=_COMPANY_COLUMNS, employer_type=_PAGE, useful=None,
    ),
    COMPANY: RecordShape(COMPANY, domain=("Website", "Domain", "url"), company=(_TITLE,), useful=None),
}  # fmt: skip
_ACTIONS = {
    "page.created": CREATED, "page.properties_updated": UPDATED, "page.moved": UPDATED, "page.undeleted": UPDATED, "page.deleted": DELETED,
}  # fmt: skip
_PARENT_IDS = ("data_source_id", "database_id", "id")
_BY_TYPE = {"email": "email", "phone_number": "phone", "title": _TITLE}
"""Where the first column of a type is put; further ones keep their names."""


def _make(target: FetchTarget) -> ApiRequest | None:
    return target.get(build_path("v1", "pages", target.ids[0]), {**target.bearer(), "notion-version": "2025-09-03"})


class Notion(CrmAdapter):
    """Reads Notion's webhooks, and pages."""

    tool = "notion"
    detection_keys = frozenset({"entity", "verification_token", "properties", "data", "x-notion-signature"})
    signature_schemes = (hmac_body("x-notion-signature", prefix="sha256="),)
    fetcher: ClassVar[Fetcher | None] = ApiFetcher("https://api.notion.com", 1, 120, _make, lambda page: [page])
    status: ClassVar[tuple[str, ...]] = ("Status", "Stage")

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the entity and the subscription of each event, or the members of a page."""
        if body.keys() >= {"entity", "subscription_id", "integration_id"} or body.keys() == {"verification_token"}:
            return 100
        return 95 if _page(body) is not None else 70 if "x-notion-signature" in webhook.headers else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the event of a row, whose values are fetched later, or of a whole page."""
        if "verification_token" in body:
            return [other_event("handshake", "verification_token")]
        if (page := _page(body)) is not None:
            kind = _kind(as_dict(page.get("parent")), webhook)
            return [other_event("ignored", None, _PAGE, text(page.get("id")))] if kind == IGNORE else self._page_events(page, kind, webhook)
        name, number, parent = text(body.get("type")), text(dig(body, "entity", "id")), as_dict(dig(body, "data", "parent"))
        kind = _kind(parent, webhook)
        # A page below a page or a workspace is no row of a table.
        is_row = parent.get("type") not in (_PAGE, "space", "workspace", "block")
        if name is None or name not in _ACTIONS or not is_row or kind == IGNORE:
            return [other_event("ignored" if name else "unrecognised", name, text(dig(body, "entity", "type")), number)]
        at, key = parse_time(body.get("timestamp")), text(body.get("id"))
        item = CrmItem(SHAPES[kind], _ACTIONS[name], _PAGE, number, name, at, key, thin=True)
        item.restored = name == "page.undeleted"
        return item.events()

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched page."""
        return self._page_events(body, kind, webhook, "fetched")

    def _page_events(self, page: Body, kind: str, webhook: ParsedWebhook, source: str | None = None) -> list[Event]:
        what = DELETED if page.get("in_trash") is True or page.get("archived") is True else UPDATED
        item = CrmItem(SHAPES[kind], what, _PAGE, text(page.get("id")), source, parse_time(page.get("last_edited_time")))
        item.record, item.status = _row(as_dict(page.get("properties"))), self.statuses(webhook, kind, _PAGE)
        return item.events()


def _page(body: Body) -> Body | None:
    """Return the whole page in a body: the body itself, or the properties beside an automation's `source`."""
    pages = (page for page in (body, as_dict(body.get("data"))) if page.get("object") == _PAGE and isinstance(page.get("properties"), dict))
    return next(pages, None)


def _kind(parent: Body, webhook: ParsedWebhook) -> str:
    """Return the kind of a table's rows: the client's choice by the id of its database or data source, else the address's, else contact."""
    chosen = (chosen_kind(webhook, text(parent.get(name))) for name in _PARENT_IDS)
    kind = next(filter(None, chosen), None) or query_parameter(webhook.request.query, "object")
    return kind if kind in (COMPANY, IGNORE) else CONTACT


def _row(columns: Body) -> Body:
    row: Body = {}
    by_type: Body = {}
    for name, cell in columns.items():
        column = as_dict(cell)
        kind = text(column.get("type")) or ""
        value = _plain(kind, column.get(kind))
        ours = "linkedin" if kind == "url" and "linkedin.com/" in (text(value) or "") else "url" if kind == "url" else _BY_TYPE.get(kind)
        if kind == "relation" and name not in _COMPANY_COLUMNS:
            continue
        row[name] = value
        if ours is not None and ours not in by_type and value is not None:
            by_type[ours] = value
            if ours != "url":
                del row[name]
    return row | by_type


def _plain(kind: str, value: object) -> object:
    """Return a cell's value: parts of a text joined, the name of a choice or a person, several with commas; a relation as it is."""
    if kind == "relation":
        return as_list(value) or None
    if kind in ("formula", "rollup"):
        inner = text(dig(value, "type")) or ""
        return None if inner in ("formula", "rollup") else _plain(inner, as_dict(value).get(inner))
    if isinstance(value, list):
        parts = [part for item in value if isinstance(part := first(item, "plain_text", "name"), str)]
        return ("" if kind in ("title", "rich_text") else ", ").join(parts) or None
    return first(value, "name", "start", "email") if isinstance(value, dict) else value


ADAPTER = Notion()
