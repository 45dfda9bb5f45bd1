"""deploy/high-availability, run on this machine: a lost primary loses nothing, and the page names the files that were run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bench.server_process import CannotMeasure
from fault_tests.__main__ import main
from fault_tests.high_availability import files, hosts
from fault_tests.high_availability.files import SHIPPED, Addresses, Ports
from fault_tests.high_availability.senders import Attempt, Senders

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "run-with-high-availability.md"
LACKING = hosts.missing()
ADDRESSES = Addresses({"db1": Ports(1001, 1002), "db2": Ports(2001, 2002)}, 3001, 3002, 4001, 5001)


@pytest.mark.serial
@pytest.mark.weekly
@pytest.mark.skipif(bool(LACKING), reason=f"these packages of Debian are not here: {', '.join(LACKING)}")
def test_killed_and_switched_primary__lose_nothing(tmp_path: Path) -> None:
    """Takes a minute and a half: Patroni waits 20 s before it replaces a primary that is silent."""
    status = main(["--only", "patroni", "--engine", "postgresql", "--short", "--still", "15", "--out", str(tmp_path), "--seed", "7"])
    rows = json.loads((tmp_path / "report.json").read_text())["rows"]

    assert [row["complaints"] for row in rows] == [[], []]
    assert (status, len(rows)) == (0, 2)
    for row in rows:
        assert row["acknowledged"] > 100
        assert row["more"]["refused"] > 0, "the load met no moment without a primary"


def test_page__names_the_files_that_are_run() -> None:
    linked = set(re.findall(r"\]\(\.\./\.\./deploy/high-availability/([\w.]+)\)", PAGE.read_text(encoding="utf-8")))

    assert linked == {path.name for path in SHIPPED.iterdir()}


def test_filled_files__have_no_address_of_the_page_left(tmp_path: Path) -> None:
    folder = Path("/folder")
    texts = {
        "patroni.yml": files.patroni("db2", ADDRESSES, folder, Path("/programs")),
        "haproxy.cfg": files.haproxy(ADDRESSES, folder),
        "pgbouncer.ini": files.pgbouncer(ADDRESSES, folder),
        "etcd.env": "\n".join(files.etcd(ADDRESSES, folder).values()),
    }

    assert texts.keys() == {path.name for path in SHIPPED.iterdir()}
    left = {
        name: re.findall(r"^[^#;]*(?:10\.0\.0\.\d+|/var/|/usr/|\b(?:5432|6432|5000|2379|8008)\b).*$", text, re.MULTILINE)
        for name, text in texts.items()
    }
    assert not any(left.values()), left


def test_filled__refuses_a_file_that_no_longer_has_a_place() -> None:
    with pytest.raises(CannotMeasure, match=r"haproxy.cfg does not say '10.9.9.9'"):
        files.filled("haproxy.cfg", {"10.9.9.9": "127.0.0.1"})


def test_longest_gap__counts_from_the_loss_of_the_primary() -> None:
    senders = Senders.__new__(Senders)
    senders.attempts = [Attempt(1, 2, True), Attempt(2, 9, True), Attempt(4, 5, False), Attempt(9, 10, True)]

    assert senders.longest_gap(3) == 6
    assert senders.acknowledged_since(8.5)
    assert not senders.acknowledged_since(9.5)
    assert senders.p99_ms(0, 3) == 1000
    assert senders.p99_ms(3, 11, acknowledged=False) == 1000
