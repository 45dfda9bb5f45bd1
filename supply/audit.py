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
    found = Findings(unknown=set(packages))
    for service in SERVICES:
        if found.unknown:
            take(found, report(service), packages)
    return tell(found)


def report(service: str) -> dict[str, Any] | None:
    """pip-audit's report from one service; None when it gave none."""
    options = ["--require-hashes", "--disable-pip", "--format", "json", "--progress-spinner", "off", "--timeout", "10"]
    command = [sys.executable, "-m", "pip_audit", *options, "--vulnerability-service", service, "--requirement", str(EVERYTHING)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        made: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return None
    return made


def take(found: Findings, answer: Mapping[str, Any] | None, packages: Iterable[str]) -> None:
    """Note what a report says of packages that were unknown so far."""
    for each in (answer or {}).get("dependencies", []):
        name = each["name"]
        if name not in packages or "vulns" not in each:
            continue
        found.unknown.discard(name)
        if each["vulns"]:
            told = [f"{hole['id']} (mended in {', '.join(hole['fix_versions']) or 'nothing yet'})" for hole in each["vulns"]]
            found.holes.setdefault(name, []).extend(told)
        else:
            found.sound.add(name)


def tell(found: Findings) -> int:
    """Say what was found; answers the exit status."""
    for name, holes in sorted(found.holes.items()):
        print(f"audit: HOLE in {name}: {'; '.join(holes)}", file=sys.stderr)
    if found.unknown:
        about = "no package" if not found.sound and not found.holes else f"{len(found.sound) + len(found.holes)} packages"
        print(f"audit: NOT AUDITED: {about} could be looked up, {len(found.unknown)} could not; run `make audit` where", file=sys.stderr)
        print("audit: NOT AUDITED: pip-audit reaches an advisory service. This is no statement that they are sound.", file=sys.stderr)
    if found.holes:
        return HOLES
    if found.unknown:
        return UNKNOWN
    print(f"audit: {len(found.sound)} packages, no known holes")
    return CLEAN


if __name__ == "__main__":
    sys.exit(main())
