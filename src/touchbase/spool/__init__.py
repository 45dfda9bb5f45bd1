"""Spool: webhooks that came while their store could not be used, in local files, until it can."""

from touchbase.spool.counting import SpoolCounts
from touchbase.spool.files import SpoolFiles
from touchbase.spool.models import SpooledWebhook, from_bytes, to_bytes
from touchbase.spool.spool import Spool

__all__ = ["Spool", "SpoolCounts", "SpoolFiles", "SpooledWebhook", "from_bytes", "to_bytes"]
