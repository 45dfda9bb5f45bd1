"""HTTP: addresses, methods, request ids, HEAD, and faults of ours."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.asgi_client import ApiClient, CountedMetrics, MakeClient, scope_of

from touchbase.errors import Overloaded, StoreUnavailable
from touchbase.metrics import DELIVERIES_RECEIVED, HTTP_PROBLEMS
from touchbase.sql.store import Store

PATHS = {
    "/public/v2/contacts": "GET, HEAD, PATCH, POST, PUT",
    "/public/v2/contacts/1": "DELETE, GET, HEAD, PATCH",
    "/public/v2/contacts/1/export": "GET, HEAD",
    "/public/v2/contacts/1/timeline": "GET, HEAD",
    "/public/v2/companies": "GET, HEAD, PATCH, POST, PUT",
    "/public/v2/contacts/deleted": "GET, HEAD",
    "/public/v2/contacts/duplicates": "GET, HEAD",
    "/public/v2/contacts/1/restore": "POST",
    "/public/v2/contacts/1/merge": "POST",
    "/public/v2/contacts/1/merge/1/undo": "POST",
    "/public/v2/companies/1": "DELETE, GET, HEAD, PATCH",
    "/public/v2/companies/1/timeline": "GET, HEAD",
    "/admin/v1/deliveries": "GET, HEAD",
    "/admin/v1/deliveries/1": "GET, HEAD",
    "/admin/v1/deliveries/1/replay": "POST",
    "/admin/v1/clients": "GET, HEAD, POST",
    "/admin/v1/clients/x/rotate-id": "POST",
    "/admin/v1/keys": "GET, HEAD, POST",
    "/openapi.json": "GET, HEAD",
    "/docs": "GET, HEAD",
    "/docs/swagger-ui.css": "GET, HEAD",
}


@pytest.mark.parametrize(("path", "allowed"), PATHS.items())
@pytest.mark.parametrize("method", ["DELETE", "OPTIONS", "BREW"])
async def test_unsupported_method__gets_405_with_the_allowed_methods(sqlite_call: ApiClient, path: str, allowed: str, method: str) -> None:
    reply = await sqlite_call("TRACE" if method in allowed else method, path)

    assert (reply.status, reply.headers["allow"]) == (405, allowed)
    assert reply.problem["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["", "/public", "/public/v2/contact", "/public/v2/contacts/", "/public/v2/contacts/1/x", "/docs/", "/é"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_unknown_path__gets_404_with_a_problem_body(sqlite_call: ApiClient, path: str, method: str) -> None:
    reply = await sqlite_call(method, path)

    assert reply.status == 404
    slash = path.endswith("/") and path != "/"
    assert reply.problem["detail"] == (
        "no such address; try it without the slash at its end" if slash else
        "no such address; /docs lists all addresses"
    )  # fmt: skip


async def test_get_docs_file__returns_404_for_other_files(sqlite_call: ApiClient) -> None:
    for name in ("x.js", "..%2Fapp.py", "docs.html"):
        assert (await sqlite_call.get(f"/docs/{name}")).status == 404


async def test_head__returns_the_status_and_headers_of_get_without_a_body(sqlite_call: ApiClient) -> None:
    await sqlite_call.post("/public/v2/contacts", {"email": "jane@example.com"})

    for path in ("/public/v2/contacts", "/public/v2/contacts/1", "/public/v2/contacts/2", "/openapi.json", "/docs"):
        get, head = await sqlite_call.get(path, x_request_id="one"), await sqlite_call("HEAD", path, x_request_id="one")
        assert (head.status, head.headers, head.body) == (get.status, get.headers, b"")
        assert head.headers["content-length"] == str(len(get.body))


@pytest.mark.parametrize("path", ["/public/v2/contacts", "/public/crm-webhook/abc", "/nowhere"])
async def test_request_id__echoes_the_given_value(sqlite_call: ApiClient, path: str) -> None:
    reply = await sqlite_call("POST", path, raw=b"{}", x_request_id="order-17/a.b:c=")

    assert reply.headers["x-request-id"] == "order-17/a.b:c="


@pytest.mark.parametrize("value", ["", "a b", "x" * 129, "é", '"'])
async def test_request_id__replaces_an_invalid_value(sqlite_call: ApiClient, value: str) -> None:
    first, second = await sqlite_call.get("/nowhere", x_request_id=value), await sqlite_call.get("/nowhere")

    assert value != first.headers["x-request-id"] != second.headers["x-request-id"]
    assert first.problem["status"] == 404


async def test_asgi_scope__has_the_route_client_and_request_id_for_the_access_log(sqlite_call: ApiClient) -> None:
    async def noted(method: str, path: str) -> dict[str, Any]:
        scope = scope_of(method, path, {"x-request-id": "one", "x-client-id": "ours"})
        await sqlite_call.send(scope, [{"type": "http.request", "body": b"{}"}])
        return {name.removeprefix("touchbase."): value for name, value in scope.items() if name.startswith("touchbase.")}

    for method, path, route, template, client in (
        ("POST", "/public/v2/contacts", "create_contact", "/public/v2/contacts", "ours"),
        ("GET", "/public/v2/contacts/1", "get_contact", "/public/v2/contacts/{id}", "ours"),
        ("POST", "/public/crm-webhook/abc", "crm_webhook", "/public/crm-webhook/{client_id}", "abc"),
    ):
        assert await noted(method, path) == {"route": route, "template": template, "client": client, "request_id": "one"}
    assert await noted("GET", "/nowhere") == {"request_id": "one"}


class Failing:
    """A store that fails whatever it is asked."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def read(self, query: Any) -> Any:
        raise self._error

    write = read


NOT_NOW = [("overloaded", Overloaded("the queue is full", retry_after=2)), ("store_unavailable", StoreUnavailable("full", retry_after=2))]


@pytest.mark.parametrize(("code", "error"), NOT_NOW)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_overloaded_store__gets_503_with_retry_after_and_the_reason(
    make_client: MakeClient, method: str, code: str, error: Overloaded
) -> None:
    reply = await make_client(Failing(error))(method, "/public/v2/contacts", raw=b"{}")

    assert (reply.status, reply.headers["retry-after"]) == (503, "2")
    assert (reply.problem["code"], reply.problem["detail"]) == (code, error.detail)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_internal_error__gets_500_without_details_and_is_logged(
    make_client: MakeClient, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        reply = await make_client(Failing(RuntimeError("a private matter")))(method, "/public/v2/contacts", raw=b"{}")

    assert reply.status == 500
    assert reply.problem["code"] == "internal_error"
    assert b"private" not in reply.body
    assert reply.headers["x-request-id"] in caplog.text


async def test_metrics__count_refused_requests_and_deliveries(memory: Store, make_client: MakeClient) -> None:
    counting = CountedMetrics()
    call = make_client(memory, metrics=counting)

    await call("POST", "/public/crm-webhook/abc", raw=b"{}")
    await call("POST", "/public/crm-webhook/abc", raw=b"{}")
    await call("POST", "/public/v2/contacts", raw=b"{")
    await call("GET", "/nowhere")

    assert counting.counted == [
        (DELIVERIES_RECEIVED, "crm", "stored"),
        (DELIVERIES_RECEIVED, "crm", "repeated"),
        (HTTP_PROBLEMS, "malformed_body"),
        (HTTP_PROBLEMS, "not_found"),
    ]


async def test_lifespan__completes_startup_and_shutdown(sqlite_call: ApiClient) -> None:
    coming = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[str] = []

    async def receive() -> Any:
        return next(coming)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await sqlite_call.app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)

    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


@pytest.mark.parametrize(
    "target", ["/public%2Fv2/contacts", "/public/v2/contacts%2f1", "/admin/v1/clients/acme%2Fsuspend", "/public%2fcrm-webhook/acme"]
)
async def test_encoded_slash__does_not_match_another_route(sqlite_call: ApiClient, target: str) -> None:
    await sqlite_call.settings("acme")

    assert [(await sqlite_call(method, target)).status in (404, 405) for method in ("GET", "POST")] == [True, True]
    assert (await sqlite_call.get("/admin/v1/clients/acme")).json()["state"] == "active"
