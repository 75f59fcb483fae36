"""Requests and responses of the API as typed JSON."""
