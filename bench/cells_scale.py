"""What 3, 10 and 100 cells take, from what one of them was measured to take, for clients whose calls follow a Zipf law."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench.report import Report

COUNTS = (3, 10, 100)
CORES = 2
"""Cores of each PostgreSQL server: as many as the usual machine of these measurements has."""


def busiest(clients: int, cells: int) -> float:
    """Return the share of all calls that the busiest cell has, if each client, the largest first, goes to the cell with the least load."""
    weights = [1 / rank for rank in range(1, clients + 1)]
    loads = [0.0] * cells
    for weight in weights:
        loads[loads.index(min(loads))] += weight
    return max(loads) / sum(weights)


def busiest_in_turn(clients: int, cells: int) -> float:
    """Return the same if nobody places them: each new client, the largest first, goes to the cell with the fewest clients."""
    weights = [1 / rank for rank in range(1, clients + 1)]
    return sum(weights[::cells]) / sum(weights)


def tell_scale(report: Report, clients: int, database_us: Sequence[float], server_us: Sequence[float], idle: Sequence[float]) -> None:
    """Report rates of several numbers of cells. `idle` has the cores that a server, and PostgreSQL, take for a cell where nothing comes."""
    of_one = CORES * 1e6 / median(database_us)
    for cells in COUNTS:
        share = busiest(clients, cells)
        rate = of_one / share
        serving, looking = rate * median(server_us) / 1e6, cells * idle[0]
        reported = (
            f"{rate:,.0f}/s = {1 / share:.1f} x one PostgreSQL of {CORES} cores, {share:.1%} of it in the busiest "
            f"(not placed by load: {1 / busiest_in_turn(clients, cells):.1f} x); "
            f"servers: {serving:.0f} cores, and to look for work each process {looking:.2f}, each cell for it {idle[1]:.3f}"
        )
        report.add(f"{cells} cells, from the figures above", reported, "no limit", None, rate=rate, share=share)
