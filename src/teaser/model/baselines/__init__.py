"""The models that TEASER is compared with."""
