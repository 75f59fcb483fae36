"""Run the numeric tests with the arithmetic of several processors, in one thread and in two.

    python tests/processors.py [core type ...] [-- options of pytest]

OpenBLAS has routines for each family of processors. They add numbers up in different orders, and
so round differently. `OPENBLAS_CORETYPE` chooses among them. A core type that this machine or
this build of OpenBLAS cannot run is left out with the reason. Without names, all in `CORE_TYPES`
are run.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Each core type, and the names by which threadpoolctl reports its routines: builds for several
# processors share those of Haswell with Zen, and those of Katmai with Prescott.
CORE_TYPES = {
    "Haswell": {"Haswell"},
    "Zen": {"Zen", "Haswell"},
    "Sandybridge": {"Sandybridge"},
    "Prescott": {"Prescott", "Katmai"},
    "SkylakeX": {"SkylakeX"},
}
THREADS = (1, 2)
NUMERIC = ("model", "steer", "evaluate", "test_profile.py", "test_explain.py")
NOT_NUMERIC = ("evaluate/report",)

PROBE = """
import numpy as np, scipy.linalg, threadpoolctl
for dtype in (np.float32, np.float64):
    A = np.random.default_rng(0).random((300, 300)).astype(dtype)
    scipy.linalg.eigh(A @ A.T)
    np.linalg.inv(A @ A.T)
for library in threadpoolctl.threadpool_info():
    if library["internal_api"] == "openblas":
        print(library["architecture"], library["num_threads"])
"""


def environment(core_type: str, threads: int) -> dict[str, str]:
    """Return the variables under which OpenBLAS uses this core type and number of threads."""
    chosen = {"OPENBLAS_CORETYPE": core_type, "OPENBLAS_NUM_THREADS": str(threads)}
    return {**os.environ, **chosen}


def obstacle(core_type: str, threads: int) -> str | None:
    """Say why the tests cannot be run in this way, or return None where they can."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env=environment(core_type, threads),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode < 0:
        return f"its instructions end the process with signal {-done.returncode}"
    if done.returncode:
        return f"the probe fails: {done.stderr.strip().splitlines()[-1]}"
    found = {tuple(line.split()) for line in done.stdout.splitlines()}
    if not found:
        return "numpy and scipy use another library than OpenBLAS here"
    if not {name for name, _ in found} <= CORE_TYPES[core_type]:
        return f"OpenBLAS uses {', '.join(sorted({name for name, _ in found}))} instead"
    if {count for _, count in found} != {str(threads)}:
        return f"OpenBLAS uses {', '.join(sorted({count for _, count in found}))} threads instead"
    return None


def run_tests(core_type: str, threads: int, options: list[str]) -> bool:
    """Run the numeric tests in this way and return whether they passed."""
    places = [f"tests/{name}" for name in NUMERIC]
    ignored = [f"--ignore=tests/{name}" for name in NOT_NUMERIC]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *places, *ignored, *options],
        env=environment(core_type, threads),
        cwd=ROOT,
        check=False,
    )
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    """Run all that can be run; return 0 where every run passed and there was at least one."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    names, options = arguments[:cut] or list(CORE_TYPES), arguments[cut + 1 :]
    unknown = [name for name in names if name not in CORE_TYPES]
    if unknown:
        print(f"Unknown core type {unknown[0]!r}. There are {', '.join(CORE_TYPES)}.")
        return 2
    results: list[tuple[str, str]] = []
    for core_type in names:
        for threads in THREADS:
            way = f"{core_type}, {threads} thread{'s' if threads > 1 else ''}"
            reason = obstacle(core_type, threads)
            if reason is None:
                print(f"--- {way}", flush=True)
                passed = run_tests(core_type, threads, options)
                results.append((way, "passed" if passed else "FAILED"))
            else:
                results.append((way, f"left out: {reason}"))
    print("\n".join(f"{way}: {result}" for way, result in results))
    outcomes = {result for _, result in results}
    return 0 if "passed" in outcomes and "FAILED" not in outcomes else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
