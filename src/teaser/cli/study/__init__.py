"""The commands of the experiments, and what they print."""
