"""Base64 as gateways and queues write it."""

from __future__ import annotations

import binascii
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.common.content_encoding import from_base64


@given(plain=st.binary(), pack=st.sampled_from([b64encode, urlsafe_b64encode]), padded=st.booleans())
def test_from_base64__decodes_either_alphabet_with_or_without_padding(plain: bytes, pack: Callable[[bytes], bytes], padded: bool) -> None:
    packed = pack(plain) if padded else pack(plain).rstrip(b"=")

    assert from_base64(packed) == from_base64(packed.decode()) == plain


@pytest.mark.parametrize("text", ["a", "ab=c", "a b c d", "{}", "ümläut"])
def test_from_base64__raises_for_other_text(text: str) -> None:
    with pytest.raises((binascii.Error, UnicodeEncodeError)):
        from_base64(text)
