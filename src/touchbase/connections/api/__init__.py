"""HTTP resources of connections."""

from touchbase.connections.api.schemas import ConnectionSettingsBody, Known, connection_out, settings_of, would_refuse
from touchbase.connections.api.silences import silence_out

__all__ = ["ConnectionSettingsBody", "Known", "connection_out", "settings_of", "silence_out", "would_refuse"]
