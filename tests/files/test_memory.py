"""The memory of the machine, the limit of a container, and sizes as texts."""

from pathlib import Path

import pytest

from teaser import files as module
from teaser.files import _limits, available_memory, memory_of_machine, say_bytes


def test_the_limit_of_a_container_is_the_memory_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    assert _limits(tmp_path, own) == []
    own.write_text("4:cpu,memory:/a/b\n0::/pod/box\n")
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "pod").mkdir()
    (tmp_path / "pod" / "memory.max").write_text("3000000\n")
    (tmp_path / "memory" / "a").mkdir(parents=True)
    (tmp_path / "memory" / "a" / "memory.limit_in_bytes").write_text("5000000\n")
    assert sorted(_limits(tmp_path, own)) == [3_000_000, 5_000_000]
    physical = memory_of_machine()
    (tmp_path / "memory.max").write_text("4000000\n")
    monkeypatch.setattr(module, "_CGROUP", tmp_path)
    assert memory_of_machine() == 4_000_000 < physical


def test_no_more_is_left_than_there_is() -> None:
    assert 0 < available_memory() <= memory_of_machine()


@pytest.mark.parametrize(
    ("size", "said"), [(12, "12 B"), (3400, "3 kB"), (2.5e7, "25 MB"), (4.71e9, "4.7 GB")]
)
def test_bytes_are_said_for_people(size: float, said: str) -> None:
    assert say_bytes(size) == said
