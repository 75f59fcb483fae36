"""Runs of the command line for tests: what it printed, or how it refused."""

from typing import Any

from typer.testing import CliRunner, Result

from teaser.cli import output
from teaser.cli.main import app

# A console takes its width from the environment at import, and pytest's workers set one.
output.out.width = output.err.width = 160


def run(*words: Any) -> Result:
    return CliRunner().invoke(app, [str(w) for w in words])


def said(*words: Any) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*words: Any) -> str:
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    assert result.stdout == ""
    return result.stderr
