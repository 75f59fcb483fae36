"""Studies with people: a file, a few pages around the list, a log, an export, an analysis."""
