"""`touchbase inbox list` with a search: by person, text and event, page after page."""

from __future__ import annotations

import json
import re

import pytest
from tests.cli.conftest import Run
from tests.cli.test_commands import SENT, keep
from tests.cli.test_inbox import execute_sql

from touchbase.cli import inbox_search

REPLY = b'{"event_type":"reply_received","lead_email":"jane@example.com","timestamp":"2026-11-20T09:31:00Z"}'
LATE = 4
"""The id after those of the first process, which gave its unused ids back."""
RIDDLE = b'{"what": "Jane <jane@example.com> asks: call me"}'


@pytest.fixture
def replied(store: Run) -> Run:
    """1: a mail to another person, 2: Jane's reply, 3: not understood, LATE: a reply that is not applied yet."""
    keep(SENT, REPLY, RIDDLE)
    store("worker", "--once")
    assert keep(REPLY + b" ") == [LATE]
    return store


def ids(run: Run, *arguments: str) -> list[int]:
    return [item["id"] for item in json.loads(run("inbox", "list", "--json", *arguments).stdout)]


def test_inbox_list__finds_deliveries_by_person_text_event_and_time(replied: Run) -> None:
    assert ids(replied, "--email", "Jane@example.com") == [LATE, 3, 2]
    assert ids(replied, "--email", "jane@example.com", "--event", "email_replied") == [2]
    assert ids(replied, "--contact-id", "2", "--state", "unrecognised") == [3]
    assert ids(replied, "--text", "CALL ME", "--client", "acme") == [3]
    assert ids(replied, "--event", "email_sent") == [1]
    assert ids(replied, "--email", "jane@example.com", "--since", "1d") == []
    assert ids(replied, "--email", "jane@example.com", "--until", "1970-01-02") == [LATE, 3, 2]
    assert ids(replied, "--linkedin", "linkedin.com/in/jane") == []


def test_inbox_list__prints_events_and_people(replied: Run) -> None:
    lines = replied("inbox", "list", "--email", "jane@example.com").output.splitlines()

    assert lines[0].split()[:8] == ["ID", "RECEIVED", "CLIENT", "TOOL", "STATE", "EVENT", "PERSON", "CHANNEL"]
    assert "email_replied  jane@example.com (2)" in lines[3]
    assert "unrecognised" in lines[2]


def test_inbox_list__goes_on_with_the_cursor_that_it_prints(replied: Run) -> None:
    first = replied("inbox", "list", "--email", "jane@example.com", "--limit", "2")
    printed = re.search(r"there may be more: --cursor (\S+)", first.output)
    assert printed is not None

    assert ids(replied, "--email", "jane@example.com", "--limit", "2", "--cursor", printed[1]) == [2]


def test_inbox_list__stops_when_its_time_is_up_and_says_how_far_it_came(replied: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_search, "SECONDS", -1.0)
    monkeypatch.setattr("touchbase.inbox.search.MOST_SECONDS", -1.0)

    stopped = replied("inbox", "list", "--text", "nowhere to be found")

    assert re.search(r"searched back to 1970-01-01T00:00:00\S*; there may be more: --cursor \S+", stopped.output)


def test_inbox_list__names_bodies_that_it_cannot_search(replied: Run) -> None:
    replied("clients", "configure", "acme", "-", stdin='{"keep_bodies_days": 1}')
    execute_sql("UPDATE delivery SET applied_us = 3 WHERE applied_us IS NOT NULL")
    replied("prune")

    searched = replied("inbox", "list", "--text", "jane@")

    assert "2 bodies not searched: removed by retention (such as delivery 2)" in searched.output
    assert ids(replied, "--email", "jane@example.com") == [LATE, 3, 2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--email", "jane"], "--email: "),
        (["--email", "a@b.example", "--contact-id", "1"], "give one of --email, --linkedin and --contact-id"),
        (["--linkedin", "https://www.linkedin.com/"], "--linkedin: is not the address of a LinkedIn profile"),
        (["--text", ""], "--text must have 1 to 200 characters"),
        (["--text", "a", "--before", "3"], "--before goes with a list"),
        (["--text", "a", "--group"], "not with --group"),
        (["--until", "1d", "--group"], "--until goes with a list"),
        (["--cursor", "x"], "--cursor goes on with a search"),
        (["--text", "a", "--cursor", "x"], "--cursor: is not a cursor"),
        (["--event", "replied"], "email_replied"),
    ],
    ids=str,
)
def test_inbox_list__refuses_options_that_do_not_go_together(replied: Run, arguments: list[str], says: str) -> None:
    refused = replied("inbox", "list", *arguments)

    assert (refused.exit_code, says in refused.output) == (2, True), refused.output


def test_inbox_list__asks_for_the_client_when_there_are_several(replied: Run) -> None:
    keep(SENT, client_id="other")

    refused = replied("inbox", "list", "--email", "jane@example.com")

    assert refused.exit_code == 2
    assert "--client: must name the client whose deliveries are meant" in refused.output
