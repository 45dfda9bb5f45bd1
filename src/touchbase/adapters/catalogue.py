"""The catalogue: every tool that is read, as its folder tells it: what is understood, how it is recognised and proved, how sure we are.

Events and marks stand in the folder's README, which its user reads too; the rest is asked of the adapter.
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
    "V": "a page or source of the vendor says so",
    "C": "seen in a recorded delivery",
    "T": "seen in an integrator's code, tests or guide",
    "I": "inferred by us",
}
SHOWN = "the secret itself in a header or in the address"
_CHANNEL_WORDS = {EMAIL_CAMPAIGN: "campaign tool"}
_SUPPORTED = re.compile(r"^## What is (?:supported|understood)$\n(.*?)^## ", re.MULTILINE | re.DOTALL)
_SURE = re.compile(r"^## How sure we are$\n\s*(.*?)\n\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Understood:
    """What a tool says, what it means with us, and how sure we are of it, where that is told for each."""

    theirs: str
    ours: str
    sure: str


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool that is read."""

    tool: str
    title: str
    channel: str
    recognised: list[str]
    """What shows a call to be its: keys that stand together in a body, or a header; for a CRM one key, which makes it worth a look."""
    proofs: list[str]
    """How it can prove who it is, besides showing the secret itself."""
    understood: list[Understood]
    sure: str
    """How sure we are: marks, or a sentence with marks."""
    guide: str
    """Its README, from the project's folder."""

    @property
    def marks(self) -> str:
        """The marks that `sure` names, best first."""
        return " ".join(mark for mark in MARKS if re.search(rf"\b{mark}\b", self.sure))


def catalogue() -> list[Tool]:
    """Every tool, campaign tools first, by name."""
    adapters = load_adapters()
    return [_tool(channel, name) for channel in CHANNELS for name in adapters.tools(channel)]


def _tool(channel: str, name: str) -> Tool:
    adapter: Adapter = import_module(f"touchbase.adapters.{channel}.{name}.adapter").ADAPTER
    readme = (Path(__file__).parent / channel / name / "README.md").read_text(encoding="utf-8")
    understood = list(_understood(readme))
    told = _SURE.search(readme)
    return Tool(
        tool=name,
        title=readme.partition("\n")[0].removeprefix("# "),
        channel=channel,
        recognised=_recognised(adapter),
        proofs=[scheme.about for scheme in getattr(adapter, "proofs", ())],
        understood=understood,
        sure=" ".join(told[1].split()) if told else " ".join(each.sure for each in understood),
        guide=f"src/touchbase/adapters/{channel}/{name}/README.md",
    )


def _recognised(adapter: Adapter) -> list[str]:
    if isinstance(adapter, Table):
        return list(dict.fromkeys(map(_shown, adapter.shapes)))
    return sorted(adapter.signs)


def _shown(shape: Shape) -> str:
    """A shape in words: keys, header, and what its name must be."""
    keys, header = shape.keys.replace(" ", " + "), f"header {shape.header}" if shape.header else ""
    begun = f"{shape.keys.split()[0]} beginning with {shape.starts}" if shape.starts else ""
    return ", ".join(filter(None, (keys, header, begun, "with a known name" if shape.named else "")))


def _understood(readme: str) -> Iterator[Understood]:
    """The rows of the first table of what is supported."""
    section = _SUPPORTED.search(readme)
    lines = section[1].strip().splitlines() if section else []
    for line in lines[2:]:
        if not line.startswith("|"):
            return
        theirs, ours, *rest = [cell.strip() for cell in line.strip("|").split("|")]
        yield Understood(theirs, ours, rest[0] if rest and set(rest[0].split()) <= MARKS.keys() else "")


def page(tools: list[Tool]) -> str:
    """The catalogue as a page: `docs/reference/tools.md`."""
    lines = [
        "# Tools",
        "",
        "Every tool with an adapter; the two generic adapters read any other. `make docs` writes this page from the adapters' folders, and",
        "a test holds it. Each tool's guide, linked here, says where to paste the address.",
        "",
        "How sure each fact is: " + "; ".join(f"**{mark}** {meaning}" for mark, meaning in MARKS.items()) + ".",
        "",
        "| Tool | Name | Channel | How sure | Signs its webhooks |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| [{t.title}](../../{t.guide}) | `{t.tool}` | {t.channel} | {t.marks} | {'yes' if t.proofs else 'no'} |" for t in tools]
    for tool in tools:
        lines += _section(tool)
    return "\n".join(lines) + "\n"


def _section(tool: Tool) -> Iterator[str]:
    kind = _CHANNEL_WORDS.get(tool.channel, "CRM")
    yield from ("", f"## {tool.title} ({kind})", "")
    how = "Recognised by" if tool.channel == EMAIL_CAMPAIGN else "Looked at when it has"
    recognised = "; or ".join(re.sub("^([^,]+)", r"`\1`", each) for each in tool.recognised)
    asked = "Asked about every call of which no other is sure" if tool.tool == "generic" else "Asked about every call"
    yield f"- {how} {recognised}." if recognised else f"- {asked}."
    yield f"- Proof of the sender: {'; or '.join([*tool.proofs, SHOWN])}."
    if tool.channel == EMAIL_CAMPAIGN:
        yield f"- How sure: {tool.sure}"
    yield ""
    with_marks = any(each.sure for each in tool.understood)
    yield from ("| They say | With us | How sure |", "|---|---|---|") if with_marks else ("| They say | With us |", "|---|---|")
    for each in tool.understood:
        yield f"| {each.theirs} | {each.ours} | {each.sure} |" if with_marks else f"| {each.theirs} | {each.ours} |"
