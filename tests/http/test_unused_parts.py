"""No route ignores a part of a request: a body that it does not take, an unknown parameter, a condition."""

from __future__ import annotations

import gzip
import re

import pytest
from tests.asgi_client import ApiClient

from touchbase.http.routing import Route
from touchbase.routes import ROUTES

STATUS: dict[str, dict[str, str]] = {"": {"name": "Won"}, "/merge": {"into": "Won"}}
NAMED = {"client_id": "default", "channel": "crm", "tool": "hubspot", "name": "replied"}
BODIES = {f"/public/v2/statuses/{kind}/{{name}}{end}": body for kind in ("contacts", "companies") for end, body in STATUS.items()}
LENIENT = re.compile(r".*/pushes|(GET|PATCH|PUT) /public/v2/(contacts|companies)/{id}|POST /public/v2/(contacts|companies)(/search)?")
TAKEN = [route for route in ROUTES if route.handler is not None and route.scope and not route.deprecated]


def address(route: Route) -> str:
    return re.sub(r"{(\w+)}", lambda match: NAMED.get(match[1], "1"), route.path)


async def test_body_of_a_route_without_one__is_refused(sqlite_call: ApiClient) -> None:
    await sqlite_call.post("/public/v2/contacts", {"email": "ann@example.com"})
    without = [route for route in TAKEN if route.body is None]
    assert len(without) > 90

    for route in without:
        reply = await sqlite_call(route.method, address(route), {"limit": 1})
        assert (reply.status, reply.problem["code"]) == (400, "malformed_body"), route.path
        assert "takes no body, so send none" in reply.problem["detail"]
        assert all(f"?{parameter.name}" in reply.problem["detail"] for parameter in route.query)
    assert (await sqlite_call.get("/public/v2/contacts/1")).status == 200


@pytest.mark.parametrize("body", [b"[1]", b"limit=1", b"{" + b" " * 5_000 + b"}", gzip.compress(b'{"limit": 1}'), b"\xff"], ids=len)
async def test_any_body__is_refused(sqlite_call: ApiClient, body: bytes) -> None:
    reply = await sqlite_call("POST", "/public/v2/contacts/exports", raw=body, content_encoding="gzip" if body[:1] == b"\x1f" else "")

    assert (reply.status, (await sqlite_call.get("/public/v2/jobs")).json()["data"]) == (400, [])
    assert "?format" in reply.problem["detail"]


@pytest.mark.parametrize("body", [b"", b"{}", b" null\n"], ids=repr)
async def test_body_that_says_nothing__is_accepted(sqlite_call: ApiClient, body: bytes) -> None:
    started = await sqlite_call("POST", "/public/v2/contacts/exports", raw=body, idempotency_key="1")
    again = await sqlite_call("POST", "/public/v2/contacts/exports", raw=body, idempotency_key="1")
    listed = await sqlite_call("GET", "/public/v2/contacts", raw=body)

    assert (started.status, listed.status) == (201, 200)
    assert again.json() == started.json()


async def test_unknown_parameter__is_refused(sqlite_call: ApiClient) -> None:
    await sqlite_call.post("/public/v2/contacts", {"email": "ann@example.com"})

    # Some refuse misspelt parameters only; pushes look for their connection first.
    strict = [route for route in TAKEN if not LENIENT.fullmatch(f"{route.method} {route.path}")]
    assert len(strict) > 190
    for route in strict:
        reply = await sqlite_call(route.method, f"{address(route)}?nonsense=1", None if route.body is None else BODIES.get(route.path, {}))
        assert reply.status == 422, route.path
        assert "?nonsense" in [fault["pointer"] for fault in reply.problem["errors"]], route.path


async def test_condition_of_a_write_that_has_none__is_refused(sqlite_call: ApiClient) -> None:
    declared = {(route.path, header["name"]) for route in TAKEN for header in route.headers}
    for route in (route for route in TAKEN if route.method != "GET"):
        for name in ("If-Match", "If-None-Match", "If-Unmodified-Since"):
            if (route.path, name) not in declared:
                reply = await sqlite_call(route.method, address(route), **{name.lower().replace("-", "_"): "*"})
                assert (reply.status, [fault["pointer"] for fault in reply.problem["errors"]]) == (422, [name]), route.path
