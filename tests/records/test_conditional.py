"""If-None-Match on records and lists: 304 as long as nothing has changed."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient

CONTACTS, COMPANIES = "/public/v2/contacts", "/public/v2/companies"
TARGETS = [f"{CONTACTS}/1", f"{CONTACTS}/1?structure=FLAT", f"{COMPANIES}/1", CONTACTS, f"{CONTACTS}?email=jane@example.com", COMPANIES]


@pytest.mark.parametrize("target", TARGETS)
async def test_get__with_a_known_etag_is_304_until_something_changes(call: ApiClient, target: str) -> None:
    await call.post(CONTACTS, {"email": "jane@example.com"})
    await call.post(COMPANIES, {"domain": "example.com"})
    first = await call.get(target)
    tag = first.headers["etag"]

    same = [await call.get(target, if_none_match=given_tag) for given_tag in (tag, f'"other", W/{tag}', "*")]
    head = await call("HEAD", target, if_none_match=tag)
    other_response = await call.get(target, if_none_match='"other"')
    call.clock.move(5)
    await call.patch(f"{CONTACTS}/1", {"first_name": "Jane"})
    await call.patch(f"{COMPANIES}/1", {"name": "Example"})
    changed = await call.get(target, if_none_match=tag)

    for reply in (*same, head):
        assert (reply.status, reply.body, reply.headers["etag"]) == (304, b"", tag)
        assert reply.headers.keys().isdisjoint({"content-type", "content-length"})
    assert (other_response.status, other_response.body) == (200, first.body)
    assert (changed.status, changed.headers["etag"] != tag) == (200, True)


async def test_get__with_an_etag_of_the_other_structure_is_200(call: ApiClient) -> None:
    await call.post(CONTACTS, {"email": "jane@example.com"})
    nested = (await call.get(f"{CONTACTS}/1")).headers["etag"]

    assert (await call.get(f"{CONTACTS}/1?structure=FLAT", if_none_match=nested)).status == 200
    assert (await call.get(f"{CONTACTS}/9", if_none_match="*")).status == 404
