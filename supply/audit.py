"""`make audit`: whether a package of the lock has a known hole. Ends with 0 only when each of them was looked up and has none.

pip-audit itself ends well when it could look nothing up ("not found, skipped"), as it does where only a mirror of
the package index can be reached. So its report is read here: 1 is a hole, 3 is that nobody could be asked about
some package, and both are said loudly.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from supply.lock import EVERYTHING, locked

SERVICES = ("pypi", "osv")
CLEAN, HOLES, UNKNOWN = 0, 1, 3
SECONDS = 300


@dataclass
class Findings:
    """What is known after asking: packages with holes, packages without, and those that nobody knew."""

    holes: dict[str, list[str]] = field(default_factory=dict)
    sound: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)


def main() -> int:
    """Ask each service in turn until every package is known."""
    packages = {package.name: package.version for package in locked(EVERYTHING)}
    findings = Findings(unknown=set(packages))
    for service in SERVICES:
        if findings.unknown:
            take(findings, report(service), packages)
    return tell(findings)


def report(service: str) -> dict[str, Any] | None:
    """pip-audit's report from one service; None when it gave none."""
    options = ["--require-hashes", "--disable-pip", "--format", "json", "--progress-spinner", "off", "--timeout", "10"]
    command = [sys.executable, "-m", "pip_audit", *options, "--vulnerability-service", service, "--requirement", str(EVERYTHING)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        document: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return None
    return document


def take(findings: Findings, answer: Mapping[str, Any] | None, packages: Iterable[str]) -> None:
    """Note what a report says of packages that were unknown so far."""
    for dependency in (answer or {}).get("dependencies", []):
        name = dependency["name"]
        if name not in packages or "vulns" not in dependency:
            continue
        findings.unknown.discard(name)
        if dependency["vulns"]:
            reported = [f"{hole['id']} (mended in {', '.join(hole['fix_versions']) or 'nothing yet'})" for hole in dependency["vulns"]]
            findings.holes.setdefault(name, []).extend(reported)
        else:
            findings.sound.add(name)


def tell(findings: Findings) -> int:
    """Say what was found; answers the exit status."""
    for name, holes in sorted(findings.holes.items()):
        print(f"audit: HOLE in {name}: {'; '.join(holes)}", file=sys.stderr)
    if findings.unknown:
        about = "no package" if not findings.sound and not findings.holes else f"{len(findings.sound) + len(findings.holes)} packages"
        print(f"audit: NOT AUDITED: {about} could be looked up, {len(findings.unknown)} could not; run `make audit` where", file=sys.stderr)
        print("audit: NOT AUDITED: pip-audit reaches an advisory service. This is no statement that they are sound.", file=sys.stderr)
    if findings.holes:
        return HOLES
    if findings.unknown:
        return UNKNOWN
    print(f"audit: {len(findings.sound)} packages, no known holes")
    return CLEAN


if __name__ == "__main__":
    sys.exit(main())
