"""Without tracing nothing of OpenTelemetry is loaded; without the extra the error names it. These tests need no extra."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from touchbase.cli import cli
from touchbase.config import BadSettings
from touchbase.tracing import setup
from touchbase.tracing.setup import check_tracing

SERVER = """
import asyncio, sys
from touchbase.app import assembled, make_application_server
from touchbase.config import Settings

async def serve():
    async with assembled(Settings(database="sqlite:///:memory:", auth="none")) as application:
        make_application_server(application, None)

asyncio.run(serve())
print([name for name in sys.modules if name.startswith(("opentelemetry", "google.protobuf", "requests"))])
"""


@pytest.mark.slow
def test_server__without_tracing_loads_no_opentelemetry() -> None:
    done = subprocess.run([sys.executable, "-c", SERVER], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.strip() == "[]"


def test_serve__without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "find_spec", lambda name: None)

    for command in ("serve", "worker"):
        done = CliRunner().invoke(cli, [command, "--tracing"], prog_name="touchbase")
        assert done.exit_code == 2
        assert "pip install 'touchbase[otel]'" in done.output


def test_serve__refuses_a_protocol_that_it_does_not_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "find_spec", lambda name: name)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")

    with pytest.raises(BadSettings, match="OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc', and Touchbase sends http/protobuf only"):
        check_tracing()
