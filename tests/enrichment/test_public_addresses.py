"""Which addresses may be called: those of the public internet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.enrichment.http_pool import is_public

REFUSED = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.7", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16",
    "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:7f00:1", "::127.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b:1::a9fe:a9fe", "2002:7f00:1::", "2001:0:7f00:1::1",
    "::ffff:0:7f00:1", "1::1", "4000::1", "100:0:0:1::1",
    "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost", "", "example.com",
]  # fmt: skip
WELCOME = ["1.1.1.1", "8.8.8.8", "104.16.0.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"]


@pytest.mark.parametrize("address", REFUSED)
def test_is_public__refuses_private_local_reserved_and_invalid_addresses(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", WELCOME)
def test_is_public__accepts_public_addresses(address: str) -> None:
    assert is_public(address)


@given(st.sampled_from(["10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16"]).flatmap(lambda network: st.ip_addresses(v=4, network=network)))
def test_is_public__refuses_any_private_address_embedded_in_ipv6(address: object) -> None:
    number = int(address)  # type: ignore[call-overload]
    high, low = number >> 16, number & 0xFFFF

    dresses = [str(address), f"::ffff:{address}", f"::ffff:{high:x}:{low:x}", f"64:ff9b::{high:x}:{low:x}", f"2002:{high:x}:{low:x}::1"]
    assert [dress for dress in dresses if is_public(dress)] == []
