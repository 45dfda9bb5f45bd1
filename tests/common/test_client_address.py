"""Peers: addresses as far as limits are concerned."""

from __future__ import annotations

import pytest

from touchbase.common.asgi import LOCAL_PEER, peer_of


@pytest.mark.parametrize(
    ("client", "peer"),
    [
        (("192.0.2.7", 4711), "192.0.2.7"),
        (("::ffff:192.0.2.7", 4711, 0, 0), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 1), "2001:db8:1:2::/64"),
        (("2001:db8:1:2:ffff::1", 1), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 1), "fe80::/64"),
        (("::1", 1), "::/64"),
        (("testclient", 50_000), "testclient"),
        (None, LOCAL_PEER),
    ],
)
def test_peer_of__groups_ipv6_addresses_by_their_network(client: object, peer: str) -> None:
    assert peer_of({"client": client}) == peer
