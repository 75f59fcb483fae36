"""Run the command line with `python -m teaser`."""

from teaser.cli.main import main

main()
