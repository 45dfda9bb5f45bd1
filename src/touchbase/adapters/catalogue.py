"""The catalogue of supported tools: event types, detection, signatures and evidence.

Event tables and evidence marks are read from the README in each tool's folder, the other facts from the adapter object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from touchbase.adapters.interface import Adapter
from touchbase.adapters.kit.declarative import Shape, Table
from touchbase.adapters.registry import load_adapters
from touchbase.connections.models import CHANNELS, EMAIL_CAMPAIGN

MARKS = {
    "V": "documented by the vendor",
    "C": "seen in a recorded delivery",
    "T": "found in an integrator's code, tests or guide",
    "I": "inferred by us",
}
BEARER = "the secret itself in a header or in the address"
_CHANNEL_WORDS = {EMAIL_CAMPAIGN: "campaign tool"}
_SUPPORTED = re.compile(r"^## What is (?:supported|understood)$\n(.*?)^## ", re.MULTILINE | re.DOTALL)
_EVIDENCE = re.compile(r"^## How sure we are$\n\s*(\S.*?)\n\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class EventRow:
    """One row of a tool's event table: the tool's event, our event, and the evidence mark where the README gives one per row."""

    theirs: str
    ours: str
    sure: str


@dataclass(frozen=True, slots=True)
class Tool:
    """One supported tool."""

    tool: str
    title: str
    channel: str
    recognised: list[str]
    """What identifies the tool's webhooks: keys that occur together in a body, or a header; for a CRM, single keys that
    make the adapter a candidate.
    """
    proofs: list[str]
    """The tool's signature schemes; every tool can also send the secret itself."""
    understood: list[EventRow]
    sure: str
    """The evidence for the facts: marks, or a sentence with marks."""
    messages: str
    """What its webhooks say of a sent message and of a reply; empty for a CRM, whose webhooks name no mails."""
    guide: str
    """Path of the tool's README, relative to the repository root."""

    @property
    def marks(self) -> str:
        """The evidence marks in `sure`, strongest first."""
        return " ".join(mark for mark in MARKS if re.search(rf"\b{mark}\b", self.sure))


def catalogue() -> list[Tool]:
    """Return every tool: campaign tools first, then by name."""
    adapters = load_adapters()
    return [_tool(channel, name) for channel in CHANNELS for name in adapters.tools(channel)]


def _tool(channel: str, name: str) -> Tool:
    adapter: Adapter = import_module(f"touchbase.adapters.{channel}.{name}").ADAPTER
    readme = (Path(__file__).parent / channel / name / "README.md").read_text(encoding="utf-8")
    event_rows = list(_event_rows(readme))
    evidence = _EVIDENCE.search(readme)
    return Tool(
        tool=name,
        title=readme.partition("\n")[0].removeprefix("# "),
        channel=channel,
        recognised=_detection(adapter),
        proofs=[scheme.about for scheme in getattr(adapter, "signature_schemes", ())],
        understood=event_rows,
        sure=" ".join(evidence[1].split()) if evidence else " ".join(event_row.sure for event_row in event_rows),
        messages=_messages(adapter) if channel == EMAIL_CAMPAIGN else "",
        guide=f"src/touchbase/adapters/{channel}/{name}/README.md",
    )


def _detection(adapter: Adapter) -> list[str]:
    if isinstance(adapter, Table):
        return list(dict.fromkeys(map(_describe_rule, adapter.shapes)))
    return sorted(adapter.detection_keys)


def _messages(adapter: Adapter) -> str:
    """Describe the members of messages, from the adapter's paths; an adapter without a table reads them by their usual keys."""
    if not isinstance(adapter, Table):
        return "every member, by its usual keys"
    known = [f"of a {kind}: {', '.join(members)}" for kind, members in _known_members(adapter) if members]
    if adapter.usual_messages:
        known.append("any other member by its usual keys" if known else "every member, by its usual keys")
    return "; ".join(known) or "none"


def _known_members(adapter: Table) -> Iterator[tuple[str, list[str]]]:
    yield "sent message", adapter.sent.members
    yield "reply", adapter.received.members


def _describe_rule(shape: Shape) -> str:
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
        theirs, ours, *rest = [cell.strip() for cell in line.strip("|").split("|")]
        yield EventRow(theirs, ours, rest[0] if rest and set(rest[0].split()) <= MARKS.keys() else "")


def page(tools: list[Tool]) -> str:
    """Render the catalogue as Markdown: `docs/reference/tools.md`."""
    lines = [
        "# Tools",
        "",
        "Every tool with an adapter; the two generic adapters read any other. `make docs` generates this page from the adapters' folders,",
        "and a test checks it. Each tool's guide, linked here, says where to paste the address.",
        "",
        "Evidence for each fact: " + "; ".join(f"**{mark}** {meaning}" for mark, meaning in MARKS.items()) + ".",
        "",
        "*Messages* says which members of a mail or LinkedIn message a tool's webhooks are known to have. Those of CRMs have none.",
        "",
        "| Tool | Name | Channel | Evidence | Signs its webhooks |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| [{t.title}](../../{t.guide}) | `{t.tool}` | {t.channel} | {t.marks} | {'yes' if t.proofs else 'no'} |" for t in tools]
    for tool in tools:
        lines += _section(tool)
    return "\n".join(lines) + "\n"


def _section(tool: Tool) -> Iterator[str]:
    kind = _CHANNEL_WORDS.get(tool.channel, "CRM")
    yield from ("", f"## {tool.title} ({kind})", "")
    how = "Recognised by" if tool.channel == EMAIL_CAMPAIGN else "Candidate if it has"
    recognised = "; or ".join(re.sub("^([^,]+)", r"`\1`", each) for each in tool.recognised)
    asked = "Candidate for every webhook that no other adapter recognises" if tool.tool == "generic" else "Candidate for every webhook"
    yield f"- {how} {recognised}." if recognised else f"- {asked}."
    yield f"- Proof of the sender: {'; or '.join([*tool.proofs, BEARER])}."
    if tool.channel == EMAIL_CAMPAIGN:
        yield f"- Messages: {tool.messages}."
        yield f"- Evidence: {tool.sure}"
    yield ""
    with_marks = any(each.sure for each in tool.understood)
    yield "| Event of the tool | Touchbase event |" + (" Evidence |" if with_marks else "")
    yield "|---|---|" + ("---|" if with_marks else "")
    for each in tool.understood:
        yield f"| {each.theirs} | {each.ours} | {each.sure} |" if with_marks else f"| {each.theirs} | {each.ours} |"
