"""Metadata columns become tags, by rules that are inferred or declared."""
