"""Generated cultural events in Belgium, and the users who choose them.

What is on offer where stands in the TOML files of this package; the modules draw from it.
"""

from teaser.data.demo.generator import RULES, GeneratedEvents, dataset, generate

__all__ = ["RULES", "GeneratedEvents", "dataset", "generate"]
