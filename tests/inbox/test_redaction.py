"""Redaction of secrets: any secret in any encoding, in one pass, and in a process of its own where the body is large."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.inbox.redaction import INLINE_BYTES, needs_process, redact, redact_secrets

SECRETS = st.text(st.characters(exclude_categories=("Cs",)), min_size=4, max_size=40).filter(lambda secret: secret == secret.strip("\\"))
LOGIN = "00D5g000004abcd!" + "Ab1." * 12


def in_json(text: str) -> str:
    return json.dumps({"secret_key": text, "n": 1})


def in_plain_json(text: str) -> str:
    return json.dumps({"secret_key": text, "n": 1}, ensure_ascii=False)


def in_a_form(text: str) -> str:
    return f"a=1&secret_key={quote(text, safe='*')}&b=2"


def in_a_form_with_plus(text: str) -> str:
    return f"a=1&secret_key={quote_plus(text, safe='*')}&b=2"


LAYERS = (in_json, in_plain_json, in_a_form, in_a_form_with_plus)


@given(SECRETS, st.lists(st.sampled_from(LAYERS), min_size=1, max_size=3))
def test_redact_secrets__masks_any_secret_in_any_encoding(secret: str, layers: list[Callable[[str], str]]) -> None:
    written, expected = secret, "*" * len(secret)
    for layer in layers:
        written, expected = layer(written), layer(expected)

    assert redact_secrets([secret], written.encode()) == expected.encode()


@pytest.mark.parametrize("layer", LAYERS)
def test_redact_secrets__may_leave_the_backslashes_around_a_secret(layer: Callable[[str], str]) -> None:
    body = redact_secrets(["\\se\\cr\\"], layer("\\se\\cr\\").encode()).decode()

    assert "*" * 7 in body
    assert "se" not in body.replace("secret_key", "")
    assert layer in (in_a_form, in_a_form_with_plus) or json.loads(body)["n"] == 1


def test_redact_secrets__masks_each_of_several_secrets() -> None:
    body = rb'{"a":"first\u002done","b":"second-one","c":"first-one, second-one"}'

    assert redact_secrets(["first-one", "second-one"], body) == rb'{"a":"*********","b":"**********","c":"first-one, second-one"}'


@pytest.mark.parametrize("body", [b"a" * 100_000 + b"x", b"\\" * 100_000, b"%25" * 40_000, b"x" + b"\\u0061" * 20_000, b"\\\\u" * 30_000])
def test_redact_secrets__takes_one_pass(body: bytes) -> None:
    assert redact_secrets(["a" * 500, "\\" * 40 + "a"], body) == body


def test_needs_process__by_decoded_bytes_and_by_what_there_is_to_do() -> None:
    large, packed = b"x" * (INLINE_BYTES + 1), {"content-encoding": "gzip"}

    assert not needs_process(["secret"], {}, b"x" * INLINE_BYTES)
    assert needs_process(["secret"], {}, large)
    assert not needs_process([], {}, large)
    assert needs_process([], {}, large + LOGIN.encode())
    assert not needs_process(["secret"], packed, gzip.compress(b"x" * INLINE_BYTES))
    assert needs_process([], packed, gzip.compress(large))


def test_redact__removes_a_login_and_a_secret_from_a_compressed_body() -> None:
    body = gzip.compress(json.dumps({"session": LOGIN, "secret_key": "a-secret"}).encode())

    headers, query, left = redact(["a-secret"], {"content-encoding": "gzip", "x": "a-secret"}, f"token=a-secret&sid={LOGIN}", body)

    assert (headers, query) == ({}, "sid=00D5g000004abcd!********")
    assert json.loads(left) == {"session": "00D5g000004abcd!********", "secret_key": "********"}
