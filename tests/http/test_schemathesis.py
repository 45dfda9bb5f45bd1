"""What the description says of every operation is true: schemathesis calls each with generated requests."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import cycle
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS as CHECKS_BY_NAME
from schemathesis.checks import load_all_checks
from schemathesis.config import SchemathesisConfig
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.generation.meta import TestPhase
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source
from tests.asgi_client import ApiClient
from tests.examples import FULL, examples

from touchbase.adapters.registry import load_adapters
from touchbase.auth.api_key import ApiKey
from touchbase.auth.authentication import ADMIN, DEFAULT_CLIENT, make_key
from touchbase.auth.sql import store_key
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import from_text
from touchbase.http.dependencies import AuthMode
from touchbase.routes import description
from touchbase.stores import open_store
from touchbase.web import Dependencies, build_app

pytestmark = pytest.mark.slow


class Clock:
    """Stands still; each start of the application finds the same store."""

    now = from_text("2026-11-20T09:30:00Z")

    def __call__(self) -> int:
        return self.now


class Opening:
    """The application on a store with one of everything, opened when it is started, in the loop that starts it."""

    def __init__(self, auth: AuthMode) -> None:
        self._auth = auth
        self._made = make_key()
        self.key = self._made.text
        """A key that allows everything to the client `default`, where keys are needed."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        await receive()
        store, clock = await open_store("sqlite://"), Clock()
        await self._furnish(ApiClient(Dependencies(store, clock, senders=ADAPTERS), clock))
        self._app = build_app(Dependencies(store, clock, auth=self._auth, version="1", senders=ADAPTERS, read=ADAPTERS.translate))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await store.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _furnish(self, call: ApiClient) -> None:
        """Records, a delivery and a connection of the client `default`, all under the first number."""
        await call.post("/public/v2/companies", {"domain": "first.example"})
        await call.post("/public/v2/contacts", {"email": "first@example.com", "company_id": 1})
        await call("POST", f"/public/emailcampaign-webhook/{DEFAULT_CLIENT}", raw=b"{}")
        await call.post(f"/admin/v1/clients/{DEFAULT_CLIENT}/connections", {"channel": "crm", "tool": "hubspot"})
        default = await call.parts.store.write(ensure_client(DEFAULT_CLIENT, Clock.now))
        await call.parts.store.write(store_key(ApiKey(self._made.key_id, self._made.digest, (ADMIN,), default.number, "test", Clock.now)))


ADAPTERS = load_adapters()
OPEN, GUARDED = Opening("none"), Opening("api-key")
# What no schema can say (a syntax, a record that is there already) is 4xx too; what is too long is 413 before it is wrong;
# and previews have a rate.
EXPECTED = {
    "positive_data_acceptance": {"expected-statuses": ["2xx", "304", "403", "404", "409", "412", "422", "429"]},
    "negative_data_rejection": {"expected-statuses": ["400", "403", "404", "412", "413", "415", "422", "429"]},
}
load_all_checks()
EVERY = CHECKS_BY_NAME.get_all()
ITEM_BY_ITEM = ("/batch", "/match")
"""They respond 200 and report a wrong item in its own result."""
UNDESCRIBED = "/imports$|/team/v1/stream$"
"""No schema can say what a readable file is, nor what a stream sends: tests/imports and tests/live try them."""
BUT_REJECTION = [check for check in EVERY if check.__name__ != "negative_data_rejection"]


def checks_of(case: Any) -> list[Any]:
    return BUT_REJECTION if case.path.endswith(ITEM_BY_ITEM) else EVERY


class Described:
    """The operations of a description, each with a test that is built when it runs.

    The decorator of schemathesis builds all cases while tests are collected: 40 s of a processor in each process of a run.
    """

    def __init__(self, app: Opening, *, keys_needed: bool) -> None:
        config = SchemathesisConfig.from_dict({"checks": EXPECTED})
        schema = schemathesis.openapi.from_dict(description("1", keys_needed=keys_needed), config=config).exclude(path_regex=UNDESCRIBED)
        schema.app = app
        self._schema = schema

    @cached_property
    def _operations(self) -> dict[str, Any]:
        operations = [result.ok() for result in self._schema.get_all_operations()]
        return {operation.label: operation for operation in operations}

    @cached_property
    def _feedback(self) -> FeedbackSources:
        return FeedbackSources(constants_value_source=make_constants_value_source(self._schema))

    def check(self, label: str, most: int, **headers: str) -> None:
        """Send generated requests of one operation, and check the responses."""

        turns = cycle(range(1 if FULL else 4))

        @settings(few, max_examples=examples(most))
        def check_case(case: Any) -> None:
            # Its cases for each rule of the schema are a hundred and more: CI sends every fourth.
            if case.meta.phase.name != TestPhase.COVERAGE or not next(turns):
                case.call_and_validate(checks=checks_of(case), headers=headers)

        build_operation_test(
            config=self._schema.config,
            operation=self._operations[label],
            test_func=check_case,
            given_kwargs={},
            feedback=self._feedback,
        )()


few = settings(deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
IN_OPEN_MODE, WITH_KEYS = Described(OPEN, keys_needed=False), Described(GUARDED, keys_needed=True)
OPERATIONS = [
    f"{method.upper()} {path}"
    for path, methods in description("1", keys_needed=False)["paths"].items()
    for method in methods
    if method != "parameters" and not re.search(UNDESCRIBED, path)
]


@pytest.mark.weekly  # the same handlers, without the check of a key
@pytest.mark.parametrize("operation", OPERATIONS)
def test_generated_requests__get_documented_responses_in_open_mode(operation: str) -> None:
    IN_OPEN_MODE.check(operation, 4)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_generated_requests__get_documented_responses_with_api_keys(operation: str) -> None:
    WITH_KEYS.check(operation, 8, Authorization=f"Bearer {GUARDED.key}")
