"""Which addresses we may call: public ones, and nothing else, whatever a name leads to."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

# Not every Python knows that these are not public; the last is a cloud's own service at an address that looks public.
_NEVER = tuple(map(IPv4Network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")))
# Networks behind which another, perhaps private, address hides: translated (NAT64), tunnelled (6to4, Teredo), compatible.
_HIDING = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")))
# All that is allocated to the public internet lies here; what translates (RFC 2765) or leads nowhere does not.
_PUBLIC = IPv6Network("2000::/3")
_NEVER_6 = tuple(map(IPv6Network, ("fec0::/10", "2001::/23", "3fff::/20", "5f00::/16", "100::/64")))


def is_public(text: str) -> bool:
    """Whether an address, as a resolver gives it, is one of the public internet."""
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return _is_public_4(found.ipv4_mapped)
        hidden = any(found in network for network in (*_HIDING, *_NEVER_6))
        return found in _PUBLIC and found.is_global and not found.is_multicast and not hidden
    return _is_public_4(found)


def _is_public_4(found: IPv4Address) -> bool:
    return found.is_global and not found.is_multicast and not found.is_reserved and not any(found in network for network in _NEVER)
