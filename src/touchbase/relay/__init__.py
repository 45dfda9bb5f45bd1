"""Relay: passes the events of a client's log on to a file, an HTTP receiver or a queue, in order, each at least once."""

from __future__ import annotations

from touchbase.relay.checkpoint import CheckpointFile
from touchbase.relay.models import Batch, Event, Position, RelayStopped, Sink, SinkFailed, Source, SourceFailed, position_of
from touchbase.relay.service import Relay
from touchbase.relay.sinks import sink_of
from touchbase.relay.sources import ServerSource, StoreSource

__all__ = [
    "Batch", "CheckpointFile", "Event", "Position", "Relay", "RelayStopped", "ServerSource", "Sink", "SinkFailed", "Source",
    "SourceFailed", "StoreSource", "position_of", "sink_of",
]  # fmt: skip
