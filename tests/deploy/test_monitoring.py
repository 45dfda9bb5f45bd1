"""The alerts and the dashboard in deploy/: they name metrics and labels that Touchbase has, and pages that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from touchbase.metrics import METRICS, Histogram, Metric

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "touchbase.json"
PAGE = ROOT / "docs" / "reference" / "metrics.md"
OF_PROMETHEUS = {"up", "ALERTS"}
LABELS_OF_PROMETHEUS = {"job", "instance", "le"}
NAME = re.compile(r"\b(touchbase_\w+|process_\w+|up)\b(?:\{([^}]*)\})?")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[str]:
    for rule in rules():
        yield rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield target["expr"]


def series() -> dict[str, Metric[*tuple[Any, ...]]]:
    """What Prometheus calls the series of each metric."""
    result: dict[str, Metric[*tuple[Any, ...]]] = {}
    for metric in METRICS:
        for end in ("_bucket", "_count", "_sum") if isinstance(metric, Histogram) else ("",):
            result[metric.name + end] = metric
    return result


def test_expressions__name_metrics_and_labels_that_there_are() -> None:
    expected = series()
    of_the_process = set(re.findall(r"^\| `(process_\w+)`", PAGE.read_text(), re.MULTILINE))
    for expression in expressions():
        labels: set[str] = set()
        for name, matchers in NAME.findall(expression):
            assert name in expected or name in of_the_process | OF_PROMETHEUS, expression
            own = set(expected[name].labels) if name in expected else set()
            labels |= own
            assert set(re.findall(r"(\w+)\s*[=!]~?\"", matchers)) <= own | LABELS_OF_PROMETHEUS, expression
        for grouped in re.findall(r"\bby \(([^)]*)\)", expression):
            matches = set(re.findall(r'label_replace\(.*?, "(\w+)",', expression))
            assert {word.strip() for word in grouped.split(",")} <= labels | matches | LABELS_OF_PROMETHEUS, expression


def test_dashboard__shows_every_metric() -> None:
    shown = {name for expression in expressions_of_panels() for name, _ in NAME.findall(expression)}
    assert {metric.name for metric in METRICS} == {value.name for key, value in series().items() if key in shown}


def expressions_of_panels() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def test_dashboard__says_of_each_panel_what_it_shows_and_puts_none_over_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        assert panel["description"], panel["title"]
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_alerts__are_those_that_the_page_lists() -> None:
    assert {rule["alert"] for rule in rules()} == set(re.findall(r"^\| `(Touchbase\w+)` \|", PAGE.read_text(), re.MULTILINE))


def test_alerts__lead_to_a_section_that_says_what_to_do() -> None:
    for rule in rules():
        path, _, anchor = rule["annotations"]["runbook"].partition("#")
        headings = re.findall(r"^#+ (.*)$", (ROOT / path).read_text(), re.MULTILINE)
        assert not anchor or anchor in {re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in headings}, rule["alert"]


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_alerts__fire_as_their_own_tests_say() -> None:
    done = subprocess.run(["promtool", "test", "rules", "alerts_test.yaml"], cwd=ALERTS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
