"""Texts and error messages in English, Dutch and French."""
