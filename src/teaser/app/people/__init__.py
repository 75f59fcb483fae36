"""Persons and their stored actions: events, and the state that they lead to."""
