"""Administration: routes about clients, keys, connections, databases and the server."""
