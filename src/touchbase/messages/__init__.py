"""Messages: sent and received mails and LinkedIn messages, with their text."""

from __future__ import annotations

from touchbase.messages.commands import (
    AddCustomField,
    CreateMessage,
    DeleteMessage,
    GetMessages,
    ListMessages,
    MessagesOfContact,
    MessagesOfEvents,
    PruneMessages,
    RemoveCustomField,
    SetInterested,
)
from touchbase.messages.html_text import text_of_html
from touchbase.messages.models import (
    API,
    CHANNELS,
    DIRECTIONS,
    EMAIL,
    MOST_CUSTOM_FIELDS,
    RECEIVED,
    SENT,
    Message,
    channel_of,
    direction_of,
    united,
)

__all__ = [
    "API",
    "CHANNELS",
    "DIRECTIONS",
    "EMAIL",
    "MOST_CUSTOM_FIELDS",
    "RECEIVED",
    "SENT",
    "AddCustomField",
    "CreateMessage",
    "DeleteMessage",
    "GetMessages",
    "ListMessages",
    "Message",
    "MessagesOfContact",
    "MessagesOfEvents",
    "PruneMessages",
    "RemoveCustomField",
    "SetInterested",
    "channel_of",
    "direction_of",
    "text_of_html",
    "united",
]
