"""Material and machinery of the generated catalogue of events."""
