"""What docs/explanation/performance.md says about each section; the figures come from the runs."""

from __future__ import annotations

INTRODUCTION = """# Performance

Real servers (`touchbase serve`) on real stores, measured from outside; every write was flushed to disk before its response. Load
generator, server and PostgreSQL share the machine. `python -m bench.pages` makes this page from
[performance.json](performance.json), which has the newest run of each kind with its command, revision, disk and load.

```sh
make bench                                       # processor time, rates, fairness, start, memory, each against its limit: minutes
make performance                                 # everything on this page: two hours, 60 GB of disk, needs wrk
make profile                                     # where the time of each path goes: needs py-spy
.venv/bin/python -m bench.rerun compare-sqlite   # one run of this page
```

A rate is a median over bursts, with the smallest and largest in brackets. `ok` and `MISSED` stand where a limit is set.
PostgreSQL has its default settings, except `min_wal_size=1GB` and a log that was filled once: a fresh server stops commits for 30 to
60 ms while it makes each 16 MB of log.

## The machine
"""
SECTIONS = {
    "paths": """## Each operation

10,000 contacts with ten events each. The rate is a closed loop: each connection sends its next request after the response.
Latencies are an open loop at half of that rate: each request is due at a fixed time. Two limits stand next to them: the bare server
(HTTP and rules without a store), and the driver alone (the same rows written by apsw or asyncpg in flushed groups of 64). `apply`
processes a backlog.
""",
    "growth": """## Growth

The same requests go in turn to a store of 10,000 contacts and to a large one; each contact has ten events, two custom fields and a
tenth of a company. Requests are about the 10,000 contacts that were imported last, as in a campaign. `x` compares with the small
store: create, webhook, get and apply must reach 0.85 x, a page of 50 must take under 20 ms. "Scattered" requests meet each contact
once, in no order, so that each row is on a page of its own: the worst case. The stores of 10 million contacts hold no deliveries,
which would take 100 GB (SQLite) to 150 GB (PostgreSQL). "In memory" is tmpfs. "On disk" is bytes per contact, event and delivery.
""",
    "processes": """## Processor time

`python -m bench --only processor`. On SQLite at 32 connections a create took 185 us, a get 92 and a webhook with a new contact 390 us, in
a quiet hour before the last cuts. They took 10 % from both, seen in three rounds in turn on a busy machine (242 -> 218, 456 -> 407 us).
Of the webhook's time 100 us are its receipt, 135 its transaction (SQLite 50, flush 25, plans 45), 60 its translation in another
process, 15 the search index. Of the create's 15 are the index too; the remainder is the request and its share in a transaction of some
17 creates. A transaction of 8 webhooks, as while clients write, takes twice as much an event as one of 128.

With effect: many records in one statement of FTS5, which writes its tables after each (index 23 -> 12 us a record); no adapter asked of
which no rule has its keys in the body (translation 40 -> 33 us); time before the hash in the index of messages (a seventh fewer pages).
Without: SQLite without counters of memory, collections of garbage in translator processes, steps of 400 records. Not worth it: SQLite
without mutexes (2 %), which would no longer refuse the use of a connection by two threads.

## Records with very long histories

A merge by request moves and folds the histories of its records in one transaction. Two people with 40,000 events each cost 2.7 s of
a processor with mails, and 3.6 s with events of two CRM objects; on SQLite other writes wait so long. It grows with the number of
events: at 1,000 events each it is 0.1 s.

An event older than the last one folds its record's history again: 0.1 s of a processor at 32,000 events, one time for all such events
of a batch. The events of one webhook are applied oldest first, so that a list in any order folds none twice. What reads or writes more
than 1,000 rows at once goes on on a thread, also where it took a command or a webhook by surprise: other requests are answered in
between. A company with 30,000 contacts is deleted or restored in one transaction of 0.7 to 1.1 s of a processor, so that nobody sees half
of it: of the event loop it takes 0.1 s at most without a break, and on SQLite other writes wait so long.

## Imports

100,000 new rows of ten columns, with a company and three custom fields each (`python -m bench --only files`): on SQLite the process
that writes takes 100 to 125 us of its processor a row, by the load of the machine, and the sandbox process that reads the file 95 to
130 us, on another core. The aim of 60 us is not met. Of the server's share SQLite has 45 (the contact with its nine indexes 23, custom
fields 10, history and log 11), plans 35, the flush 5, and rows from the reader 11. A row that changes nothing takes 70 us.

A transaction has 500 rows, for which other writes of SQLite wait some 50 ms. On PostgreSQL a row takes about 100 us, and nothing waits.

## Reports

Processor time of a `GET`, a million contacts of 200 clients on SQLite, a fifth on PostgreSQL (d525008a, load 11 to 20): by status, 90 days,
80 and 366 ms, of one client 4, 22; by step of one 64, 114.

The first screen of 200 clients with a million contacts, and an event before each (`python -m bench --only console --sizes 1000000`,
4ddafa1d): 237 ms on SQLite, 266 on PostgreSQL; the aim is 300. A page of 50 conversations: 21 and 15 ms. The jump to the middle of a
million rows on PostgreSQL: 127 ms the first time (345 before counts were stored), 75 the next; the aim is 120.

## Several processes on PostgreSQL

`touchbase serve --workers N` at 128 connections, with `pg_stat_activity` sampled fifty times a second.
""",
    "compare": """## Compared with FastAPI and SQLModel

The usual template, a session for each request ([bench/template/app.py](../../bench/template/app.py)), with uvloop, httptools, WAL
with synchronous=FULL and BEGIN IMMEDIATE, and the best pool size. One process each, all flushed before the response. Its receiver
changes the contact before it responds, Touchbase afterwards.
""",
}
GROWTH = {
    "growth-sqlite": "SQLite",
    "growth-postgresql": "PostgreSQL",
    "growth-sqlite-long": "SQLite without deliveries",
    "growth-postgresql-long": "PostgreSQL without deliveries",
    "growth-sqlite-in-memory": "SQLite in memory",
}
"""How the columns of each run begin, in the order of the table."""
