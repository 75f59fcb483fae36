"""What every request passes: middleware, identity, origin check, limits, metrics."""
