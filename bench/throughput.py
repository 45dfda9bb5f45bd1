"""Creating contacts and receiving webhook calls: how many a second, and how long each takes."""

from __future__ import annotations

from statistics import median

from bench.bodies import CREATE, WEBHOOK
from bench.interleaving import Rounds, at_half, in_turn, servers
from bench.plan import CONNECTIONS, Plan
from bench.report import spread

PART_OF_BARE = {"create": 0.45, "webhook": 0.5}
TIMES_SINGLE = 4.0
P99_FULL_MS = 20.0
P99_HALF_MS = 5.0
MOST_BUSY = 0.1
"""Cores that others may use before the report says so."""
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
SHAPES = {"create": CREATE, "webhook": WEBHOOK}
VARIANTS = {
    ("create", "sqlite"): ("real", "bare", "single"),
    ("create", "postgresql"): ("real", "single", "statement"),
    ("webhook", "sqlite"): ("real", "bare", "keep"),
    ("webhook", "postgresql"): ("real", "single", "statement", "keep", "single-keep"),
}
"""What is measured in turn; the limits are those of `real`."""
ABOUT = {"create": "create contact", "webhook": "receive webhook"}


def measure(plan: Plan, figure: str, engine: str) -> None:
    """One kind of request on one engine."""
    about = f"{ABOUT[figure]}, {NAMES[engine]}"
    print(f"{about}: {', '.join(VARIANTS[figure, engine])}", flush=True)
    with servers(plan, engine, VARIANTS[figure, engine]) as running:
        result = in_turn(plan, SHAPES[figure], running)
        on_sqlite = [item for item in running if engine == "sqlite" and item.variant in ("real", "bare")]
        halves = [at_half(plan, SHAPES[figure], item, result["real"].rate) for item in on_sqlite]
    _rates(plan, figure, about, result)
    _latencies(plan, about, result["real"], halves)
    if figure == "webhook":
        _inbox(plan, about, result, halves[0] if halves else None)
    measured = [*result.values(), *halves]
    _details(plan, about, measured)
    busy = max((item.others or 0 for rounds in measured for item in rounds.rounds), default=0)
    if busy > MOST_BUSY:
        plan.report.note(f"{about}: other programs kept up to {busy:.1f} cores busy meanwhile, so this machine can do better")


def _rates(plan: Plan, figure: str, about: str, result: dict[str, Rounds]) -> None:
    real = result["real"]
    measured = spread(real.rates, "/s")
    if "bare" in result:
        bare, part = result["bare"], PART_OF_BARE[figure]
        limit = f"{part} x {spread(bare.rates, '/s')} without a store"
        _add(plan, f"{about}, {CONNECTIONS} connections", measured, limit, real, bare, part)
    if "single" in result:
        single = result["single"]
        limit = f"{TIMES_SINGLE:g} x {spread(single.rates, '/s')} one transaction per request"
        _add(plan, f"{about}, beside single transactions", measured, limit, real, single, TIMES_SINGLE)
    if "statement" in result:
        statement = result["statement"]
        times = f"{real.rate / statement.rate:.2f} x {spread(statement.rates, '/s')}"
        reported = f"{measured} = {times} one statement per request, each a transaction by itself"
        plan.report.add(f"{about}, beside single statements", reported, "no limit", None, statement=statement.raw())


def _add(plan: Plan, what: str, measured: str, limit: str, real: Rounds, other_rounds: Rounds, times: float) -> None:
    ratio = real.rate / other_rounds.rate if other_rounds.rate else 0.0
    errors = real.errors + other_rounds.errors
    if errors:
        measured += f", {errors} ERRORS"
    met = ratio >= times and not errors
    plan.report.add(what, f"{measured} = {ratio:.2f} x", limit, met, real=real.raw(), other=other_rounds.raw(), ratio=ratio, needed=times)


def _latencies(plan: Plan, about: str, full: Rounds, halves: list[Rounds]) -> None:
    # Latencies are limited on SQLite only; on PostgreSQL they are told.
    limit = P99_FULL_MS if halves else None
    _p99(plan, f"{about}, p99 at full load", full, limit)
    for half, words, limit in zip(halves, ("half load", "the same rate without a store"), (P99_HALF_MS, None), strict=False):
        rate = median(item.burst.wanted_rate or 0 for item in half.rounds)
        _p99(plan, f"{about}, p99 at {words} ({rate:,.0f}/s)", half, limit)


def _p99(plan: Plan, what: str, rounds: Rounds, limit: float | None) -> None:
    met = None if limit is None else median(rounds.p99()) < limit and not rounds.errors
    measured = spread(rounds.p99(), " ms", 1) + (f", {rounds.errors} ERRORS" if rounds.errors else "")
    plan.report.add(what, measured, f"under {limit:g} ms" if limit else "no limit", met, rounds=rounds.raw())


def _inbox(plan: Plan, about: str, result: dict[str, Rounds], half: Rounds | None) -> None:
    """What became of the calls meanwhile, and what receiving alone can do."""
    keep = result["keep"]
    for words, rounds in (("full", result["real"]), ("half", half)):
        if rounds:
            backlog = spread([item.backlog for item in rounds.rounds], " waited")
            drained = spread([item.drain_seconds for item in rounds.rounds], " s", 1)
            applied = spread([item.applied_rate for item in rounds.rounds], "/s applied")
            reported = f"{backlog}, drained in {drained}; meanwhile {applied}"
            plan.report.add(f"{about}, inbox after a burst at {words} load", reported, "no limit", None)
    measured = spread(keep.rates, "/s")
    for second, words in (("bare", "without a store"), ("single-keep", "one transaction per request")):
        if second in result:
            measured += f" = {keep.rate / result[second].rate:.2f} x {spread(result[second].rates, '/s')} {words}"
    plan.report.add(f"{about}, nobody applying meanwhile", measured, "no limit", None, keep=keep.raw())


def _details(plan: Plan, about: str, all_rounds: list[Rounds]) -> None:
    rows = []
    for rounds in all_rounds:
        bursts = [item.burst for item in rounds.rounds]
        others = [item.others for item in rounds.rounds if item.others is not None]
        late = [burst.late_p99_ms for burst in bursts if burst.late_p99_ms is not None]
        rows.append(
            [
                rounds.variant,
                spread(rounds.rates, ""),
                spread([burst.p50_ms for burst in bursts], "", 2),
                spread([burst.p99_ms for burst in bursts], "", 2),
                spread([burst.p999_ms for burst in bursts], "", 1),
                spread([burst.max_ms for burst in bursts], "", 1),
                spread([item.cpu_us for item in rounds.rounds], ""),
                spread(others, "", 2) if others else "",
                spread(late, "", 2) if late else "",
                spread([item.applied_rate for item in rounds.rounds], "") if any(item.applied for item in rounds.rounds) else "",
                spread([item.backlog for item in rounds.rounds], "") if any(item.backlog for item in rounds.rounds) else "",
            ]
        )
    columns = ["variant", "answers/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "server CPU us/request"]
    columns += ["cores used by others", "generator late p99 ms", "applied/s", "waiting at the end"]
    plan.report.details.append((f"{about}: each variant", columns, rows))
