"""`python -m bench.pages`: docs/explanation/performance.md, made from the JSON of the last runs in docs/explanation/performance/.

Nothing on the page is typed by hand but what each section measures: figures, verdicts and conclusions come from the runs.
`python -m bench.again` measures anew and then writes it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.report import TITLES, markdown_table

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "explanation" / "performance"
PAGE = ROOT / "docs" / "explanation" / "performance.md"
OF_A_RUN = ("measured", "load before", "disk", "PostgreSQL")
"""What every run tells of itself; of the rest of the machine it tells what is not as in the first run."""
INTRODUCTION = """# Performance

Figures of real servers (`touchbase serve`) on real stores, measured from outside. Every answer to a write was flushed to disk before it
was sent. This page is made from the JSON in [performance/](performance/) by `python -m bench.pages`; a test holds that it is.

```sh
make bench                                                # held to limits, in minutes: creates, webhooks, fairness, start, memory
make performance                                          # measure all that this page tells, and write it anew (two hours, 60 GB of disk)
.venv/bin/python -m bench.again compare-sqlite            # one part of it
.venv/bin/python -m bench --only growth --long            # up to ten million contacts with their deliveries (hours, 150 GB)
```

A rate is a median over bursts with the smallest and largest in brackets. `ok` and `MISSED` stand where a limit was set; `-` is told
only. The load generator, the server and PostgreSQL share the machine, and so do other programs: where they took much, a note says so.
A PostgreSQL that the run starts has its own settings but for `min_wal_size=1GB` and a log that was filled once before, as on a server that
is in use: a new one makes each 16 MB of its log while all who commit wait for 30 to 60 ms. Parts whose line of settings does not name
`min_wal_size` were measured without.

## The machine
"""
SECTIONS = {
    "paths": """## Every path

A store of ten thousand contacts with ten events each. Capacity is a closed loop: each connection sends its next request when the one
before is answered. Latency is an open loop at half of that capacity, in which a request is due at a fixed time whether or not others are
answered, and waits are counted from then. Beside them stand the limits of the same run: the bare server (our HTTP and our
rules with no store) and the driver alone (the rows of the same path written by apsw or asyncpg in groups of 64, each flushed).
`apply` works off a backlog; connections mean nothing to it.
""",
    "growth": """## Growth

The same calls go to a small store and a large one in turn. Each contact has ten events, their deliveries and bodies, two custom fields
and a tenth of a company; the rows are those that the service itself writes, multiplied, and `touchbase verify --no-bodies` finds no
difference in them. Calls are about ten thousand contacts: all of the small store, and of a large one those that were imported last, as a
campaign's are ([decision 24](../decisions/0024-what-growth-is-held-to.md)).

"Scattered over all of them" tells what it costs to meet each contact of a large store once and in no order, so that nearly every one is a
contact that was not touched before: each of its rows is then on a page of its own, to be found, written and flushed, and what does not
fit into memory is read from the disk; the notes tell how much that was for one request. The kernel of this machine takes away what
of a file was not used for a while, whether or not there is room (DAMON): a file of 10 GB does not stay in memory that has twice as
much. Stores on tmpfs tell what is left when nothing has to be read; flushes cost nothing there, for small and large stores alike.
Ten million contacts were measured without kept deliveries: with them they would take some 100 GB on SQLite and 150 GB on PostgreSQL, which
this machine does not have.
""",
    "processes": """## Several processes on PostgreSQL

`touchbase serve --workers N` at 128 connections. Meanwhile `pg_stat_activity` is sampled fifty times a second, and the processor time of
all parts is counted.
""",
    "compare": """## Beside what people would write

FastAPI and SQLModel with a session for each request ([bench/template/app.py](../../bench/template/app.py)): contacts with custom fields and a
webhook receiver, tuned (uvloop, httptools, WAL with synchronous=FULL and BEGIN IMMEDIATE, a pool whose size was tried out). One
process each, one run, all flushed before the answer. Its receiver changes the contact before it answers, ours after.
""",
    "profile": """## The three largest costs of each path

By py-spy under load at 64 connections: the functions that most of the time of all threads is spent in, each by itself. Calls into C
(SQLite, msgspec, the flush) count for the Python function that makes them: `write` is the commit with its flush, `_in_sets`, `_made` and
`_rows` are statements inside SQLite, `Cycle._send_whole` hands the answer to the socket, `Runner.run` is the event loop itself with what it
reads from sockets, and `Connection._do_execute` PostgreSQL's driver, which puts values into a message. `LineWriter._write` and `write_out`
mostly wait, the one for lines of the log, the other for its turn at the disk.
""",
}


def page(data: Path) -> str:
    """The page that these runs give."""
    reports = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(data.glob("*.json"))}
    first = next(iter(reports.values()))["machine"]
    lines = [INTRODUCTION, *(f"- {name}: {value}" for name, value in first.items() if name not in OF_A_RUN), ""]
    for section, about in SECTIONS.items():
        lines.append(about)
        here = {name: report for name, report in reports.items() if name.partition("-")[0] == section}
        for report in here.values():
            lines += _shown(report, first)
        if not here:
            lines += ["Not measured yet.", ""]
    return "\n".join(lines).rstrip() + "\n"


def _shown(report: dict[str, Any], first: dict[str, str]) -> Iterator[str]:
    rows = [(row["what"], row["measured"], row["limit"], row["verdict"]) for row in report["rows"]]
    yield from (*markdown_table(TITLES, rows), "")
    for each in report["details"]:
        yield from (f"### {each['title']}", "", *markdown_table(each["columns"], _cells(each["rows"])), "")
    yield from (f"- {note}" for note in report["notes"] if not note.startswith("not measured"))
    told = report["machine"]
    yield from (f"- {name}: {value}" for name, value in told.items() if name in OF_A_RUN or value != first.get(name))
    yield ""


def _cells(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[cell.replace("|", "\\|") for cell in row] for row in rows]


def write() -> None:
    """Write the page."""
    PAGE.write_text(page(DATA), encoding="utf-8")


if __name__ == "__main__":
    write()
    sys.exit(0)
