"""Run the command line with `python -m teaser`."""

from teaser._command import main

main()
