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
