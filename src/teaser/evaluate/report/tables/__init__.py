"""The tables of a report, and how their figures are printed."""
