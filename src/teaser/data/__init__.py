"""From tables of interactions and metadata to matrices with names."""
