"""Copper: asking for people, leads and companies, many at once.

Reference: developer.copper.com, list people (search) by `ids`, and requests (read 2026-11-20); leads and companies are
searched in the same way. Copper wants to know whose token it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.adapters.kit.crm import UPDATED, Item, Shape
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.fetch import ApiFetcher, Asked
from touchbase.adapters.kit.reading import text
from touchbase.adapters.kit.times import when
from touchbase.domain.events import Event
from touchbase.domain.fetching import ApiCall, kind_and_word

_PLACES = {"person": "people", "lead": "leads", "company": "companies"}


def _make(asked: Asked) -> ApiCall | None:
    if asked.word not in _PLACES or not all(one.isascii() and one.isdecimal() for one in asked.ids):
        return None
    headers = {
        "x-pw-accesstoken": asked.connection.access_token,
        "x-pw-application": "developer_api",
        "x-pw-useremail": asked.connection.settings.api_user or "",
    }
    body = {"ids": [int(one) for one in asked.ids], "page_size": len(asked.ids)}
    return asked.post(f"/developer_api/v1/{_PLACES[asked.word]}/search", headers, body)


FETCHER = ApiFetcher("https://api.copper.com", 100, 60, _make, as_list, needs=("api_user",))


def read_fetched(body: Body, object_type: str, statuses: tuple[str, ...], shapes: Mapping[str, Shape]) -> list[Event]:
    """One record of an answer; custom fields stand in it as they do in a call, `custom_fields.990`."""
    word = kind_and_word(object_type)[1]
    custom = {f"custom_fields.{text(one.get('custom_field_definition_id'))}": one.get("value") for one in _customs(body)}
    at = when(body.get("date_modified"))
    return Item(shapes[word], UPDATED, word, text(body.get("id")), "fetched", at, record={**body, **custom}, status=statuses).events()


def _customs(body: Body) -> list[Body]:
    return [as_dict(one) for one in as_list(body.get("custom_fields"))]
