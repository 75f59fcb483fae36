"""The loop from the site back into the model: fit the next one, judge it, keep the earlier ones."""
