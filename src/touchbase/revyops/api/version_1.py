"""Version 1 of the calls for one record: the handlers of our own routes, without query parameters."""

from __future__ import annotations

from touchbase.errors import Invalid, NotFound
from touchbase.http.endpoint import Call, Handler
from touchbase.http.query_parameters import DRY_RUN, Parameters
from touchbase.http.responses import Response
from touchbase.records.api.parameters import FLAT


class _Plain(Call):
    """A call whose query is ignored: custom fields are NESTED, and the client's settings decide about duplicates."""

    @property
    def query(self) -> bytes:
        """No parameters."""
        return b""


def version_1(handler: Handler) -> Handler:
    """Wrap a handler of our own routes: a `company_id` that does not exist is a 404, as for a domain, and writes take `structure` alone."""

    async def run(call: Call) -> Response:
        if call.scope["method"] != "GET":
            Parameters(call.query, (FLAT,)).done()  # `dry_run=true` must not be ignored
        plain = _Plain(call.api, call.scope, call.receive, call.headers, call.needed, (FLAT, DRY_RUN), call.large, call.recorder)
        try:
            return await handler(plain)
        except Invalid as invalid:
            if [fault.code for fault in invalid.faults] == ["company_not_found"]:
                raise NotFound(invalid.faults[0].detail) from None
            raise

    return run
