"""Compiled templates, kept for the next start of a server, which is faster by it."""

import sys
from contextlib import suppress
from pathlib import Path

import jinja2
from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket

from teaser._version import __version__


class TemplateCache(FileSystemBytecodeCache):
    """Compiled templates in a folder.

    Parameters
    ----------
    folder
        Where they are kept, if files can be written there.
    """

    def __init__(self, folder: Path) -> None:
        # The name of a file has all that its content depends on beside the template and Python.
        super().__init__(str(folder), f"%s.{__version__}-jinja-{jinja2.__version__}")

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template, unless Python or the system lets nothing be written."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                super().dump_bytecode(bucket)
