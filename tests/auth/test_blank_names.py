"""Names that people choose: each shows something."""

from __future__ import annotations

from typing import Any

import pytest
from tests.auth.test_people import INVITATIONS, SECRET, USERS, Browser, Office, office, quick_passwords

from touchbase.common.field_limits import is_blank

__all__ = ["office", "quick_passwords"]
SETTINGS = "/admin/v1/clients/ours"
NAMED: dict[str, tuple[str, str, Any, str]] = {
    "snippet": ("POST", "/team/v1/snippets", lambda name: {"name": name, "text": "Hello"}, "/name"),
    "text of a snippet": ("POST", "/team/v1/snippets", lambda name: {"name": "a", "text": name}, "/text"),
    "key": ("POST", "/admin/v1/keys", lambda name: {"name": name, "scopes": ["records:read"]}, "/name"),
    "client": ("POST", "/admin/v1/clients", lambda name: {"name": name}, "/name"),
    "another name of a client": ("PATCH", SETTINGS, lambda name: {"name": name}, "/name"),
    "custom field": ("POST", "/public/v2/custom-fields/contacts", lambda name: {"name": name}, "/name"),
    "custom field in the settings": (
        "PUT", SETTINGS, lambda name: {"settings": {"contact_fields": {name: {"type": "text"}}}}, "/settings/contact_fields",
    ),
    "status in the settings": (
        "PUT", SETTINGS, lambda name: {"settings": {"contact_statuses": {"statuses": [name]}}}, "/settings/contact_statuses/statuses/0",
    ),
    "status": ("POST", "/public/v2/statuses/contacts", lambda name: {"name": name, "start_set": True}, "/name"),
    "status of the team": (
        "PUT", "/team/v1/statuses", lambda name: {"data": [{"name": name}]}, "/data/0/name"),
    "label of a status": ("PUT", "/team/v1/statuses", lambda name: {"data": [{"name": "new", "label": name}]}, "/data/0/label"),
    "person": ("PATCH", f"{USERS}/USER", lambda name: {"name": name}, "/name"),
    "invited person": ("POST", INVITATIONS, lambda name: {"email": "ben@example.com", "role": "viewer", "name": name}, "/name"),
    "person who joins": ("POST", f"{INVITATIONS}/accept", lambda name: {"link": "x", "password": SECRET, "name": name}, "/name"),
    "personal key": ("POST", "/team/v1/keys", lambda name: {"name": name, "scopes": ["records:read"]}, "/name"),
}  # fmt: skip
"""By what is named, a request with the name, and the pointer of its error."""


@pytest.mark.parametrize("named", NAMED)
async def test_name_that_shows_nothing__is_refused(office: Office, named: str, subtests: pytest.Subtests) -> None:
    mira = await office.join("mira@example.com", role="admin")
    method, path, body, pointer = NAMED[named]
    call = mira if named == "personal key" else Browser(office.call) if named == "person who joins" else office
    for name in ("\u200b", " \u00a0\u2060", "\u3164"):
        with subtests.test(name=ascii(name)):
            reply = await call(method, path.replace("USER", mira.user["id"]), body(name), x_client_id="ours")
            assert (reply.status, [error["pointer"] for error in reply.json().get("errors", [])]) == (422, [pointer]), reply.body


@pytest.mark.parametrize("text", ["a", "\u05d0", "\U0001f468\u200d\U0001f469", "\u0301", "\u06f1", "-"])
def test_text_with_a_visible_character__is_not_blank(text: str) -> None:
    assert not is_blank(f"\u200b{text} ")
