"""Translator pool: webhooks are read in sandbox processes, so that no body blocks the server (decision 28).

A batch of deliveries goes to one process. If the process ends during the batch it is replaced, and the deliveries are read one by
one: the delivery that ends the process gets a `ReadResult` with the reason, and the others are read as usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from touchbase.adapters.interface import WebhookRequest
from touchbase.connections import Connection
from touchbase.events.work import ReadResult
from touchbase.history import Translation
from touchbase.inbox import MAX_SECONDS, Delivery, request_of_delivery
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.task import Task, TaskStopped

TRANSLATE: Task[[WebhookRequest], Translation] = Task("touchbase.events.translation:translate", MAX_SECONDS)
READ_DELIVERIES: Task[[Sequence[Connection], Sequence[Delivery]], list[ReadResult]] = Task(
    "touchbase.events.translation:read_deliveries", MAX_SECONDS
)
PRELOAD = "touchbase.events.translation:load"
HIDDEN = "hidden"
"""Placeholder for secrets in what a process gets."""


class TranslatorPool:
    """Translates webhooks in sandbox processes. Thread-safe."""

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self.sandbox = sandbox or Sandbox("translator", preload=[PRELOAD])

    def __call__(self, request: WebhookRequest) -> Translation:
        """Translate one webhook; raises what its adapter raises, or `TaskStopped` if it exceeds its budget."""
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
        """Read each delivery; one that ends its process has the reason in its result."""
        try:
            return await self.sandbox.call(READ_DELIVERIES, self.connections, deliveries)
        except TaskStopped as stopped:
            if len(deliveries) == 1:
                return [ReadResult(why=stopped.why, for_good=stopped.for_good)]
        return [result for delivery in deliveries for result in await self.read_many([delivery])]


def without_secrets(connections: Sequence[Connection]) -> list[Connection]:
    """Return the connections with placeholders for their secrets: adapters use only their number."""
    return [replace(connection, secrets=[HIDDEN] * len(connection.secrets), access_token="") for connection in connections]
