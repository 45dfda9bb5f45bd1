"""A store full of fictitious data, to try Touchbase with: an agency with 12 clients and three weeks of calls of eight tools."""

from __future__ import annotations

from touchbase.demo.agency import ACCOUNTS, SHARES, TOOLS
from touchbase.demo.fill import Filled, Parts, fill, is_complete, is_of_the_demo
from touchbase.demo.front_door import DemoClock, DemoFailed, FrontDoor
from touchbase.demo.receiver import MadeUpReceiver, refuses_from

__all__ = [
    "ACCOUNTS",
    "SHARES",
    "TOOLS",
    "DemoClock",
    "DemoFailed",
    "Filled",
    "FrontDoor",
    "MadeUpReceiver",
    "Parts",
    "fill",
    "is_complete",
    "is_of_the_demo",
    "refuses_from",
]
