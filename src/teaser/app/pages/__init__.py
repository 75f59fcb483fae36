"""The web site: pages rendered on the server."""
