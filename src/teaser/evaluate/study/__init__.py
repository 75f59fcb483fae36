"""A study: a TOML plan, its data, grid search, run and results."""
