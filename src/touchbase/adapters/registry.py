"""Adapters: one folder per tool, found by name. Each turns one tool's webhook calls into events.

A folder below `email_campaign/` or `crm/` holds `adapter.py` with `ADAPTER`. Nothing else names a tool.

Beside what `adapters/interface.Adapter` asks, an adapter may have `proofs`, the ways in which its tool proves who it
is (`kit/proof.py`), `most_secrets` and `key_in`: how many secrets its connection may have, and what of one a call
shows, `demands`: by a body's first byte, what says which body its protocol wants in return, `fetcher`: how its API
is asked for records that its calls leave out (`kit/fetch.py`), and `most_sure`: how sure it can be of any call (100
where it does not say).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from touchbase.adapters.interface import Adapter, Call, ProtocolAnswer, WebhookRequest
from touchbase.adapters.kit.client_overrides import as_decided
from touchbase.adapters.kit.extract import objects
from touchbase.adapters.kit.parse import layers, parse, unflattened
from touchbase.adapters.kit.signature_schemes import ANY_TOOL, ENOUGH, SURE, Proofs
from touchbase.adapters.kit.times import Unzoned, in_zone
from touchbase.connections.fetch_state import FETCHED
from touchbase.connections.models import CHANNELS, NO_SETTINGS, ConnectionSettings
from touchbase.connections.tools import Fetcher
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import Event, Translation

_LARGEST_KNOWN = 16 * 1024
_MOST_KNOWN = 500
"""Bytes of a body whose names are remembered, and how many are: some megabytes, whoever sends what."""

_Names = tuple[str, tuple[str, ...], tuple[str, ...]]
Demand = Callable[[bytes], ProtocolAnswer | None]


class Adapters(Proofs):
    """All adapters, and which of them to ask about a call.

    An adapter declares `signs`: keys of a body (its first objects) and header names of which its calls have
    at least one. It is asked about a call that shows one of them; an adapter without signs is always asked.
    """

    def __init__(self, adapters: Iterable[Adapter]) -> None:
        super().__init__({channel: {} for channel in CHANNELS})
        self._by_sign: dict[str, dict[str, list[Adapter]]] = {channel: {} for channel in CHANNELS}
        self._by_names: dict[_Names, list[Adapter]] = {}
        """Whom to ask about calls that show these names: a tool sends the same ones again and again."""
        self._always: dict[str, list[Adapter]] = {channel: [] for channel in CHANNELS}
        self._last: dict[str, list[Adapter]] = {channel: [] for channel in CHANNELS}
        self._demands: dict[bytes, Demand] = {}
        for adapter in adapters:
            self._add(adapter)

    def tools(self, channel: str) -> list[str]:
        """The names of the channel's tools, in order of the alphabet."""
        return sorted(self._by_name[channel])

    def translate(self, request: WebhookRequest, tool: str | None = None) -> Translation:
        """What a call says, by the adapter of `tool`, else of the tool that has proved to send it, else by the surest.

        Where nobody is sure, the only tool that the client has connected on the channel comes first. Raises
        `UnrecognisedPayload` when none understands it.
        """
        call = parse(request)
        named = tool or request.tool
        if named is not None:
            return self._by_that_tool(call, named)
        if call.data in ({}, []):
            return Translation(ANY_TOOL, [])
        sure, adapter, found = self._best(call)
        if adapter is not None and adapter.tool in request.barred:
            raise UnrecognisedPayload(_why_barred(adapter.tool))
        if request.connections and sure < SURE and (only := self._only(call, sure)) is not None:
            if only in request.barred:
                raise UnrecognisedPayload(_why_barred(only))
            with suppress(UnrecognisedPayload):
                return self._by_that_tool(call, only)
        translation = None if adapter is None else _translated(adapter, _with_settings(found, adapter.tool))
        if translation is None or (translation.tool == ANY_TOOL and all(event.about is None for event in translation.events)):
            self._refuse_strays(request)
        if translation is None:
            raise UnrecognisedPayload(_why_not(call))
        return translation

    def recognise(self, call: Call) -> list[tuple[int, str]]:
        """Every adapter that takes the call for its own, surest first: how sure, and the tool."""
        asked = (*self._candidates(call), *self._last[call.request.channel])
        found = [(sure, adapter.tool) for adapter in asked if (sure := adapter.recognise(call)) > 0]
        return sorted(found, key=lambda one: (-one[0], one[1]))

    def kinds(self, channel: str, tool: str, settings: ConnectionSettings) -> Sequence[str] | None:
        """The kinds of records that `status_property` may name for a tool; None where it has no records."""
        told: Callable[[Mapping[str, str]], Sequence[str]] | None = getattr(self._by_name[channel].get(tool), "kinds", None)
        return None if told is None else told(settings.objects)

    def surest(self, request: WebhookRequest) -> str | None:
        """The tool whose call this looks like; None when that is not sure."""
        sure, adapter, _ = self._best(parse(request))
        return adapter.tool if adapter is not None and sure >= SURE else None

    def fetcher(self, channel: str, tool: str) -> Fetcher | None:
        """How a tool's API is asked for records that its calls leave out; None: it never is."""
        found: Fetcher | None = getattr(self._by_name[channel].get(tool), "fetcher", None)
        return found

    def protocol_answer(self, body: bytes) -> ProtocolAnswer | None:
        """What the protocol of a CRM demands in return for this body: None but for two kinds of call."""
        demand = self._demands.get(body[:1])
        return None if demand is None else demand(body)

    def _refuse_strays(self, request: WebhookRequest) -> None:
        """Raise `UnrecognisedPayload` for a call that is surely one of the other channel's: the wrong address was pasted."""
        for channel in CHANNELS:
            if channel != request.channel and (tool := self.surest(replace(request, channel=channel))) is not None:
                raise UnrecognisedPayload(
                    f"This is a call of {tool}, and it came to the {request.channel} address. Paste the client's {channel} address into "
                    f"{tool}, and let it send the call again."
                )

    def _best(self, call: Call) -> tuple[int, Adapter | None, Call]:
        """How sure the surest adapter is, that adapter, and the call as it reads it, out of a relay's wrapping."""
        best: tuple[int, Adapter | None, Call] = (0, None, call)
        for layer in layers(call):
            sure, adapter = self._surest(layer)
            if sure >= best[0]:
                best = (sure, adapter, layer)
            if adapter is not None and sure >= ENOUGH:
                return sure, adapter, _unflattened(adapter, layer)
        return best

    def _only(self, call: Call, sure: int) -> str | None:
        """The tool that a call nobody is sure of belongs to, by what its client has connected on the channel."""
        tools = [one.tool for one in call.request.connections if one.channel == call.request.channel]
        only = tools[0] if len(tools) == 1 else ANY_TOOL if ANY_TOOL in tools else None
        adapter = None if only is None else self._by_name[call.request.channel].get(only)
        if adapter is None or (sure >= ENOUGH and not any(adapter.recognise(layer) for layer in layers(call))):
            return None
        return only

    def _by_that_tool(self, call: Call, tool: str) -> Translation:
        adapter = self._by_name[call.request.channel].get(tool)
        if adapter is None:
            known = ", ".join(self.tools(call.request.channel))
            raise UnrecognisedPayload(f"No {call.request.channel} tool is called '{tool}'; there are {known}.")
        call = _with_settings(call, tool)
        call = _as_known(adapter, call)
        if call.data in ({}, []) and FETCHED not in call.headers:
            # The body of a test button.
            return Translation(tool, [])
        translation = _translated(adapter, call)
        if not adapter.recognise(call) and all(event.about is None for event in translation.events):
            raise UnrecognisedPayload(
                f"The connection says '{tool}', but this is not one of its calls. Was the address pasted into another tool?"
            )
        return translation

    def _surest(self, call: Call) -> tuple[int, Adapter | None]:
        if isinstance(call.data, list) and len(call.data) > 1:
            # A list's first object mostly shows whose it is; the next few are asked only where it does not.
            found = self._surest_of(replace(call, data=objects(call.data)[:1]))
            if found[0] >= ENOUGH:
                return found
        return self._surest_of(call)

    def _surest_of(self, call: Call) -> tuple[int, Adapter | None]:
        best: tuple[int, str, Adapter | None] = (0, "", None)
        for adapter in (*self._candidates(call), *self._last[call.request.channel]):
            # The one for any tool is never so sure: it comes last, and only where it may be needed.
            if best[0] >= ENOUGH and adapter.tool == ANY_TOOL:
                break
            if (_most(adapter), best[1]) < (best[0], adapter.tool):
                continue
            sure = adapter.recognise(call)
            # Of two that are equally sure the same one wins every time: a replay must read what was read.
            if sure > best[0] or (sure == best[0] > 0 and adapter.tool < best[1]):
                best = (sure, adapter.tool, adapter)
        return best[0], best[2]

    def _candidates(self, call: Call) -> Sequence[Adapter]:
        """Those to ask about a call, first those that may be surest."""
        shown = objects(call.data)
        if len(shown) != 1 or len(call.request.body) > _LARGEST_KNOWN:
            return self._showing(call, shown)
        names = (call.request.channel, tuple(shown[0]), tuple(call.headers))
        found = self._by_names.get(names)
        if found is None:
            if len(self._by_names) >= _MOST_KNOWN:
                self._by_names.clear()
            found = self._by_names[names] = self._showing(call, shown)
        return found

    def _showing(self, call: Call, shown: list[dict[str, object]]) -> list[Adapter]:
        index = self._by_sign[call.request.channel]
        asked = {id(adapter): adapter for adapter in self._always[call.request.channel]}
        for names in (*shown, call.headers):
            for sign in index.keys() & names.keys():
                for adapter in index[sign]:
                    asked[id(adapter)] = adapter
        return sorted(asked.values(), key=lambda adapter: (-_most(adapter), adapter.tool))

    def _add(self, adapter: Adapter) -> None:
        self._by_name[adapter.channel][adapter.tool] = adapter
        self._demands |= getattr(adapter, "demands", {})
        if adapter.tool == ANY_TOOL:
            self._last[adapter.channel].append(adapter)
        elif not adapter.signs:
            self._always[adapter.channel].append(adapter)
        for sign in adapter.signs:
            self._by_sign[adapter.channel].setdefault(sign, []).append(adapter)


def _most(adapter: Adapter) -> int:
    """How sure an adapter may be at the most."""
    return getattr(adapter, "most_sure", 100)


def load_adapters(channels: Iterable[str] = CHANNELS) -> Adapters:
    """Every adapter whose folder is below this one, of these channels."""
    here = Path(__file__).parent
    names = [
        f"touchbase.adapters.{channel}.{folder.name}.adapter"
        for channel in channels
        for folder in pkgutil.iter_modules([str(here / channel)])
        if folder.ispkg
    ]
    return Adapters(import_module(name).ADAPTER for name in names)


def _as_known(adapter: Adapter, call: Call) -> Call:
    """The call with as many of its wrappings taken off as this adapter needs to know it; without all where it never does."""
    layer = call
    for layer in layers(call):
        if adapter.recognise(layer):
            return _unflattened(adapter, layer)
    return layer


def _unflattened(adapter: Adapter, call: Call) -> Call:
    """The call with all its levels, where the adapter has known it by what a relay left at the top."""
    deep = unflattened(call)
    return call if deep is None or not adapter.recognise(deep) else deep


def _with_settings(call: Call, tool: str) -> Call:
    """The call with what the client has decided about this tool, if anything."""
    channel = call.request.channel
    for one in call.request.connections:
        if (one.channel, one.tool) == (channel, tool) and one.settings != NO_SETTINGS:
            return replace(call, settings=one.settings)
    return call


def _translated(adapter: Adapter, call: Call) -> Translation:
    settings: ConnectionSettings = call.settings
    events = adapter.translate(call)
    for event in events:
        if type(event.occurred_us) is Unzoned:
            _put_into_zone(event, settings.time_zone)
    # What was fetched is all that the tool knows: asking again would go round in circles.
    may_ask = getattr(adapter, "fetcher", None) is not None and FETCHED not in call.headers
    if settings is NO_SETTINGS:
        return Translation(adapter.tool, events, may_ask=may_ask)
    return Translation(adapter.tool, as_decided(events, settings), settings.create_unknown, may_ask)


def _why_barred(tool: str) -> str:
    return (
        f"This looks like a call of {tool}, whose secret is set, and it has not proved to know it. "
        f"Let {tool} send it again with the secret, or take the secret away and replay this."
    )


def _put_into_zone(event: Event, zone: str | None) -> None:
    """Read a time that names no zone as one of the client's zone; without one it stays UTC, and the event says so."""
    read = Unzoned(event.occurred_us or 0)
    at = None if zone is None else in_zone(read, zone)
    event.occurred_us, event.unzoned = int(read if at is None else at), at is None


def _why_not(call: Call) -> str:
    if not call.request.body.strip():
        return "The call has no body."
    if call.data is None:
        return "The body is neither JSON nor form fields, and no tool's adapter knows it."
    return "No adapter understands this body, not even the generic one."
