"""The list of slow tests names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.slow_tests import LONGEST, above_longest, function_of, slow_functions

ROOT = Path(__file__).parents[2]


def test_slow_tests__names_tests_that_exist() -> None:
    gone = []
    for line in slow_functions():
        path, *_, name = line.split()[0].split("::")
        file = ROOT / path
        if not (file.exists() and re.search(rf"def {name}\(", file.read_text(encoding="utf-8"))):
            gone.append(line)

    assert gone == [], "remove these lines from tests/slow_tests.txt, or give the new name"


def test_function_of__has_the_engine_and_no_other_parameter() -> None:
    nodes = [
        "tests/test_a.py::test_b",
        "tests/test_a.py::test_b[postgresql-1]",
        "tests/test_a.py::TestC::test_b[sqlite]",
        "tests/test_a.py::test_b[x]",
    ]

    assert [function_of(node) for node in nodes] == [
        "tests/test_a.py::test_b", "tests/test_a.py::test_b postgresql", "tests/test_a.py::TestC::test_b sqlite", "tests/test_a.py::test_b"
    ]  # fmt: skip


def test_above_longest__takes_the_mean_of_the_parameters() -> None:
    durations = [
        ("a.py::test_a[1]", LONGEST / 2),
        ("a.py::test_a[2]", LONGEST * 1.4),
        ("a.py::test_b[1]", LONGEST),
        ("a.py::test_b[2]", LONGEST * 2),
    ]

    assert above_longest(durations) == ["a.py::test_b"]
