"""What pages show: cards, profile, score steps; the visitor; templates to responses."""
