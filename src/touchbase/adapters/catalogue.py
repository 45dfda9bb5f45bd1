"""The catalogue of supported tools: event types, detection, signatures and evidence.

Event tables and evidence marks are read from the README in each tool's folder, the other facts from the adapter object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from touchbase.adapters.interface import Adapter
from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter
from touchbase.adapters.registry import load_adapters
from touchbase.history.events import CHANNELS, EMAIL_CAMPAIGN

MARKS = {
    "V": "documented by the vendor",
    "P": "sent by a running program of the tool",
    "C": "seen in a recorded delivery",
    "T": "found in an integrator's code, tests or guide",
    "I": "inferred by us",
}
SEEN = {"V": "documentation", "P": "running program", "C": "captured body", "T": "code of integrators", "I": "nothing but our guess"}
"""Evidence for a tool's support, by mark."""
_SUPPORTED = re.compile(r"^## What is (?:supported|understood)$\n(.*?)^## ", re.MULTILINE | re.DOTALL)
_EVIDENCE = re.compile(r"^## How sure we are$\n\s*(\S.*?)\n\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class EventRow:
    """One row of a tool's event table: the tool's event, our event, and the evidence mark where the README gives one per row."""

    theirs: str
    ours: str
    sure: str


@dataclass(frozen=True, slots=True)
class CatalogueTool:
    """One supported tool."""

    tool: str
    title: str
    channel: str
    recognised: list[str]
    """Marks of the tool's webhooks: keys that occur together in a body, or a header; for a CRM, single keys that
    make the adapter a candidate.
    """
    proofs: list[str]
    """The tool's signature schemes; every tool can also send the secret itself."""
    understood: list[EventRow]
    sure: str
    """The evidence for the facts: marks, or a sentence with marks."""
    messages: str
    """Members of its webhooks for a sent message and for a reply; empty for a CRM, whose webhooks name no mails."""
    is_fetched: bool
    """Whether records are fetched from its API."""
    guide: str
    """Path of the tool's README, relative to the repository root."""

    @property
    def marks(self) -> str:
        """The evidence marks in `sure`, strongest first."""
        return " ".join(mark for mark in MARKS if re.search(rf"\b{mark}\b", self.sure))

    @property
    def evidence(self) -> list[str]:
        """Evidence for the tool; a guess only where there is none."""
        marks = self.marks.split()
        return [SEEN[mark] for mark in marks if mark != "I" or marks == ["I"]]


@lru_cache(maxsize=500)
def evidence_of(channel: str, tool: str) -> tuple[str, ...]:
    """Return the evidence for a connected tool; nothing for a tool that the release no longer has."""
    is_known = tool.isidentifier() and (Path(__file__).parent / channel / tool).exists()
    return tuple(_tool(channel, tool).evidence) if is_known else ()


def catalogue() -> list[CatalogueTool]:
    """Return every tool: campaign tools first, then by name."""
    adapters = load_adapters()
    folders = Path(__file__).parent
    return [_tool(channel, name) for channel in CHANNELS for name in adapters.tools(channel) if (folders / channel / name).exists()]


def _tool(channel: str, name: str) -> CatalogueTool:
    adapter: Adapter = import_module(f"touchbase.adapters.{channel}.{name}").ADAPTER
    readme = (Path(__file__).parent / channel / name / "README.md").read_text(encoding="utf-8")
    event_rows = list(_event_rows(readme))
    evidence = _EVIDENCE.search(readme)
    return CatalogueTool(
        tool=name,
        title=readme.partition("\n")[0].removeprefix("# "),
        channel=channel,
        recognised=_detection(adapter),
        proofs=[scheme.about for scheme in getattr(adapter, "signature_schemes", ())],
        understood=event_rows,
        sure=" ".join(evidence[1].split()) if evidence else " ".join(event_row.sure for event_row in event_rows),
        messages=_messages(adapter) if channel == EMAIL_CAMPAIGN else "",
        is_fetched=getattr(adapter, "fetcher", None) is not None,
        guide=f"src/touchbase/adapters/{channel}/{name}/README.md",
    )


def _detection(adapter: Adapter) -> list[str]:
    if isinstance(adapter, TableAdapter):
        return list(dict.fromkeys(map(_describe_rule, adapter.shapes)))
    return sorted(adapter.detection_keys)


def _messages(adapter: Adapter) -> str:
    """Describe the members of messages, from the adapter's paths; an adapter without a table reads them by their usual keys."""
    if not isinstance(adapter, TableAdapter):
        return "every member, by its usual keys"
    described = [f"of a {kind}: {', '.join(members)}" for kind, members in _members_of(adapter) if members]
    if adapter.usual_messages:
        described.append("any other member by its usual keys" if described else "every member, by its usual keys")
    return "; ".join(described) or "none"


def _members_of(adapter: TableAdapter) -> Iterator[tuple[str, list[str]]]:
    yield "sent message", adapter.sent.members
    yield "reply", adapter.received.members


def _describe_rule(shape: DetectionRule) -> str:
    """Describe a detection rule: keys, header, and the required event name."""
    keys, header = shape.keys.replace(" ", " + "), f"header {shape.header}" if shape.header else ""
    begun = f"{shape.keys.split()[0]} beginning with {shape.starts}" if shape.starts else ""
    return ", ".join(filter(None, (keys, header, begun, "with a known name" if shape.named else "")))


def _event_rows(readme: str) -> Iterator[EventRow]:
    """Yield the rows of the first table in the section on supported events."""
    section = _SUPPORTED.search(readme)
    lines = section[1].strip().splitlines() if section else []
    for line in lines[2:]:
        if not line.startswith("|"):
            return
        theirs, ours, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        yield EventRow(theirs, ours, cells[0] if cells and set(cells[0].split()) <= MARKS.keys() else "")
