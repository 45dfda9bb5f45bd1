"""The list of tests that `make test` leaves out because of their duration, and the plugin that makes it.

`make slow-tests` runs all tests but the serial ones and writes the list. A line is a test function; followed by an engine, it is
the function on that engine. The times are those of an idle machine, so look at the change before you commit it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import mean

import pytest

LIST = Path(__file__).with_name("slow_tests.txt")
LONGEST = 0.4
"""Seconds that a test of `make test` may take with its fixtures; the mean of all its parameters."""
ENGINES = ("sqlite", "postgresql")


def function_of(node: str) -> str:
    """Return the function of a test, with the engine if that is a parameter: `tests/test_a.py::test_b postgresql`."""
    name, _, parameters = node.partition("[")
    return " ".join([name, *(engine for engine in ENGINES if parameters.startswith(engine))])


def slow_functions() -> frozenset[str]:
    """Return the functions on the list."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def above_longest(durations: Iterable[tuple[str, float]]) -> list[str]:
    """Return the functions that take too long, of the duration of each test."""
    by_function = defaultdict(list)
    for node, seconds in durations:
        by_function[function_of(node)].append(seconds)
    return sorted(name for name, seconds in by_function.items() if mean(seconds) > LONGEST)


class Durations:
    """Adds up what each test takes, and writes the list when the run ends."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        LIST.write_text("".join(f"{name}\n" for name in above_longest(self._seconds.items())), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin in the process that hears of all tests."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations())
