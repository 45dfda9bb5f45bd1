"""Copper: fetching people, leads and companies, many per request.

Reference: developer.copper.com, list people (search) by `ids`, and requests (read 2026-11-20); leads and companies are
searched in the same way. A request must name the token's user.
"""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.adapters.kit.crm import UPDATED, CrmItem, RecordShape
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget
from touchbase.adapters.kit.linkedin import with_linkedin_of_fields
from touchbase.adapters.kit.times import parse_time
from touchbase.connections.tools import ApiRequest
from touchbase.history.events import Event

_OF_ALL = frozenset({"interaction_count", "assignee_id", "date_created", "custom_fields"})
_PLACES = {"person": "people", "lead": "leads", "company": "companies"}


def _make(target: FetchTarget) -> ApiRequest | None:
    if target.word not in _PLACES or not all(object_id.isascii() and object_id.isdecimal() for object_id in target.ids):
        return None
    headers = {
        "x-pw-accesstoken": target.connection.access_token,
        "x-pw-application": "developer_api",
        "x-pw-useremail": target.connection.settings.api_user or "",
    }
    body = {"ids": [int(object_id) for object_id in target.ids], "page_size": len(target.ids)}
    return target.post(f"/developer_api/v1/{_PLACES[target.word]}/search", headers, body)


FETCHER = ApiFetcher("https://api.copper.com", 100, 60, _make, as_list, needs=("api_user",))


def word_of(body: Body) -> str | None:
    """Return the type of a record, which does not name it, by fields that the other types lack; None for other bodies."""
    if "id" not in body or "date_modified" not in body or _OF_ALL.isdisjoint(body):
        return None
    if "email_domain" in body:
        return "company"
    if "emails" in body:
        return "person"
    return "lead" if isinstance(body.get("email"), dict) else None


def read_record(body: Body, word: str, statuses: tuple[str, ...], shapes: Mapping[str, RecordShape], source: str | None) -> list[Event]:
    """Read one record; custom fields get the same names as in a webhook, `custom_fields.990`."""
    custom = {f"custom_fields.{text(custom.get('custom_field_definition_id'))}": custom.get("value") for custom in _customs(body)}
    at = parse_time(body.get("date_modified"))
    record = with_linkedin_of_fields({**body, **custom}, lambda name: name.startswith("custom_fields."))
    return CrmItem(shapes[word], UPDATED, word, text(body.get("id")), source, at, record=record, status=statuses).events()


def _customs(body: Body) -> list[Body]:
    return [as_dict(field) for field in as_list(body.get("custom_fields"))]
