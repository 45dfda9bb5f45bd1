"""Every `POST` of the description documents `Idempotency-Key` and honours it; the webhooks do neither."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient

from touchbase.routes import description
from touchbase.sql.store import Store

PATHS = description("1", keys_needed=False)["paths"]
POSTS: dict[str, dict[str, Any]] = {path: item["post"] for path, item in PATHS.items() if "post" in item}
LOOKUPS = {path for path in POSTS if path.endswith(("/match", "/search", "/preview"))}
"""They store nothing, and take no key."""
WEBHOOKS = {"/public/emailcampaign-webhook/{client_id}", "/public/crm-webhook/{client_id}"}
HONOURING = sorted(POSTS.keys() - WEBHOOKS - LOOKUPS)


@pytest.fixture
def call(memory: Store, make_client: MakeClient) -> ApiClient:
    return make_client(memory)


def headers_of(post: dict[str, Any]) -> set[str]:
    return {parameter["name"] for parameter in post["parameters"] if parameter["in"] == "header"}


@pytest.mark.parametrize("path", HONOURING)
def test_post_route__documents_the_idempotency_key_and_its_responses(path: str) -> None:
    post = POSTS[path]

    good = [answer for status, answer in post["responses"].items() if status.startswith("2")]
    assert "Idempotency-Key" in headers_of(post)
    assert {"409", "422"} <= post["responses"].keys()
    assert good
    assert all("Idempotency-Replayed" in answer["headers"] for answer in good)


@pytest.mark.parametrize("path", HONOURING)
async def test_post_route__checks_the_idempotency_key(call: ApiClient, path: str) -> None:
    """A route that was not wrapped in `once` would not look at the header, and so not refuse this one."""
    reply = await call.post(re.sub(r"\{\w+\}", "1", path), {}, idempotency_key="no key")

    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, "Idempotency-Key"), f"wrap the handler of {path} in once()"


@pytest.mark.parametrize("path", sorted(WEBHOOKS))
async def test_webhook_route__neither_documents_nor_checks_the_idempotency_key(call: ApiClient, path: str) -> None:
    reply = await call.post(path.replace("{client_id}", "abc"), {}, idempotency_key="no key")

    assert "Idempotency-Key" not in headers_of(POSTS[path])
    assert reply.status == 200


@pytest.mark.parametrize("key", ["abc", '"abc"', "x" * 255, f'"{"x" * 255}"', "!#$%&'()*+,-./:;<=>?@[]^_`{|}~"])
@pytest.mark.parametrize("taken", [True, False])
async def test_documented_pattern__matches_exactly_the_accepted_keys(call: ApiClient, key: str, taken: bool) -> None:
    if not taken:
        key = f"{key} x"
    pattern = next(parameter for parameter in POSTS["/public/v2/contacts"]["parameters"] if parameter["name"] == "Idempotency-Key")[
        "schema"
    ]["pattern"]

    reply = await call.post("/public/v2/contacts", {"first_name": "Jane"}, idempotency_key=key)

    assert (re.search(pattern, key) is not None) == taken
    assert (reply.status == 201) == taken
