"""Run the command line with `python -m teaser`."""

from teaser.cli import main

main()
