"""Tools for agents over the Model Context Protocol: requests to the HTTP interface, with the scopes of the caller's key.

Facts of the protocol are from its specifications of 2024-11-05 to 2026-07-28.
"""

from __future__ import annotations

from touchbase.mcp.conversation import Answered, Conversation, Holder
from touchbase.mcp.requests import Answer, Ask, Asked
from touchbase.mcp.tools import TOOLS, Tool

__all__ = ["TOOLS", "Answer", "Answered", "Ask", "Asked", "Conversation", "Holder", "Tool"]
