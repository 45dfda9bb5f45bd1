"""Translating: microseconds from a kept call to its events, for every recorded call of every tool."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import touchbase.adapters.registry
from bench.plan import Plan
from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import Adapters, load_adapters
from touchbase.errors import TouchbaseError
from touchbase.history.events import CHANNELS

TYPICAL_US = 50.0
ITEM_US = 200.0
HOME = Path(touchbase.adapters.registry.__file__).parent
TIMES, CALLS = 7, 30


@dataclass(slots=True)
class Tool:
    """One tool's recorded calls: microseconds of each, and microseconds for each event of those that carry several."""

    name: str
    calls: list[float] = field(default_factory=list)
    items: list[float] = field(default_factory=list)


def measure(plan: Plan) -> None:
    """Every fixture of every adapter."""
    print("translate: every recorded call of every tool", flush=True)
    tools = list(_tools(load_adapters()))
    calls = [item for tool in tools for item in tool.calls]
    items = [item for tool in tools for item in tool.items]
    slow = [tool.name for tool in tools if median(tool.calls) >= TYPICAL_US]
    what = f"translate, typical call ({len(calls)} recorded calls of {len(tools)} tools)"
    plan.report.add(what, f"{median(calls):.0f} us (slowest {max(calls):.0f})", f"under {TYPICAL_US:g} us", median(calls) < TYPICAL_US)
    measured = f"{len(tools) - len(slow)} of {len(tools)} tools" + (f"; not {', '.join(slow)}" if slow else "")
    plan.report.add("translate, typical call of each tool", measured, f"all under {TYPICAL_US:g} us", not slow)
    measured = f"slowest {max(items):.0f} us, typical {median(items):.0f} us"
    plan.report.add("translate, one item of a batch", measured, f"at most {ITEM_US:g} us", max(items) <= ITEM_US)
    _details(plan, tools)


def _tools(adapters: Adapters) -> Iterator[Tool]:
    for channel in CHANNELS:
        for folder in sorted((HOME / channel).iterdir()):
            tool = Tool(f"{channel}/{folder.name}")
            for file in sorted((folder / "fixtures").glob("*.json")):
                _time(adapters, tool, channel, json.loads(file.read_text(encoding="utf-8"))["request"])
            if tool.calls:
                yield tool


def _time(adapters: Adapters, tool: Tool, channel: str, request: dict[str, object]) -> None:
    text = request.get("text")
    body = text.encode() if isinstance(text, str) else json.dumps(request["body"]).encode()
    reported = request.get("headers", {})
    headers = {str(name).lower(): str(value) for name, value in reported.items()} if isinstance(reported, dict) else {}
    call = WebhookRequest(channel, headers, str(request.get("query", "")), body)
    try:
        events = len(adapters.translate(call).events)
    except TouchbaseError:
        return  # a call that is there to be refused
    microseconds = min(_once(adapters, call) for _ in range(TIMES))
    tool.calls.append(microseconds)
    if events > 1:
        tool.items.append(microseconds / events)


def _once(adapters: Adapters, call: WebhookRequest) -> float:
    before = time.perf_counter()
    for _ in range(CALLS):
        adapters.translate(call)
    return (time.perf_counter() - before) / CALLS * 1e6


def _details(plan: Plan, tools: list[Tool]) -> None:
    rows = []
    for tool in sorted(tools, key=lambda first_tool: -median(first_tool.calls)):
        items = f"{max(tool.items):.0f}" if tool.items else ""
        late = "" if median(tool.calls) < TYPICAL_US and max(tool.items, default=0) <= ITEM_US else "MISSED"
        rows.append([tool.name, str(len(tool.calls)), f"{median(tool.calls):.0f}", f"{max(tool.calls):.0f}", items, late])
    columns = ["tool", "calls", "typical us", "slowest us", "slowest us per event", ""]
    plan.report.details.append(("translate: each tool, slowest first", columns, rows))
