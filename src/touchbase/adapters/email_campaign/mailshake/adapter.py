"""Mailshake: its webhook calls in our words.

A call is a pointer: `resource_url`, which only the account's owner can read. Neither the event nor the
person is in it, so it is kept and counted, and nothing more.
"""

from __future__ import annotations

from touchbase.adapters.kit.table import Shape, Table

ADAPTER = Table(
    tool="mailshake",
    shapes=(Shape("resource_url", 95, starts="https://api.mailshake.com"), Shape("resource_url", 60)),
    names={},
    name="event",
    email="",
    time="",
    key="resource_url",
)
