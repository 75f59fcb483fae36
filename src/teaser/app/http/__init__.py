"""What every request passes: middleware, identity, origin check, rate limit, metrics."""
