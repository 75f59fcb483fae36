"""Runs of the command line for tests: what it printed, or how it refused."""

from typing import Any

from typer.testing import CliRunner, Result

from teaser.cli.main import app


def run(*words: Any) -> Result:
    return CliRunner().invoke(app, [str(w) for w in words], env={"COLUMNS": "160"})


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
