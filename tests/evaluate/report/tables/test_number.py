"""How figures are printed."""

import math

from teaser.evaluate.report.tables.number import (
    MINUS,
    format_memory,
    format_parameter,
    format_percent,
    format_presses,
    format_seconds,
    format_signed,
    format_value,
    parse_value,
)


def test_durations_and_sizes_have_units() -> None:
    durations = {0.0123: "0.012 s", 4.44: "4.4 s", 55.4: "55 s", 600: "10 min", 7200: "2.0 h"}
    for value, text in durations.items():
        assert format_seconds(value) == text
    assert format_memory(312_400_000) == "312 MB"
    assert format_memory(4_700_000_000) == "4.7 GB"


def test_signs() -> None:
    signed = {1.25: "+1.2", -1.26: f"{MINUS}1.3", 0.01: "0.0", -0.04: "0.0"}
    for value, text in signed.items():
        assert format_signed(value) == text


def test_a_printed_value_is_read_back() -> None:
    assert format_value(-0.5) == f"{MINUS}0.500"
    assert parse_value(format_value(-0.5)) == -0.5
    assert parse_value("–") == -math.inf


def test_parameters_have_few_digits() -> None:
    values: tuple[object, ...] = (1000.0, 0.5, 3, True, "full", None, {})
    texts = ["1000", "0.5", "3", "True", "full", "None", "its defaults"]
    assert [format_parameter(v) for v in values] == texts


def test_presses() -> None:
    assert format_presses(1, 3) == "one tag +3"
    assert format_presses(2, -3) == f"two tags {MINUS}3"
    assert format_presses(7, 1) == "7 tags +1"
    assert format_presses(1, 3, "declared") == "one declared tag +3"
    assert format_presses(2, -3, "discovered") == f"two discovered tags {MINUS}3"


def test_shares() -> None:
    assert [format_percent(v) for v in (0.0, 0.616, 1, None)] == ["0 %", "62 %", "100 %", ""]
