"""One change a file."""
