"""HTTP resources of connections."""

from touchbase.connections.api.schemas import ConnectionSettingsBody, connection_out, settings_of, would_refuse

__all__ = ["ConnectionSettingsBody", "connection_out", "settings_of", "would_refuse"]
