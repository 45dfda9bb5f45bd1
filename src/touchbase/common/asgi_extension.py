"""An answer in one message: what the application says at once need not be put together from two.

Ours is a server with this extension of ASGI, named in a scope's `extensions`. The message has `type`, `status`, `headers` (names in lower
case, no `Content-Length`: the server knows it) and `body`. Whatever stands between the two and looks at answers takes the extension away,
or speaks it.
"""

from __future__ import annotations

EXTENSION = "touchbase.answer"
"""The extension's name and the type of its message."""
OFFER: dict[str, dict[str, object]] = {EXTENSION: {}}
"""The `extensions` of a scope whose server takes such messages."""
