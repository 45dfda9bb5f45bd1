"""`touchbase endpoints` for people: Slack and e-mail on the command line, and Slack's URL nowhere else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

ACME = ("--client", "acme")
URL = "https://hooks.slack.example/services/T0/B0/zq095slackqz"
MAIL = {"TOUCHBASE_SMTP_URL": "smtp://sam:zq096mailqz@mail.example.com", "TOUCHBASE_SMTP_FROM": "touchbase@example.com"}


@pytest.fixture
def acme(store: Run) -> Run:
    """A store with a client."""
    assert store("clients", "add", "acme").exit_code == 0
    return store


@pytest.fixture
def channel() -> Iterator[tuple[str, list[Any]]]:
    """A channel's address on loopback, and what it got."""
    got: list[Any] = []

    class Channel(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Channel)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", got
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def hubspot() -> Iterator[tuple[str, list[str]]]:
    """HubSpot's address on loopback, and the tokens that it got."""
    tokens: list[str] = []

    class HubSpot(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tokens.append(self.headers["authorization"])
            self.send_response(200 if self.path == "/crm/v3/properties/contacts/touchbase_status" else 404)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), HubSpot)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", tokens
    server.shutdown()
    thread.join()
    server.server_close()


def test_slack_url__is_read_from_standard_input_and_shown_nowhere(acme: Run, tmp_path: Path) -> None:
    added = acme("endpoints", "add", *ACME, "--kind", "slack", "-", "--json", stdin=f"{URL}\n")
    listed = acme("endpoints", "list")
    doctor = acme("doctor")

    document = json.loads(added.stdout)
    assert (document["kind"], document["url"], document["types"], document["rate_limit"]) == (
        "slack", "https://hooks.slack.example/...", ["message.received", "contact.replied"], 1,
    )  # fmt: skip
    assert "secret" not in document
    assert "hooks.slack.example/..." in listed.output
    assert "zq095slackqz" not in added.output + listed.output + doctor.output
    assert all(b"zq095slackqz" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_mail__needs_a_server_and_recipients(acme: Run) -> None:
    without = acme("endpoints", "add", *ACME, "--kind", "email", "--to", "sales@example.com")
    nobody = acme("endpoints", "add", *ACME, "--kind", "email", env=MAIL)
    added = acme("endpoints", "add", *ACME, "--kind", "email", "--to", "a@example.com", "--to", "b@example.com", "--json", env=MAIL)

    assert without.exit_code == nobody.exit_code == 2
    assert "TOUCHBASE_SMTP_URL" in without.output
    assert "1 to 20 e-mail addresses" in nobody.output
    document = json.loads(added.stdout)
    assert (document["to"], document["url"]) == (["a@example.com", "b@example.com"], "mailto:a@example.com,b@example.com")
    assert "zq096mailqz" not in without.output + nobody.output + added.output


def test_mail__goes_to_the_domains_that_the_operator_lists(acme: Run) -> None:
    mail = MAIL | {"TOUCHBASE_SMTP_URL": "smtp://127.0.0.1:9"}
    add = ("endpoints", "add", *ACME, "--kind", "email", "--to", "a@partner.example")
    refused = acme(*add, env=mail)
    added = acme(*add, env=mail | {"TOUCHBASE_MAIL_DOMAINS": "example.com, partner.example"})
    tested = acme("endpoints", "test", *ACME, "1", "--json", env=mail)
    doctor = acme("doctor", "--json", env=mail)

    why = "'a@partner.example': the allowed domains are example.com; ask the operator to add partner.example to TOUCHBASE_MAIL_DOMAINS"
    assert (refused.exit_code, why in refused.output) == (2, True)
    assert added.exit_code == 0, added.output
    assert (tested.exit_code, why in json.loads(tested.stdout)["error"]) == (1, True)
    assert "no e-mail may be sent to 'a@partner.example'" in doctor.stdout


def test_test__sends_what_the_template_says(acme: Run, channel: tuple[str, list[Any]]) -> None:
    origin, got = channel
    allowed = {"TOUCHBASE_WEBHOOK_ALLOWED_ORIGINS": origin}
    template = ("--template", "{{person}}: {{contact.contact_status}}")
    added = acme("endpoints", "add", *ACME, "--kind", "slack", f"{origin}/services/x", *template, env=allowed)

    tested = acme("endpoints", "test", *ACME, "1", "--json", env=allowed)

    assert added.exit_code == tested.exit_code == 0, added.output + tested.output
    assert (json.loads(tested.stdout)["status"], json.loads(tested.stdout)["response_body"]) == (200, "ok")
    assert [first["blocks"][0]["text"]["text"] for first in got] == ["Ada Lovelace (ada@acme.example, Acme): replied"]


def test_template__with_an_unknown_value_is_refused_with_the_nearest(acme: Run) -> None:
    refused = acme("endpoints", "add", *ACME, "--kind", "slack", URL, "--template", "{{contact.emial}}")

    assert refused.exit_code == 2
    assert "did you mean 'contact.email'" in refused.output


def test_hubspot__is_added_once_its_connection_can_write_and_tested_with_its_token(acme: Run, hubspot: tuple[str, list[str]]) -> None:
    base, tokens = hubspot
    early = acme("endpoints", "add", *ACME, "--kind", "hubspot")
    acme(
        "connections", "add", *ACME, "--tool", "hubspot", "--access-token", "pat-zq202hubqz",
        "--setting", "written_property=touchbase_status", "--setting", f"api_base={base}", "--fetch-allowed-origins", base,
    )  # fmt: skip
    wrong = acme("endpoints", "add", *ACME, "--kind", "hubspot", "--value", "replied")
    added = acme("endpoints", "add", *ACME, "--kind", "hubspot", "--value", "replied=REPLIED", "--value", "not now = NOT_NOW", "--json")
    tested = acme("endpoints", "test", *ACME, "1", "--fetch-allowed-origins", base)
    listed = acme("endpoints", "attempts", *ACME)

    assert (early.exit_code, "access token" in early.stderr) == (2, True)
    assert (wrong.exit_code, "STATUS=NAME" in wrong.stderr) == (2, True)
    document = json.loads(added.stdout)
    assert (document["kind"], document["url"], document["values"]) == (
        "hubspot",
        "hubspot:contacts",
        {"replied": "REPLIED", "not now": "NOT_NOW"},
    )
    assert tested.exit_code == 0, tested.stderr
    assert tokens == ["Bearer pat-zq202hubqz"]
    assert "pat-zq202hubqz" not in added.stdout + tested.stdout + listed.stdout
