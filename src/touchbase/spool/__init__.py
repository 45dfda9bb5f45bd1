"""Spool: webhooks that came while their store could not be used, in local files, until it can."""
