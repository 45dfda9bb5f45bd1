"""`touchbase encryption-keys`, and what an operator sees when the encryption key is missing, wrong or changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run

SECRET = "a-secret-of-ours"
HUBSPOT = ("--client", "acme", "--channel", "crm", "--tool", "hubspot")
KEY = "touchbase.db.key"


@pytest.fixture
def sealed(store: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A store with a sealed secret, and its key file."""
    for name in ("TOUCHBASE_ENCRYPTION_KEY", "TOUCHBASE_ENCRYPTION_KEY_OLD"):
        monkeypatch.delenv(name, raising=False)
    store("clients", "add", "acme")
    assert store("connections", "add", *HUBSPOT, "--secret", SECRET).exit_code == 0
    return store


def set_secrets(run: Run, **options: dict[str, str]) -> list[int]:
    return [item["secret_count"] for item in json.loads(run("connections", "list", "--client", "acme", "--json", **options).output)]


def test_encryption_keys_generate__makes_a_key_that_encrypts(store: Run) -> None:
    output, another = (store("encryption-keys", "generate").output.strip() for _ in range(2))
    keys = {"TOUCHBASE_ENCRYPTION_KEY": output}

    store("clients", "add", "acme")
    new_store = store("connections", "add", *HUBSPOT, "--secret", SECRET, env=keys)

    assert output != another
    assert new_store.exit_code == 0
    assert not Path(KEY).exists()
    assert set_secrets(store, env=keys) == [1]


def test_encryption_key__may_come_from_a_file(store: Run) -> None:
    Path("master").write_text(store("encryption-keys", "generate").output)
    store("clients", "add", "acme")

    new_store = store("connections", "add", *HUBSPOT, "--secret", SECRET, env={"TOUCHBASE_ENCRYPTION_KEY_FILE": "master"})

    assert (new_store.exit_code, Path(KEY).exists()) == (0, False)


def test_encryption_keys_check__counts_secrets_by_key_and_decrypts_each(sealed: Run) -> None:
    checked = sealed("encryption-keys", "check")

    assert checked.exit_code == 0
    assert checked.output.splitlines()[0].startswith("1 encrypted with the encryption key ")
    assert checked.output.splitlines()[1] == "every secret can be decrypted"


def test_missing_encryption_key__makes_commands_fail_and_check_name_the_secrets(sealed: Run) -> None:
    Path(KEY).unlink()

    listed, checked = sealed("clients", "list"), sealed("encryption-keys", "check")

    assert (listed.exit_code, checked.exit_code) == (1, 1)
    assert "which is missing or wrong" in listed.output
    assert "cannot be decrypted: the secret of hubspot (crm) of client 'acme' is encrypted with the key" in checked.output
    assert "replace-lost" in checked.output
    assert not Path(KEY).exists()


def test_replace_lost__names_the_replaced_secret(sealed: Run) -> None:
    Path(KEY).unlink()

    replaced = sealed("encryption-keys", "replace-lost", "--yes")

    assert "replaced: the secret of hubspot (crm) of client 'acme'\n" in replaced.output


def test_serve__does_not_start_without_the_encryption_key(sealed: Run) -> None:
    Path(KEY).rename("elsewhere")

    ended = subprocess.run(
        [sys.executable, "-m", "touchbase", "serve", "--port", "0"], capture_output=True, text=True, timeout=60, check=False
    )

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "encrypted with the key" in ended.stderr
    assert "TOUCHBASE_ENCRYPTION_KEY" in ended.stderr


def test_encryption_keys_rotate__makes_a_new_key_file_and_sets_the_old_one_aside(sealed: Run) -> None:
    before = Path(KEY).read_text()

    rotated = sealed("encryption-keys", "rotate")

    (aside,) = Path.cwd().glob(f"{KEY}.old-*")
    assert rotated.exit_code == 0
    assert "encrypted 1 secret again; no longer needed: " in rotated.output
    assert aside.name in rotated.output
    assert (aside.read_text(), len(Path(KEY).read_text().split())) == (before, 1)
    assert Path(KEY).read_text() != before
    assert set_secrets(sealed) == [1]


def test_encryption_keys_rotate__to_a_key_in_the_settings_drops_the_key_file(sealed: Run) -> None:
    keys = {"TOUCHBASE_ENCRYPTION_KEY": sealed("encryption-keys", "generate").output.strip()}

    rotated = sealed("encryption-keys", "rotate", env=keys)
    Path(KEY).unlink()

    assert rotated.exit_code == 0
    assert set_secrets(sealed, env=keys) == [1]


def test_encryption_keys_rotate__has_nothing_to_do_without_secrets(store: Run) -> None:
    rotated = store("encryption-keys", "rotate")

    assert rotated.exit_code == 1
    assert "nothing to rotate" in rotated.output
    assert not Path(KEY).exists()


def test_replace_lost__requires_confirmation(sealed: Run) -> None:
    Path(KEY).unlink()

    requested = sealed("encryption-keys", "replace-lost")
    refused = sealed("clients", "list")
    done = sealed("encryption-keys", "replace-lost", "--yes")

    assert (requested.exit_code, refused.exit_code, done.exit_code) == (0, 1, 0)
    assert "nothing was changed" in requested.output
    assert "replaced 1 secret by random ones" in done.output
    assert set_secrets(sealed) == [1]
    assert sealed("encryption-keys", "check").exit_code == 0


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"TOUCHBASE_ENCRYPTION_KEY": "too-short"}, "TOUCHBASE_ENCRYPTION_KEY is not an encryption key: it must be 32 bytes in base64"),
        ({"TOUCHBASE_ENCRYPTION_KEY_OLD": "A" * 43}, "without TOUCHBASE_ENCRYPTION_KEY"),
    ],
)
def test_invalid_encryption_key__is_rejected_and_not_shown(store: Run, env: dict[str, str], says: str) -> None:
    refused = store("clients", "list", env=env)

    assert refused.exit_code == 1
    assert says in refused.output
    assert next(iter(env.values())) not in refused.output


def test_encryption_key__is_not_a_command_line_option(run: Run) -> None:
    assert "encryption-key" not in run("serve", "--help").output
