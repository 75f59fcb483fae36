"""Persons and their stored actions: events, the state they lead to, the database."""
