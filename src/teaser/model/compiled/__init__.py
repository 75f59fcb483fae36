"""How loops for a processor are compiled by numba, which is imported where it is installed."""
