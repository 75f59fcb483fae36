"""The database of persons: connections, deadlines, and what happens when it does not answer."""
