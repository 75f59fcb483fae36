"""Compiled templates, kept from one start of a server to the next."""

import sys
from contextlib import suppress
from hashlib import blake2b
from importlib.util import cache_from_source
from pathlib import Path

import jinja2
from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket


class TemplateCache(FileSystemBytecodeCache):
    """Compiled templates in the folder of a module's bytecode, if files can be written there.

    Parameters
    ----------
    module
        The Python file that makes the environment of the templates. What they are compiled to
        depends on its options, so another text of the file has other compiled templates.
    """

    def __init__(self, module: Path) -> None:
        made_by = blake2b(jinja2.__version__.encode(), digest_size=8)
        with suppress(OSError):  # it is in an archive, and so is the folder: nothing is kept
            made_by.update(module.read_bytes())
        folder = Path(cache_from_source(str(module))).parent
        super().__init__(str(folder), f"%s-{made_by.hexdigest()}.jinja")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read a compiled template; one that is not there or damaged is compiled anew."""
        try:
            super().load_bytecode(bucket)
        except Exception:  # a damaged file raises errors of many kinds
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template, unless Python or the system lets nothing be written."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                super().dump_bytecode(bucket)
