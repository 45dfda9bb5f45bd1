"""Who sends a call, by what each tool's adapter declares: its schemes, how many secrets it takes and which form they have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence

from touchbase.adapters.interface import Adapter, Call
from touchbase.adapters.kit.parse import layers
from touchbase.adapters.kit.signatures import Scheme, presented
from touchbase.adapters.kit.signatures_body import call_of, unpacked
from touchbase.adapters.kit.signatures_public_key import ED25519_KEY, is_public_key, is_raw_ed25519
from touchbase.common.timestamps import Micros
from touchbase.connections.models import GENERATED, SECRETS, Arrival, Connection

ENOUGH = 50
"""So sure of a call as it came, nobody looks whether a relay has wrapped it."""
SURE = 80
"""So sure of a call, what the client has connected does not matter."""
ANY_TOOL = "generic"


class Proofs(ABC):
    """The proofs of all tools, by channel and tool."""

    def __init__(self, by_name: dict[str, dict[str, Adapter]]) -> None:
        self._by_name = by_name

    @abstractmethod
    def recognise(self, call: Call) -> list[tuple[int, str]]:
        """Every adapter that takes the call for its own, surest first: how sure, and the tool."""

    def schemes(self, channel: str, tool: str) -> Sequence[Scheme]:
        """The ways in which a tool proves who it is, besides showing the secret itself."""
        found: Sequence[Scheme] = getattr(self._by_name[channel].get(tool), "proofs", ())
        return found

    def proves(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Whether a call proves to know one of the connection's secrets, by its tool's schemes or by showing it."""
        return self.proves_at_once(connection, arrival, now) or self._holds(connection, arrival, now, is_test=False)

    def proves_at_once(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """The same by what needs neither unpacking nor parsing, so that it may run on the event loop."""
        schemes = [scheme for scheme in self.schemes(connection.channel, connection.tool) if not scheme.reads_body]
        call = arrival.under(connection.settings)
        for secret, shown in zip(connection.secrets, self.secrets_of(connection), strict=True):
            if not self.is_public(connection.channel, connection.tool, secret) and presented(arrival, shown):
                return True
            if any(scheme.check(call, secret, now) for scheme in schemes):
                return True
        return False

    def is_test_call(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Whether a call is the test call of the connection's tool, which anybody can send."""
        return self._holds(connection, arrival, now, is_test=True)

    def _holds(self, connection: Connection, arrival: Arrival, now: Micros, *, is_test: bool) -> bool:
        """Whether one of the tool's schemes holds, over the body as it came or unpacked: some sign before they pack, some after."""
        schemes = [scheme for scheme in self.schemes(connection.channel, connection.tool) if scheme.is_test is is_test]
        if not schemes:
            return False
        opened = unpacked(arrival)
        calls = [one.under(connection.settings) for one in (arrival, opened) if one is not None]
        return any(scheme.check(call, secret, now) for secret in connection.secrets for call in calls for scheme in schemes)

    def secrets_of(self, connection: Connection) -> list[str]:
        """The connection's secrets as a call would show them, in their order."""
        key_in: Callable[[str], str] | None = getattr(self._by_name[connection.channel].get(connection.tool), "key_in", None)
        return list(connection.secrets) if key_in is None else [key_in(secret) for secret in connection.secrets]

    def most_secrets(self, channel: str, tool: str) -> int:
        """How many secrets a connection of this tool may have."""
        return getattr(self._by_name[channel].get(tool), "most_secrets", SECRETS)

    def why_not_secret(self, channel: str, tool: str, secret: str) -> str | None:
        """The forms that a secret of this tool may have, where this one has none of them and so could never fit; else None.

        One that we have made always fits: it goes into the tool's address.
        """
        forms = [scheme.form for scheme in self.schemes(channel, tool) if not scheme.is_test]
        if not forms or None in forms or secret.startswith(GENERATED) or any(form is not None and form.fits(secret) for form in forms):
            return None
        return "; or ".join(dict.fromkeys(form.about for form in forms if form is not None))

    def has_window(self, channel: str, tool: str) -> bool:
        """Whether the tool's signatures have a time."""
        return any(scheme.window is not None for scheme in self.schemes(channel, tool))

    def is_public(self, channel: str, tool: str, secret: str) -> bool:
        """Whether a secret is a public key, which proves nothing by being known."""
        if is_public_key(secret):
            return True
        forms = [scheme.form for scheme in self.schemes(channel, tool)]
        return ED25519_KEY in forms and is_raw_ed25519(secret)

    def likely(self, arrival: Arrival, guarded: Collection[str]) -> tuple[str | None, bool]:
        """The tool that a call looks like, and whether it is plainly not one of the guarded ones.

        A body that exceeds the bounds for callers who have proved nothing looks like none.
        """
        call = call_of(unpacked(arrival) or arrival)
        if call is None:
            return None, False
        best: dict[str, int] = {}
        for layer in layers(call):
            for sure, tool in self.recognise(layer):
                best[tool] = max(sure, best.get(tool, 0))
        if not best:
            return None, False
        tool = min(best, key=lambda name: (-best[name], name))
        of_guarded = max((best.get(name, 0) for name in guarded), default=0)
        is_plain = best[tool] >= ENOUGH and (of_guarded < ENOUGH or (best[tool] >= SURE > of_guarded))
        return tool, is_plain and tool != ANY_TOOL and tool not in guarded
