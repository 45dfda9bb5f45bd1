"""Groups, replays by filter and rehearsals of the inbox, and `touchbase verify`."""

from __future__ import annotations

import json
import time

import apsw
import pytest
from tests.cli.conftest import Run
from tests.cli.test_commands import NONSENSE, SENT, keep

from touchbase.inbox import replay as service

DEALS = [b" " * number + b'[{"subscriptionType": "deal.creation", "portalId": 1, "objectId": 1}]' for number in range(9)]
DAY_AFTER_EPOCH = "1970-01-02T00:00:00Z"


def execute_sql(statement: str) -> None:
    connection = apsw.Connection("touchbase.db")
    connection.execute(statement)
    connection.close()


def states(store: Run) -> list[str]:
    return [item["state"] for item in json.loads(store("inbox", "list", "--json").output)]


def test_inbox_groups__are_printed_as_a_table(store: Run) -> None:
    keep(*DEALS, channel="crm")
    keep(NONSENSE)
    store("worker", "--once")

    lines = store("inbox", "list", "--group").output.splitlines()

    assert lines[0].split() == ["CALLS", "CLIENT", "CHANNEL", "TOOL", "STATE", "EVENT", "KEYS", "FIRST", "LAST", "EXAMPLE", "WHY"]
    assert lines[1].split()[:6] == ["9", "acme", "crm", "hubspot", "ignored", "deal.creation"]
    assert lines[2].split()[:5] == ["1", "acme", "email_campaign", "-", "unrecognised"]


def test_inbox_list__says_what_to_do_about_a_webhook_at_the_wrong_address(store: Run) -> None:
    keep(SENT.replace(b"{", b'{"workspace":"w1","campaign_id":"c1","email_account":"you@example.net",'), channel="crm")
    store("worker", "--once")

    listed, grouped = store("inbox", "list").output, store("inbox", "list", "--group").output

    assert ["Configure the client's email_campaign address in instantly" in table for table in (listed, grouped)] == [True, True]


def test_inbox_output__escapes_control_characters(store: Run) -> None:
    odd = "\x1b[2J\x07\x9b"
    keep(json.dumps([{"subscriptionType": f"deal.{odd}", "portalId": 1, "objectId": 1}], ensure_ascii=False).encode(), channel="crm")
    store("worker", "--once")
    requested = [["list"], ["list", "--group"], ["show", "1"], ["replay", "1", "--dry-run"]]

    outputs = [store("inbox", *item).output for item in requested]

    assert [("deal.\\x1b[2J\\x07\\x9b" in output, "\x1b" in output) for output in outputs] == [(True, False)] * 4


@pytest.mark.parametrize("command", ["list", "replay"])
def test_inbox_tool_filter__rejects_an_unknown_tool(store: Run, command: str) -> None:
    refused = store("inbox", command, "--tool", "HubSpot")

    assert refused.exit_code == 2
    assert "no tool is called 'HubSpot'" in refused.output
    assert "touchbase tools" in refused.output


def test_inbox_groups__are_printed_as_json(store: Run) -> None:
    numbers = keep(SENT, b'{"what": 1}', b'{"what": 2 }')
    store("worker", "--once")

    groups = json.loads(store("inbox", "list", "--group", "--state", "unrecognised", "--json").output)

    assert [(group["count"], group["event"], group["keys"], group["example_id"]) for group in groups] == [(2, None, ["what"], numbers[-1])]
    assert groups[0]["reason"]


def test_inbox_groups__reject_the_state_applied(store: Run) -> None:
    result = store("inbox", "list", "--group", "--state", "applied")

    assert result.exit_code == 2
    assert "unrecognised, parked, failed, ignored" in result.output


def test_replay_dry_run__shows_each_result_and_the_changes(store: Run) -> None:
    sent, nonsense = keep(SENT, NONSENSE)

    by_id = store("inbox", "replay", "--dry-run", str(sent), str(nonsense)).output.splitlines()
    by_filter = store("inbox", "replay", "--dry-run", "--state", "received", "--channel", "email_campaign").output.splitlines()

    assert by_id[0] == f"{sent}  received -> applied, 1 events"
    assert by_id[1].startswith("    contact new: contact_status contacted, email contact@example.com, ")
    assert by_id[2].startswith(f"{nonsense}  received -> unrecognised, 0 events: The body is neither")
    assert by_id[3:] == [
        "2 deliveries would be applied again: 1 received -> applied, 1 received -> unrecognised",
        "1 records would be made, 0 would change",
    ]
    assert by_filter == by_id
    assert states(store) == ["received", "received"]


def test_inbox_replay__since_takes_only_later_deliveries(store: Run) -> None:
    keep(NONSENSE)
    store("worker", "--once")

    none = store("inbox", "replay", "--since", DAY_AFTER_EPOCH)
    first_store = store("inbox", "replay", "--received-since", "1970-01-01T00:00:00z")

    assert (none.output, first_store.output) == ("0 deliveries will be applied again\n", "1 delivery will be applied again\n")


def test_inbox_list__since_shows_only_later_deliveries(store: Run) -> None:
    keep(NONSENSE)

    documents = [json.loads(store("inbox", "list", "--json", "--since", since).output) for since in (DAY_AFTER_EPOCH, "1970-01-01")]

    assert [len(document) for document in documents] == [0, 1]


def test_since_option__accepts_a_duration(store: Run) -> None:
    keep(NONSENSE)
    three_hours_ago = time.time_ns() // 1000 - 3 * 3_600_000_000
    execute_sql(f"UPDATE delivery SET received_us = {three_hours_ago}")

    documents = [
        json.loads(store("inbox", "list", "--json", "--since", since).output) for since in ("2h", "150m", "200m", "4h", "999999999d")
    ]
    replayed = [store("inbox", "replay", "--since", since).output.split()[0] for since in ("2h", "1d")]

    assert [len(document) for document in documents] == [0, 0, 1, 1, 1]
    assert replayed == ["0", "1"]


def test_inbox_replay__counts_deliveries_without_a_body_separately(store: Run) -> None:
    keep(SENT, NONSENSE)
    store("worker", "--once")
    execute_sql("UPDATE delivery SET body_removed = 'retention', body_removed_us = 5 WHERE state = 'applied'")
    execute_sql("DELETE FROM delivery_body WHERE id IN (SELECT id FROM delivery WHERE body_removed IS NOT NULL)")

    rehearsed = store("inbox", "replay", "--dry-run", "--channel", "email_campaign").output.splitlines()
    replayed = store("inbox", "replay", "--channel", "email_campaign").output

    left_out = "; 1 delivery cannot be: the body was removed"
    assert rehearsed[-2] == f"1 delivery would be applied again: 1 unrecognised -> unrecognised{left_out}"
    assert replayed == f"1 delivery will be applied again{left_out}\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--since", "yesterday"], "'yesterday' is no time"),
        (["--state", "failed", "--from", "acme:x"], "'acme:x' is no place"),
        (["--from", "acme:1"], "either ids or filters"),
        (["17", "--from", "acme:1"], "--from goes with filters"),
        (["--state", "failed", "--from", "acme:99999999999999999999"], "is no place"),
        (["99999999999999999999"], "is not in the range"),
    ],
)
def test_inbox_replay__rejects_invalid_arguments(store: Run, arguments: list[str], says: str) -> None:
    result = store("inbox", "replay", *arguments)

    assert result.exit_code == 2
    assert says in result.output


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["show", "99999999999999999999"], 2, "is not in the range"),
        (["list", "--before", "99999999999999999999"], 2, "is not in the range"),
        (["list", "--group", "--before", "7"], 2, "--before goes with a list"),
        (["list", "--group", "--since", DAY_AFTER_EPOCH], 2, "--since goes with a list"),
        (["list", "--since", "yesterday"], 2, "'yesterday' is no time"),
        (["show", "5"], 1, "there is no delivery with id 5: `touchbase inbox list`"),
        (["replay", "5"], 1, "there is no delivery with id 5: `touchbase inbox list`"),
    ],
)
def test_inbox__rejects_invalid_ids_and_options_with_advice(store: Run, arguments: list[str], status: int, says: str) -> None:
    result = store("inbox", *arguments)

    assert result.exit_code == status
    assert says in result.output


def test_inbox_replay__that_is_interrupted_says_how_to_go_on(store: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(*(b"%d nonsense" % number for number in range(5)))
    keep(NONSENSE, client_id="zeta")
    store("worker", "--once")
    replay_page, calls = service.replay_page, []

    async def stopped(*arguments: object) -> int:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return await replay_page(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr("touchbase.inbox.replay.replay_page", stopped)
        patched.setattr(service.pages, "__defaults__", (None, 2))
        result = store("inbox", "replay", "--state", "unrecognised")
    remaining_store = store("inbox", "replay", "--state", "unrecognised", "--from", "acme:4")

    assert result.exit_code == 130
    assert "stopped after 2 of 6; go on with --from acme:4" in result.stderr
    assert remaining_store.output == "4 deliveries will be applied again\n"
    assert states(store) == ["received"] * 6


def test_verify__reports_a_consistent_store_in_one_line(store: Run) -> None:
    keep(SENT, NONSENSE)
    store("worker", "--once")

    result = store("verify")

    assert (result.exit_code, result.output) == (0, "verified 1 contacts, 0 companies, 1 events: no differences\n")


def test_verify__corrects_counts_of_statuses_if_told_to(store: Run) -> None:
    keep(SENT)
    store("worker", "--once")
    execute_sql("UPDATE status_move SET n = 7 WHERE span < 0")
    line = "acme: contact statuses: '' to 'contacted' in span -2147483648 is 7, and must be 1"

    results = [store("verify", *options) for options in ((), ("--recount",), (), ("--recount", "--json"))]

    counts = "verified 1 contacts, 0 companies, 1 events"
    assert [result.output.splitlines() for result in results[:3]] == [
        [line, f"{counts}: 1 differences"],
        [line, f"{counts}: no differences, 1 wrong counts corrected"],
        [f"{counts}: no differences"],
    ]
    assert [result.exit_code for result in results] == [1, 0, 0, 0]
    assert json.loads(results[3].output) == {"differences": [], "contacts": 1, "companies": 0, "events": 1}


def test_verify__reports_a_difference_and_fails(store: Run) -> None:
    keep(SENT)
    keep(SENT + b" ", client_id="other")
    store("worker", "--once")
    execute_sql("UPDATE contact SET status = 'won' WHERE id = 1")

    full_store, first_store, none = store("verify"), store("verify", "--client", "acme"), store("verify", "--client", "other")

    assert full_store.output.splitlines() == [
        "acme: contact 1: contact_status is 'won', and must be 'contacted'",
        "verified 2 contacts, 0 companies, 2 events: 1 differences",
    ]
    assert (full_store.exit_code, first_store.exit_code, none.exit_code) == (1, 1, 0)
    assert "verified 1 contacts" in first_store.output


def test_inbox_list__problems_shows_deliveries_with_a_problem(store: Run) -> None:
    keep(*(b'{"lead_email":"%b@example.com","event_type":"email_sent"}' % name for name in (b"a", b"b")))
    store("clients", "configure", "acme", "-", stdin='{"contact_statuses": {"statuses": ["New"], "transitions": {}}}')
    store("worker", "--once")
    keep(b'{"lead_email":"c@example.com","event_type":"email_opened"}')
    store("worker", "--once")

    listed = store("inbox", "list", "--problems")
    grouped = store("inbox", "list", "--problems", "--group")

    assert len(listed.output.splitlines()) == 3
    assert "asks for the status 'contacted'" in listed.output
    assert len(json.loads(store("inbox", "list", "--json").output)) == 3
    assert grouped.exit_code == 2
