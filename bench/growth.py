"""Growth: the same calls on a small store and on large ones at the same time, and pages at any depth.

Calls are about as many contacts as the small store has: of a large one those that were imported last, as a campaign's are. What it costs
to meet all of its contacts in a scattered order, where each row lies on a page of its own, is told beside it. The bursts go to the
stores in turn, so a machine that others use too slows all alike. Apply comes first, on stores at rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.bodies import Shape
from bench.dataset import create_dataset
from bench.interleaving import settle
from bench.machine import file_system
from bench.pages_deep import slowest_pages
from bench.paths import applied_rates
from bench.plan import CONNECTIONS, Plan
from bench.report import spread
from bench.requests import ABOUT, shapes
from bench.server_process import ServerProcess, server
from bench.sizes import sizes_of
from bench.throughput import NAMES

LEAST = 0.85
"""What the small store does, a large one must do to this part."""
HELD = ("create", "webhook", "apply", "get")
MEASURED = ("create", "webhook", "get", "update", "patch", "list")
ABOUT_A_CONTACT = ("webhook", "get", "update", "patch")
SCATTERED = ", scattered over all of them"
Rates = dict[tuple[int, str], list[float]]
"""By the contacts of a store, and whom the calls were about: the busy ones, or `SCATTERED`."""
PAGE_MS = 20.0


@dataclass(slots=True)
class LargeStore:
    """One store, and the deliveries a second that it applied, by whom they were about."""

    count: int
    database: str
    folder: Path
    applied: dict[str, list[float]]


def measure(plan: Plan, engine: str) -> None:
    """All sizes on one engine."""
    print(f"growth, {NAMES[engine]}: stores of {', '.join(f'{count:,}' for count in plan.sizes)} contacts", flush=True)
    stores = [_open_store(plan, engine, count) for count in plan.sizes]
    if engine == "sqlite" and plan.grown is not None:
        plan.report.note(f"the stores lay on {file_system(plan.grown)[0]}")
    if not plan.deliveries:
        plan.report.note("the events of these stores have no kept deliveries, as they would need more disk than there is")
    with ExitStack() as ending:
        running = [ending.enter_context(server("real", store.database, store.folder)) for store in stores]
        for store in stores:
            _read_once(store.database)
        rates = {name: _rates(plan, name, running) for name in MEASURED}
        pages = [slowest_pages(item.address, store.count) for item, store in zip(running, stores, strict=True)]
        memory = [item.memory_mb() for item in running]
    rates["apply"] = {(store.count, order): store.applied[order] for store in stores for order in store.applied}
    for store in stores[1:]:
        for name, result in sorted(rates.items(), key=lambda rate: rate[0] not in HELD):
            _flat(plan, engine, name, store.count, "", result)
        for name in (*ABOUT_A_CONTACT, "apply"):
            _flat(plan, engine, name, store.count, SCATTERED, rates[name])
    for store, found_pages, used in zip(stores, pages, memory, strict=True):
        _deep(plan, engine, store.count, found_pages)
        _space(plan, engine, store, used)


def _orders(plan: Plan, name: str, count: int) -> tuple[str, ...]:
    """In a store as small as that all contacts are the busy ones."""
    return ("", SCATTERED) if name in ABOUT_A_CONTACT and count > plan.sizes[0] else ("",)


def _shape(plan: Plan, name: str, count: int, order: str) -> Shape:
    """The calls to a store of so many contacts: about the busy ones, or all."""
    busy = plan.sizes[0]
    return shapes(count)[name] if order == SCATTERED else shapes(busy, count - busy)[name]


def _open_store(plan: Plan, engine: str, count: int) -> LargeStore:
    folder = plan.new_folder()
    remaining = None if plan.grown is None or engine != "sqlite" else plan.grown.resolve() / f"{count}.db"
    database = f"sqlite:///{remaining}" if remaining else plan.new_store(engine, folder, "grown")
    if remaining is None or not remaining.exists():
        if remaining is not None:
            remaining.parent.mkdir(parents=True, exist_ok=True)
        before = perf_counter()
        create_dataset(database, count, folder, plan.superuser, deliveries=plan.deliveries)
        print(f"  grown to {count:,} contacts in {perf_counter() - before:.0f} s", flush=True)
    requested = {order: _shape(plan, "webhook", count, order) for order in _orders(plan, "webhook", count)}
    return LargeStore(count, database, folder, {order: applied_rates(plan, database, folder, shape) for order, shape in requested.items()})


def _read_once(database: str) -> None:
    """Let the kernel have as much of a SQLite file in memory as it will: a server that has run for a while is not cold."""
    if database.startswith("sqlite"):
        with Path(database.removeprefix("sqlite:///")).open("rb", buffering=0) as file:
            while file.read(16 * 1024 * 1024):
                pass


def _rates(plan: Plan, name: str, running: Sequence[ServerProcess]) -> Rates:
    """Good answers a second of each burst."""
    places = [(place, (count, order)) for place, count in enumerate(plan.sizes) for order in _orders(plan, name, count)]
    result: Rates = {item: [] for _, item in places}
    read: dict[tuple[int, str], float] = {}
    for place, (count, order) in places:
        plan.generator.closed(running[place].address, _shape(plan, name, count, order), CONNECTIONS, min(1.0, plan.warm_seconds))
        settle(running[place])
    for _ in range(plan.rounds):
        for place, (count, order) in places:
            entry, shape = running[place], _shape(plan, name, count, order)
            before = entry.bytes_read()
            burst = plan.generator.closed(entry.address, shape, CONNECTIONS, plan.seconds)
            read[count, order] = (entry.bytes_read() - before) / max(1, burst.requests)
            if burst.errors:
                plan.report.note(f"{burst.errors} ERRORS of {name} on the store of {count:,}")
            result[count, order].append(burst.rate)
            settle(entry)
    if any(read.values()):
        reported = "; ".join(f"{value / 1024:.1f} with {count:,}{order}" for (count, order), value in read.items())
        plan.report.note(f"{name}: KiB that the server itself read from the disk for a request: {reported}")
    print(f"  {name}: {'; '.join(spread(rates, '/s') for rates in result.values())}", flush=True)
    return result


def _flat(plan: Plan, engine: str, name: str, count: int, order: str, rates: Rates) -> None:
    small, large = rates[plan.sizes[0], ""], rates[count, order]
    ratio = median(large) / max(1e-9, median(small))
    held = name in HELD and not order
    reported = f"{spread(small, '/s')} with {plan.sizes[0]:,}"
    limit = f"{LEAST} x {reported}" if held else f"{reported}, no limit"
    what = f"{ABOUT[name]} with {count:,} contacts{order}, {NAMES[engine]}"
    plan.report.add(what, f"{spread(large, '/s')} = {ratio:.2f} x", limit, ratio >= LEAST if held else None, small=small, large=large)


def _deep(plan: Plan, engine: str, count: int, result: dict[str, list[list[float]]]) -> None:
    worst = max(median(times) for depths in result.values() for times in depths)
    slowest = max(time for depths in result.values() for times in depths for time in times)
    measured = f"{worst:.1f} ms (the slowest single page {slowest:.1f} ms)"
    what = f"page of 50 at its slowest filter and depth, {count:,} contacts, {NAMES[engine]}"
    plan.report.add(what, measured, f"under {PAGE_MS:g} ms", worst < PAGE_MS, pages=result)
    rows = [[filters, *(f"{median(times):.1f} (at most {max(times):.1f})" for times in depths)] for filters, depths in result.items()]
    title = f"A page of 50 with {count:,} contacts on {NAMES[engine]}, ms by how far down it begins"
    plan.report.details.append((title, ["filters", "at the top", "half way", "near the end"], rows))


def _space(plan: Plan, engine: str, store: LargeStore, memory: dict[str, float]) -> None:
    per = sizes_of(plan, engine, store.database)
    measured = ", ".join(f"{value:,.0f} bytes per {what}" for what, value in per.items())
    plan.report.add(f"on disk with {store.count:,} contacts, {NAMES[engine]}", measured, "no limit", None, bytes=per)
    if memory:
        reported = f"{memory['VmRSS']:,.0f} MB, of which {memory['RssAnon']:,.0f} MB are no file's pages"
        plan.report.add(f"memory of the server with {store.count:,} contacts, {NAMES[engine]}", reported, "no limit", None, memory=memory)
