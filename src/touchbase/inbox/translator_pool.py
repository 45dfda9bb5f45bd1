"""Translator pool: webhooks are read in sandbox processes, so that no body blocks the server (decision 28).

A batch of deliveries goes to one process. If the process ends during the batch it is replaced, and the deliveries are read one by
one: the delivery that ends the process gets a `ReadResult` with the reason, and the others are read as usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from touchbase.adapters.interface import WebhookRequest
from touchbase.connections.models import Connection
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.limits import MAX_SECONDS
from touchbase.deliveries.webhook_request import request_of_delivery
from touchbase.deliveries.work import ReadResult
from touchbase.errors import Overloaded
from touchbase.history.events import Translation
from touchbase.identity.scan import Identities
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.task import Task, TaskStopped

TRANSLATE: Task[[WebhookRequest], Translation] = Task("touchbase.inbox.translation:translate", MAX_SECONDS)
READ_DELIVERIES: Task[[Sequence[Connection], Sequence[Delivery]], list[ReadResult]] = Task(
    "touchbase.inbox.translation:read_deliveries", MAX_SECONDS
)
SCAN_DELIVERIES: Task[[Sequence[Connection], Sequence[Delivery], bool], list[Identities]] = Task(
    "touchbase.inbox.translation:scan_deliveries", MAX_SECONDS
)
PRELOAD = "touchbase.inbox.translation:load"
HIDDEN = "hidden"
"""Placeholder for secrets in the arguments of a process."""


class TranslatorPool:
    """Translates webhooks in sandbox processes. Thread-safe."""

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self.sandbox = sandbox or Sandbox("translator", preload=[PRELOAD])

    def __call__(self, request: WebhookRequest) -> Translation:
        """Translate one webhook; raises the adapter's error, or `TaskStopped` if it exceeds its budget."""
        return self.sandbox.run(TRANSLATE, replace(request, connections=without_secrets(request.connections)))

    def for_client(self, connections: Sequence[Connection]) -> ClientTranslator:
        """Return the translator of one client's deliveries, with its connections."""
        return ClientTranslator(self.sandbox, without_secrets(connections))

    def close(self) -> None:
        """End the idle processes; the others end after their job."""
        self.sandbox.close()


class ClientTranslator:
    """Translates the stored deliveries of one client, many at once for the store (`IsolatedReader`)."""

    def __init__(self, sandbox: Sandbox, connections: Sequence[Connection]) -> None:
        self.sandbox = sandbox
        self.connections = connections

    def __call__(self, delivery: Delivery) -> Translation:
        """Translate one delivery."""
        return self.sandbox.run(TRANSLATE, request_of_delivery(delivery, self.connections))

    async def read_many(self, deliveries: Sequence[Delivery]) -> list[ReadResult]:
        """Read each delivery; a delivery that ends its process has the reason in its result."""
        try:
            return await self.sandbox.call(READ_DELIVERIES, self.connections, deliveries)
        except TaskStopped as stopped:
            if len(deliveries) == 1:
                result = ReadResult(why=stopped.why, for_good=stopped.for_good)
                return [await self._read_and_scan(deliveries[0]) if deliveries[0].guarded else result]
        return [result for delivery in deliveries for result in await self.read_many([delivery])]

    async def _read_and_scan(self, delivery: Delivery) -> ReadResult:
        """Read and scan a delivery in two tasks: if one of them is stopped, the result of the other counts."""
        named = await self._scan_addresses(delivery)
        try:
            (result,) = await self.sandbox.call(READ_DELIVERIES, self.connections, [replace(delivery, guarded=False)])
        except TaskStopped as stopped:
            result = ReadResult(why=stopped.why, for_good=stopped.for_good)
        result.mentions, result.unsearchable = named.refs, named.unsearchable is not None
        return result

    async def scan_many(self, deliveries: Sequence[Delivery]) -> list[Identities]:
        """Return the identities in each delivery; of a delivery that ends its process only addresses, or that it is unsearchable."""
        try:
            return await self.sandbox.call(SCAN_DELIVERIES, self.connections, deliveries, False)
        except TaskStopped:
            if len(deliveries) == 1:
                return [await self._scan_addresses(deliveries[0])]
        return [named for delivery in deliveries for named in await self.scan_many([delivery])]

    async def _scan_addresses(self, delivery: Delivery) -> Identities:
        try:
            (named,) = await self.sandbox.call(SCAN_DELIVERIES, self.connections, [delivery], True)
        except TaskStopped as stopped:
            if not stopped.for_good:
                raise Overloaded(f"a delivery could not be searched for addresses: {stopped.why}; it is tried again") from None
            return Identities(unsearchable=stopped.why)
        return named


def without_secrets(connections: Sequence[Connection]) -> list[Connection]:
    """Return the connections with placeholders for their secrets: adapters use only their number."""
    return [replace(connection, secrets=[HIDDEN] * len(connection.secrets), access_token="") for connection in connections]
