"""Administration: routes about clients, keys, connections, cells and the server."""
