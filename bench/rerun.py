"""`python -m bench.rerun`: measure everything on `docs/explanation/performance.md`, and write the page.

Each run is a process of its own; its rows go into `docs/explanation/performance.json`. Names of runs choose some of them:
`python -m bench.rerun paths-sqlite compare-sqlite`.
"""

from __future__ import annotations

import subprocess
import sys

from bench.pages import keep, write
from bench.server_process import ROOT

RUNS = {
    "paths-sqlite": "bench --only paths --engine sqlite --rounds 3 --seconds 2 --backlog 30000",
    "paths-postgresql": "bench --only paths --engine postgresql --rounds 3 --seconds 2 --backlog 30000",
    "growth-sqlite": "bench --only growth --engine sqlite --rounds 3 --seconds 2 --backlog 30000 --grown .bench/grown",
    "growth-sqlite-in-memory": (
        "bench --only growth --engine sqlite --rounds 3 --seconds 2 --backlog 30000 --sizes 10000,1000000 --grown /dev/shm/touchbase-grown"
    ),
    "growth-sqlite-long": (
        "bench --only growth --engine sqlite --rounds 3 --seconds 2 --backlog 90000 --no-deliveries "
        "--sizes 10000,1000000,10000000 --grown .bench/long"
    ),
    "growth-postgresql": "bench --only growth --engine postgresql --rounds 3 --seconds 2 --backlog 30000",
    "growth-postgresql-long": (
        "bench --only growth --engine postgresql --rounds 3 --seconds 2 --backlog 90000 --no-deliveries --sizes 10000,10000000"
    ),
    "processes": "bench --only processes --engine postgresql --seconds 3 --rounds 2",
    "compare-sqlite": "bench --only compare --engine sqlite --rounds 3 --seconds 3",
    "compare-postgresql": "bench --only compare --engine postgresql --rounds 3 --seconds 3",
}
"""The module and its options, by the name of the JSON."""


def main() -> int:
    chosen, more = _chosen(sys.argv[1:])
    failed = [name for name in chosen if not _measured(name, more)]
    write()
    if failed:
        print(f"could not be measured, their figures stay what they were: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _measured(name: str, more: list[str]) -> bool:
    """Run it and keep its JSON. A missed limit is a figure too; only what could not be had at all is no run."""
    out = ROOT / ".bench" / "again" / name
    print(f"{name}:", flush=True)
    if subprocess.run([sys.executable, "-m", *RUNS[name].split(), *more, "--out", str(out)], cwd=ROOT, check=False).returncode:
        return False
    keep(name, out / "report.json", RUNS[name])
    return True


def _chosen(words: list[str]) -> tuple[list[str], list[str]]:
    """Names of runs, and after `--` options for all of them."""
    at = words.index("--") if "--" in words else len(words)
    names, more = words[:at], words[at + 1 :]
    unknown = [name for name in names if name not in RUNS]
    if unknown:
        raise SystemExit(f"no run is called {unknown[0]}; there are {', '.join(RUNS)}")
    return names or list(RUNS), more


if __name__ == "__main__":
    sys.exit(main())
