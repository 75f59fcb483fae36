"""Files and frames become checked tables of interactions and items."""
