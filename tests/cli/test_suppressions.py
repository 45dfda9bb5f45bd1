"""`touchbase suppressions`: lists of addresses that must not be contacted, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

ACME = ("--client", "acme")
FILE = "Email,Reason,Note\njane@example.com,legal,letter\n\njoe@example.com,,\nbroken@,,\nann@example.com,dislike,\n"


@pytest.fixture
def lists(store: Run) -> Run:
    """A store with a client."""
    assert store("clients", "add", "acme").exit_code == 0
    return store


def shown(run: Run, *options: str) -> list[dict[str, Any]]:
    result = run("suppressions", "list", *(options or ACME), "--json")
    assert result.exit_code == 0, result.output
    return list(json.loads(result.stdout))


def test_addresses__are_added_listed_and_removed(lists: Run) -> None:
    added = lists("suppressions", "add", *ACME, "Jane@Example.com", "rival.example", "--reason", "legal", "--note", "letter")
    again = lists("suppressions", "add", *ACME, "jane@example.com", "--reason", "legal", "--note", "letter")
    listed = lists("suppressions", "list", *ACME).output

    assert added.output == "created: jane@example.com (legal)\ncreated: rival.example (legal)\n"
    assert again.output == "unchanged: jane@example.com (legal)\n"
    assert "jane@example.com" in listed
    assert [(item["kind"], item["value"], item["source"], item["note"]) for item in shown(lists)] == [
        ("email", "jane@example.com", "person", "letter"),
        ("domain", "rival.example", "person", "letter"),
    ]
    assert lists("suppressions", "remove", *ACME, "JANE@example.com", str(shown(lists)[1]["id"])).output == (
        "removed: jane@example.com (legal)\nremoved: rival.example (legal)\n"
    )
    assert shown(lists) == []


def test_list__is_filtered_and_comes_in_pages(lists: Run) -> None:
    lists("suppressions", "add", *ACME, "jane@example.com", "rival.example", "joe@example.com")

    first = lists("suppressions", "list", *ACME, "--limit", "2")

    assert f"there are more: --after {shown(lists)[1]['id']}" in first.stderr
    assert [item["value"] for item in shown(lists, *ACME, "--after", str(shown(lists)[1]["id"]))] == ["joe@example.com"]
    assert [item["value"] for item in shown(lists, *ACME, "--kind", "domain")] == ["rival.example"]
    assert [item["value"] for item in shown(lists, *ACME, "--value", "JOE@example.com")] == ["joe@example.com"]


def test_lists_without_a_client__are_those_of_all_clients(lists: Run) -> None:
    lists("clients", "add", "birch")
    for client, address in (("acme", "jane@example.com"), ("birch", "joe@example.com")):
        lists("suppressions", "add", "--client", client, address)
    lists("suppressions", "add", "--installation", "rival.example")

    listed = [(item["client_id"], item["value"]) for item in shown(lists, "--kind", "email")]
    exported = lists("suppressions", "export").stdout.splitlines()

    assert listed == [("acme", "jane@example.com"), ("birch", "joe@example.com")]
    assert [item["value"] for item in shown(lists, "--client", "birch")] == ["joe@example.com"]
    assert [line.split(",")[:3] for line in exported] == [
        ["client_id", "kind", "value"],
        ["acme", "email", "jane@example.com"],
        ["birch", "email", "joe@example.com"],
    ]
    assert "name the list" in lists("suppressions", "add", "jo@example.com").stderr


def test_installation__has_a_list_of_its_own(lists: Run) -> None:
    lists("suppressions", "add", "--installation", "rival.example")

    assert shown(lists) == []
    assert [item["value"] for item in shown(lists, "--installation")] == ["rival.example"]
    assert lists("suppressions", "remove", "--installation", "rival.example").exit_code == 0
    assert shown(lists, "--installation") == []


def test_file__is_imported_and_its_bad_rows_are_named(lists: Run) -> None:
    Path("list.csv").write_text(FILE, encoding="utf-8-sig")

    result = lists("suppressions", "import", "list.csv", *ACME, "--reason", "customer")
    again = lists("suppressions", "import", "list.csv", *ACME, "--reason", "customer", "--json")

    assert (result.exit_code, again.exit_code) == (1, 1)
    assert result.stdout == "2 created, 0 updated, 0 unchanged, 2 invalid\n"
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == ["line 5", "line 6"]
    assert {item["value"]: (item["reason"], item["source"]) for item in shown(lists)} == {
        "jane@example.com": ("legal", "import"),
        "joe@example.com": ("customer", "import"),
    }
    document = json.loads(again.stdout)
    assert (document["created"], document["unchanged"], len(document["errors"])) == (0, 2, 2)


def test_file__with_an_entry_that_the_server_refuses_names_its_line_and_stores_the_others(lists: Run) -> None:
    rows = "email,until\njane@example.com,\njoe@example.com,2020-01-01\nann@example.com,\n"

    result = lists("suppressions", "import", "-", *ACME, stdin=rows)

    assert (result.exit_code, result.stdout) == (1, "2 created, 0 updated, 0 unchanged, 1 invalid\n")
    assert result.stderr.startswith("line 3: must lie after `since`")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("jane@example.com\nrival.example\n", ["jane@example.com", "rival.example"]),
        ("Name;Website;Email\nJane;https://rival.example/x;jane@example.com\n", ["jane@example.com", "rival.example"]),
        ("kind\tvalue\nlinkedin_url\thttps://www.linkedin.com/in/Jane\n", ["linkedin.com/in/jane"]),
        ("", []),
    ],
)
def test_file__may_have_one_column_without_a_name_and_any_delimiter(lists: Run, text: str, values: list[str]) -> None:
    result = lists("suppressions", "import", "-", *ACME, stdin=text)

    assert result.exit_code == 0, result.output
    assert sorted(item["value"] for item in shown(lists)) == values


def test_exported_file__is_imported_elsewhere_as_it_was(lists: Run) -> None:
    lists("suppressions", "add", *ACME, "jane@example.com", "--note", "=1+1", "--until", "2099-01-01T00:00:00Z")
    lists("suppressions", "add", *ACME, "rival.example", "--reason", "competitor")

    assert lists("suppressions", "export", *ACME, "--out", "list.csv").exit_code == 0
    assert lists("suppressions", "import", "list.csv", "--installation").exit_code == 0

    compared = ("kind", "value", "reason", "note", "since", "until")
    mine, theirs = ([{name: item[name] for name in compared} for item in shown(lists, *which)] for which in (ACME, ("--installation",)))
    assert mine == theirs
    assert Path("list.csv").read_text(encoding="utf-8").splitlines()[0] == "kind,value,reason,source,since,until,note"
    exported = json.loads(lists("suppressions", "export", *ACME, "--json").stdout)
    assert [item["value"] for item in exported] == ["jane@example.com", "rival.example"]
    assert json.loads(lists("suppressions", "export", *ACME, "--kind", "linkedin_url", "--json").stdout) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "jane@example.com"), "name the list: --client CLIENT_ID, or --installation"),
        (("add", *ACME, "--installation", "jane@example.com"), "name the list"),
        (("add", *ACME, "jane"), "'jane' is not a domain name"),
        (("add", *ACME, "jane@example.com", "--until", "2020-01-01T00:00:00Z"), "is over"),
        (("remove", *ACME, "jane@example.com"), "jane@example.com is not on this list: `touchbase suppressions list` shows all"),
        (("import", *ACME, "none.csv"), "none.csv"),
        (("list", *ACME, "--after", "99"), "--after names nothing on this list"),
    ],
)
def test_wrong_command__says_what_to_do(lists: Run, arguments: tuple[str, ...], message: str) -> None:
    result = lists("suppressions", *arguments)

    assert result.exit_code != 0
    assert message in result.output


def test_file_in_another_encoding__is_refused(lists: Run) -> None:
    Path("list.csv").write_bytes("j\xe4ne@example.com".encode("latin-1"))

    result = lists("suppressions", "import", "list.csv", *ACME)

    assert result.exit_code == 1
    assert "is not UTF-8" in result.output
