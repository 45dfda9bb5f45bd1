"""The console: the pages in a browser over the public and the admin API. Its sources are in `console/`; `make console` builds them."""

from __future__ import annotations

from touchbase.console.files import ASSETS, File, asset, page

__all__ = ["ASSETS", "File", "asset", "page"]
