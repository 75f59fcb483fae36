"""The equation for the encoder and the solvers that solve it."""
