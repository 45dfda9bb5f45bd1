"""`touchbase endpoints`: add, list, replay, resume, rotate and remove."""

from __future__ import annotations

import json

from tests.cli.conftest import Run


def test_commands__show_and_change_an_endpoint(store: Run) -> None:
    env = {"TOUCHBASE_ENCRYPTION_KEY": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}
    acme = ("--client", "acme")
    store("clients", "add", "acme", env=env)
    url = "https://receiver.example/hooks"
    document = json.loads(store("endpoints", "add", *acme, url, "--type", "contact.replied", "--json", env=env).stdout)

    listed = json.loads(store("endpoints", "list", "--json", env=env).stdout)
    rotated = json.loads(store("endpoints", "rotate-secret", *acme, "1", "--json", env=env).stdout)
    refused = store("endpoints", "add", *acme, "http://receiver.example/hooks", env=env)
    missing = store("endpoints", "replay", *acme, "1", "--event", "evt_7", env=env)
    resumed = store("endpoints", "resume", *acme, "1", env=env)
    attempts = store("endpoints", "attempts", *acme, env=env)
    removed = store("endpoints", "remove", *acme, "1", env=env)

    assert [(first["id"], first["url"], first["types"], first.get("secret")) for first in listed] == [
        (1, document["url"], ["contact.replied"], None)
    ]
    assert document["secret"].startswith("whsec_")
    assert rotated["secret"] not in ("", document["secret"])
    assert (refused.exit_code, "https" in refused.stderr) == (2, True)
    assert (missing.exit_code, "there is no event evt_7" in missing.stderr) == (1, True)
    assert [item.exit_code for item in (resumed, attempts, removed)] == [0, 0, 0]
    assert json.loads(store("endpoints", "list", "--json", env=env).stdout) == []


def test_commands__with_all_clients_are_about_the_endpoints_of_all(store: Run) -> None:
    env = {"TOUCHBASE_ENCRYPTION_KEY": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}
    every = ("--client", "all")
    store("clients", "add", "acme", env=env)
    document = json.loads(store("endpoints", "add", *every, "https://receiver.example/hooks", "--json", env=env).stdout)
    own = json.loads(store("endpoints", "add", "--client", "acme", "https://receiver.example/own", "--json", env=env).stdout)

    listed = json.loads(store("endpoints", "list", "--json", env=env).stdout)
    shared = json.loads(store("endpoints", "list", *every, "--json", env=env).stdout)
    rotated = json.loads(store("endpoints", "rotate-secret", *every, str(document["id"]), "--json", env=env).stdout)
    resumed = store("endpoints", "resume", *every, str(document["id"]), env=env)
    attempts = store("endpoints", "attempts", "--endpoint", str(document["id"]), env=env)
    replayed = store("endpoints", "replay", *every, str(document["id"]), "--event", "evt_1", env=env)
    removed = store("endpoints", "remove", *every, str(document["id"]), env=env)

    assert [(one["client_id"], one["id"]) for one in listed] == [(None, document["id"]), ("acme", own["id"])]
    assert [(one["id"], one["clients"], one["copies"]["clients"]) for one in shared] == [(document["id"], "all", 0)]
    assert rotated["secret"] != document["secret"]
    assert [each.exit_code for each in (resumed, attempts, removed)] == [0, 0, 0]
    assert (replayed.exit_code, "name one client" in replayed.stderr) == (2, True)


def test_client__is_named_by_its_handle_too(store: Run) -> None:
    store("clients", "add", "acme")
    [client] = json.loads(store("clients", "list", "--json").stdout)

    added = store("contacts", "create", "--client", client["handle"], "email=ann@x.example")
    listed = json.loads(store("contacts", "list", "--client", "acme", "--json").stdout)

    assert (added.exit_code, len(listed)) == (0, 1)
