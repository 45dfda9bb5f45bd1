"""The console: the pages in a browser over the public and the admin API. Its sources are in `console/`; `make console` builds them."""
