"""The server process: listening sockets, connections, workers, start and stop."""
