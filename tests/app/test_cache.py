"""Results by their keys, the latest used of them."""

from teaser.app.cache import Cache


def test_a_result_is_made_once_for_its_key() -> None:
    kept: Cache[list[int]] = Cache(2)
    first = kept.find("a", lambda: [1])
    assert kept.find("a", lambda: [2]) is first
    assert kept.get("a") is first
    assert kept.get("b") is None


def test_the_least_recently_used_is_dropped() -> None:
    kept: Cache[str] = Cache(2)
    kept.put("a", "A")
    kept.put("b", "B")
    assert kept.get("a") == "A"
    kept.put("c", "C")
    assert len(kept) == 2
    assert [kept.get(key) for key in "abc"] == ["A", None, "C"]
