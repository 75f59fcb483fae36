"""Lists: filters and boosts, and the lists of all users of a data set."""
