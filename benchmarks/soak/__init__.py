"""Load and faults as one command: visitors and programs on a real server, while things break."""
