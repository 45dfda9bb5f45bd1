"""Sender authentication by each tool's adapter: signature schemes, the number of secrets, and their form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence

from touchbase.adapters.interface import Adapter, ParsedWebhook
from touchbase.adapters.kit.parse import layers
from touchbase.adapters.kit.signatures import Scheme, contains_secret
from touchbase.adapters.kit.signatures_body import parsed_webhook, unpacked
from touchbase.adapters.kit.signatures_public_key import ED25519_KEY, is_public_key, is_raw_ed25519
from touchbase.common.timestamps import Micros
from touchbase.connections.models import GENERATED_PREFIX, SECRETS, Arrival, Connection

MIN_CONFIDENCE = 50
"""With this confidence for the webhook as received, relay envelopes are not tried."""
HIGH_CONFIDENCE = 80
"""With this confidence, the client's connections do not influence the choice of adapter."""
GENERIC = "generic"


class SignatureSchemes(ABC):
    """The signature schemes of all tools, by channel and tool."""

    def __init__(self, by_name: dict[str, dict[str, Adapter]]) -> None:
        self._by_name = by_name

    @abstractmethod
    def recognise(self, webhook: ParsedWebhook) -> list[tuple[int, str]]:
        """Return every adapter that recognises the webhook: confidence and tool, highest first."""

    def schemes(self, channel: str, tool: str) -> Sequence[Scheme]:
        """Return the tool's signature schemes; every tool can also send the secret itself."""
        schemes: Sequence[Scheme] = getattr(self._by_name[channel].get(tool), "signature_schemes", ())
        return schemes

    def verify_signature(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Return whether a request authenticates with one of the connection's secrets: by a signature scheme, or by the secret itself."""
        return self.verify_signature_quickly(connection, arrival, now) or self._holds(connection, arrival, now, is_test=False)

    def verify_signature_quickly(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Like `proves`, but only checks that neither decompress nor parse the body, so that it may run on the event loop."""
        schemes = [scheme for scheme in self.schemes(connection.channel, connection.tool) if not scheme.reads_body]
        webhook = arrival.under(connection.settings)
        for secret, shown in zip(connection.secrets, self.secrets_of(connection), strict=True):
            if not self.is_public(connection.channel, connection.tool, secret) and contains_secret(arrival, shown):
                return True
            if any(scheme.check(webhook, secret, now) for scheme in schemes):
                return True
        return False

    def is_test_webhook(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Return whether a request is the tool's unauthenticated test webhook."""
        return self._holds(connection, arrival, now, is_test=True)

    def _holds(self, connection: Connection, arrival: Arrival, now: Micros, *, is_test: bool) -> bool:
        """Return whether a scheme matches the body as received or decompressed: some tools sign before compression, some after."""
        schemes = [scheme for scheme in self.schemes(connection.channel, connection.tool) if scheme.is_test is is_test]
        if not schemes:
            return False
        opened = unpacked(arrival)
        webhooks = [candidate.under(connection.settings) for candidate in (arrival, opened) if candidate is not None]
        return any(scheme.check(webhook, secret, now) for secret in connection.secrets for webhook in webhooks for scheme in schemes)

    def secrets_of(self, connection: Connection) -> list[str]:
        """Return the connection's secrets as a request would contain them, in order."""
        key_in: Callable[[str], str] | None = getattr(self._by_name[connection.channel].get(connection.tool), "key_in", None)
        return list(connection.secrets) if key_in is None else [key_in(secret) for secret in connection.secrets]

    def most_secrets(self, channel: str, tool: str) -> int:
        """Return how many secrets a connection of this tool may have."""
        return getattr(self._by_name[channel].get(tool), "most_secrets", SECRETS)

    def why_not_secret(self, channel: str, tool: str, secret: str) -> str | None:
        """Return the forms that a secret of this tool may have if this one has none of them, else None.

        A generated secret is always accepted: it is part of the webhook URL.
        """
        forms = [scheme.form for scheme in self.schemes(channel, tool) if not scheme.is_test]
        if (
            not forms
            or None in forms
            or secret.startswith(GENERATED_PREFIX)
            or any(form is not None and form.fits(secret) for form in forms)
        ):
            return None
        return "; or ".join(dict.fromkeys(form.about for form in forms if form is not None))

    def has_window(self, channel: str, tool: str) -> bool:
        """Return whether the tool's signatures have a timestamp."""
        return any(scheme.window is not None for scheme in self.schemes(channel, tool))

    def is_public(self, channel: str, tool: str, secret: str) -> bool:
        """Return whether a secret is a public key, which authenticates nothing when sent."""
        if is_public_key(secret):
            return True
        forms = [scheme.form for scheme in self.schemes(channel, tool)]
        return ED25519_KEY in forms and is_raw_ed25519(secret)

    def guess_tool(self, arrival: Arrival, guarded: Collection[str]) -> tuple[str | None, bool]:
        """Return the most likely tool of a request, and whether it is certainly not one of the guarded ones.

        A body that exceeds the limits for unauthenticated requests has no likely tool.
        """
        webhook = parsed_webhook(unpacked(arrival) or arrival)
        if webhook is None:
            return None, False
        best: dict[str, int] = {}
        for layer in layers(webhook):
            for confidence, tool in self.recognise(layer):
                best[tool] = max(confidence, best.get(tool, 0))
        if not best:
            return None, False
        tool = min(best, key=lambda name: (-best[name], name))
        of_guarded = max((best.get(name, 0) for name in guarded), default=0)
        is_plain = best[tool] >= MIN_CONFIDENCE and (of_guarded < MIN_CONFIDENCE or (best[tool] >= HIGH_CONFIDENCE > of_guarded))
        return tool, is_plain and tool != GENERIC and tool not in guarded
