"""`touchbase relay`, as an operator uses it; and killed while contacts change."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import Run, no_width, own_logging, run, store  # noqa: F401
from tests.cli.test_serve import Serve, Server, serve  # noqa: F401

KILLS = 2


def lines(file: str) -> list[str]:
    return [json.loads(line)["data"]["id"] for line in Path(file).read_text().splitlines()]


def put(run: Run, *names: str) -> None:  # noqa: F811
    """Create contacts."""
    Path("people.csv").write_text("email\n" + "".join(f"{name}@example.com\n" for name in names))
    created = run("contacts", "import", "people.csv", "--client", "acme")
    assert created.exit_code == 0, created.output


@pytest.fixture
def acme(store: Run) -> Run:  # noqa: F811
    """A store with a client and three contacts."""
    store("clients", "add", "acme")
    put(store, "ada", "bob", "cy")
    return store


def test_once__appends_what_is_new_to_a_file(acme: Run) -> None:
    first = acme("relay", "--client", "acme", "--to", "file:events.ndjson", "--once")
    put(acme, "dee")
    second = acme("relay", "--client", "acme", "--to", "file:events.ndjson", "--once")

    assert (json.loads(first.stdout), json.loads(second.stdout)) == (
        {"events": 3, "cursor": "evt_3"}, {"events": 1, "cursor": "evt_4"},
    )  # fmt: skip
    assert lines("events.ndjson") == ["evt_1", "evt_2", "evt_3", "evt_4"]


def test_standard_output__has_events_only_and_the_checkpoint_moves(acme: Run) -> None:
    first = acme("relay", "--client", "acme", "--to", "-", "--once", "--checkpoint", "c", "--types", "contact.created")
    second = acme("relay", "--client", "acme", "--to", "-", "--once", "--checkpoint", "c")

    assert [json.loads(line)["data"]["id"] for line in first.stdout.splitlines()] == ["evt_1", "evt_2", "evt_3"]
    assert "3 events, up to evt_3" in first.stderr
    assert second.stdout == ""
    assert json.loads(Path("c").read_text()) == {"cursor": "evt_3", "client_id": "acme"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--client", "acme"], "say where events go"),
        (["--to", "-"], "give --client ID to read the store, or --url SERVER"),
        (["--to", "-", "--client", "acme", "--url", "https://a.example"], "give --client ID to read the store, or --url SERVER"),
        (["--to", "kafka://x/y", "--client", "acme"], "must be https"),
        (["--to", "https://a.example/", "--client", "acme"], "give --checkpoint FILE"),
        (["--to", "file:x", "--client", "acme", "--after", "latest"], "--after latest needs --checkpoint"),
        (["--to", "-", "--client", "acme", "--ignore-checkpoint"], "--ignore-checkpoint needs --after"),
        (["--to", "-", "--client", "acme", "--after", "7"], "must be `next_cursor`"),
        (["--to", "-", "--client", "acme", "--types", "contact.reply"], "did you mean contact.replied?"),
        (["--to", "-", "--url", "a.example"], "must be the address before /public"),
        (["--to", "-", "--client", "nobody"], "there is no client 'nobody'"),
        (["--to", "-", "--client", "acme", "--secret-file", "short"], "the secret must be whsec_"),
    ],
)
def test_options__that_do_not_fit_are_named(acme: Run, arguments: list[str], says: str) -> None:
    Path("short").write_text("whsec_?")

    result = acme("relay", "--once", *arguments)

    assert result.exit_code in (1, 2)
    assert says in " ".join(result.stderr.split())


def test_unreachable_receiver__ends_once_with_a_reason(acme: Run) -> None:
    result = acme("relay", "--client", "acme", "--to", "http://127.0.0.1:9/", "--checkpoint", "c", "--once")

    assert result.exit_code == 1
    assert "http://127.0.0.1:9 did not take evt_1: 127.0.0.1 cannot be reached" in result.stderr


@pytest.fixture
def server(serve: Serve) -> Server:  # noqa: F811
    return serve()


@pytest.mark.slow
def test_killed_relay__of_a_server_s_feed_has_each_event_once(server: Server, tmp_path: Path) -> None:
    created = 0
    for _ in range(KILLS + 1):
        relay = subprocess.Popen(
            [sys.executable, "-m", "touchbase", "relay", "--url", f"http://127.0.0.1:{server.port}", "--to", "file:events.ndjson"],
            cwd=tmp_path, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        file = tmp_path / "events.ndjson"
        before = file.read_bytes().count(b"\n") if file.exists() else 0
        until = time.monotonic() + 30
        while (file.read_bytes().count(b"\n") if file.exists() else 0) <= before and time.monotonic() < until:
            server.post("/public/v2/contacts", {"first_name": f"Contact {(created := created + 1)}"})
        relay.kill()
        relay.wait()
    last = subprocess.run(
        [sys.executable, "-m", "touchbase", "relay", "--url", f"http://127.0.0.1:{server.port}", "--to", "file:events.ndjson", "--once"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert json.loads(last.stdout)["cursor"] == f"evt_{created}"
    assert [json.loads(line)["data"]["id"] for line in file.read_text().splitlines()] == [f"evt_{n}" for n in range(1, created + 1)]


@pytest.mark.slow
def test_stopped_relay__says_where_it_continues(acme: Run, tmp_path: Path) -> None:
    relay = subprocess.Popen(
        [sys.executable, "-m", "touchbase", "relay", "--client", "acme", "--to", "-"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert relay.stdout is not None
    for _ in range(3):
        relay.stdout.readline()
    relay.terminate()
    _, errors = relay.communicate(timeout=30)

    assert relay.returncode == 0
    assert "stopped after evt_3; the same command continues" in errors
