"""A fit that chooses its recipe on held-out users, and a check of what its reasons say."""
