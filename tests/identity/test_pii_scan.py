"""Which addresses are found in a call, however they are written."""

from __future__ import annotations

import gzip
import html
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.common.content_encoding import LARGEST
from touchbase.identity import pii_scan as module
from touchbase.identity.pii_scan import contains_text, find_identities


def b64(text: str) -> str:
    return b64encode(text.encode()).decode()


ANN = ("", "email", "ann@example.com")
WAYS = {
    "plain": "ann@example.com",
    "capitals": "ANN@Example.COM",
    "in brackets": "Ann Lee <ann@example.com>, bob@example.com",
    "a link": '<a href="mailto:ann@example.com?subject=x">',
    "a sentence": "write to ann@example.com.",
    "a form": "a=1&email=ann%40example.com&b=2",
    "a form with spaces": "text=write+ann%40example.com+soon",
    "a form, not escaped": "a=1&email=ann@example.com&b=2",
    "JSON escapes": r'{"email": "\u0061nn\u0040example.com"}',
    "JSON in JSON": json.dumps({"payload": json.dumps({"email": "ann@example.com"})}),
    "JSON in a form": "payload=" + quote(json.dumps({"email": "\\u0061nn@example.com"})),
    "HTML": "ann&#64;example.com",
    "HTML, with zeros": f"ann&#{'0' * 5_000}64;example.com",
    "a path": "https://x.example/unsubscribe/ann@example.com/now",
    "an unfinished body": '{"email": "ann@example.com',
    "base64": b64encode(b'{"email": "ann@example.com"}').decode(),
    "base64, not filled up": urlsafe_b64encode(b'{"a": "\xc3\xbf\xc3\xbe??>>", "email": "ann%40example.com"}').decode().rstrip("="),
    "base64 in JSON": json.dumps({"message": {"data": b64encode(json.dumps({"to": "Ann <ann@example.com>"}).encode()).decode()}}),
}


@pytest.mark.parametrize("text", WAYS.values(), ids=WAYS)
def test_find_identities__finds_an_address_in_any_notation(text: str) -> None:
    assert ANN in find_identities({}, "", text.encode())
    assert ANN in find_identities({}, text, b"")
    assert ANN in find_identities({"x-info": text}, "", b"")


def test_find_identities__reads_a_gzip_body() -> None:
    assert ANN in find_identities({"content-encoding": "gzip"}, "", gzip.compress(b"ann@example.com"))
    assert ANN in find_identities({"content-encoding": "gzip"}, "", gzip.compress(b"somebody") + gzip.compress(b" ann@example.com"))
    assert find_identities({"content-encoding": "gzip"}, "", b"not packed") == set()


def test_find_identities__reads_utf_16() -> None:
    assert ANN in find_identities({}, "", "ann@example.com".encode("utf-16-le"))


@pytest.mark.parametrize("text", ["joann@example.com", "ann@example.com.au", "ann+x@example.com", "ann@ example.com", "x+ann@example.com"])
def test_find_identities__does_not_match_a_similar_address(text: str) -> None:
    assert ANN not in find_identities({}, "", json.dumps({"email": text}).encode())


@pytest.mark.parametrize(
    "text",
    [
        "https://www.linkedin.com/in/Ann-Lee/",
        "linkedin.com/in/ann-lee?x=1",
        r"http:\/\/de.linkedin.com\/in\/ann-lee",
        "u=https%3A%2F%2Flinkedin.com%2Fin%2Fann-lee&b=1",
    ],
)
def test_find_identities__finds_a_linkedin_address(text: str) -> None:
    assert ("", "linkedin", "linkedin.com/in/ann-lee") in find_identities({}, "", text.encode())


@given(
    before=st.text(alphabet=' ,;:<>"()\n', max_size=3),
    after=st.text(alphabet=' ,;:<>"()\n&', max_size=3),
    layers=st.lists(st.sampled_from([quote, html.escape, json.dumps]), max_size=2),
)
def test_find_identities__finds_an_address_in_any_two_layers_of_escapes(before: str, after: str, layers: list) -> None:
    text = f"{before}ann@example.com{after}"
    for layer in layers:
        text = layer(text)

    assert ANN in find_identities({}, "", text.encode())


@given(st.binary(max_size=300))
def test_find_identities__accepts_any_bytes(body: bytes) -> None:
    find_identities({}, body.decode("latin-1"), body)


def test_find_identities__limits_its_attempts_on_a_hostile_body(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def find(text: str) -> None:
        tried.append(text)

    monkeypatch.setattr(module, "find_email_key", find)
    with pytest.raises(module.Unsearchable, match="20000 possible addresses"):
        find_identities({}, "", b"".join(b"=&/'|{}!?#*`~^$x%d" % number * 3 + b"@x--y.com " for number in range(module.MAX_MATCHES)))

    assert len(tried) == module.MAX_MATCHES


@pytest.mark.parametrize("offset", range(-40, 41, 3))
@pytest.mark.parametrize("layer", [str, quote, b64])
def test_find_identities__finds_an_address_at_the_end_of_a_window(
    monkeypatch: pytest.MonkeyPatch, offset: int, layer: Callable[[str], str]
) -> None:
    monkeypatch.setattr(module, "WINDOW", 4_096)
    monkeypatch.setattr(module, "OVERLAP", 512)
    before = "é" * 10 + "x " * ((module.WINDOW + offset) // 2)

    body = layer(f"{before} ann@example.com {'y ' * module.WINDOW}").encode()

    assert ANN in find_identities({}, "", body)
    assert contains_text(body, "ANN@Example")


def test_find_identities__refuses_what_expands_beyond_the_limit() -> None:
    with pytest.raises(module.Unsearchable, match="decompresses to more than"):
        find_identities({"content-encoding": "gzip"}, "", gzip.compress(bytes(LARGEST + 1)))


def test_find_identities__finds_thousands_of_addresses() -> None:
    many = {f"p{n}@example.com" for n in range(module.MAX_MATCHES // 2)}

    assert {ref[2] for ref in find_identities({}, "", " ".join(many).encode())} == many


PIECES = ["&#", "9" * 5_000, "\\ud800", "@", "a", ".co", "%", "%e9", "=", "linkedin.com/in/", "\\u0040", "&lt;", ";"]


@pytest.mark.parametrize("digits", ["9" * 5_000, "x" + "f" * 5_000, "1114112", "x110000", "55296", "0", "9" * 5_000 + ";"])
def test_find_identities__finds_an_address_after_an_invalid_character_reference(digits: str) -> None:
    assert find_identities({}, "", f"&#{digits} ann@example.com".encode()) == {ANN}


def test_find_identities__joins_a_surrogate_pair() -> None:
    identities = find_identities({}, "", json.dumps({"url": "https://linkedin.com/in/ann-\U0001f600"}).encode())

    assert ("", "linkedin", "linkedin.com/in/ann-\U0001f600") in identities


@given(
    st.lists(
        st.sampled_from(PIECES),
        max_size=12,
    )
)
def test_find_identities__accepts_any_text(pieces: list[str]) -> None:
    text = "".join(pieces)

    for body in (text.encode(), b64encode(text.encode())):
        for _, _, key in find_identities({"x": text}, text, body):
            key.encode()
