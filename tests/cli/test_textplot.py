from __future__ import annotations

import pytest

from sonde.cli.textplot import Axis, axis, step_plot


def test_a_curve_of_two_steps_in_ascii() -> None:
    lines = step_plot([(1, 4.0), (3, 0.0)], end=5, width=5, height=3, ascii_only=True)
    assert lines == [
        "4 +***",
        "2 +  *",
        "0 +  ***",
        "  +-----",
        "   1   5",
    ]


def test_a_braille_cell_has_two_columns_and_four_rows() -> None:
    lines = step_plot([(1, 3.0), (2, 0.0)], end=2, width=1, height=1)
    assert lines[0] == "3 ┤" + chr(0x2800 + 0x01 + 0x08 + 0x10 + 0x20 + 0x80)


def test_the_first_value_is_seen_however_short_it_lasted() -> None:
    steps = [(1, 100.0), (2, 1.0)]
    lines = step_plot(steps, end=100_000, width=40, height=8)
    assert lines[0].startswith(" 100 ┤")
    assert lines[0][6] != " "


def test_nothing_is_drawn_before_the_first_step() -> None:
    lines = step_plot([(6, 1.0)], end=11, width=11, height=1, ascii_only=True)
    assert lines[0] == "1 +     ******"


def test_one_result_is_a_line_in_the_middle_with_one_label() -> None:
    lines = step_plot([(1, 7.0)], end=1, width=4, height=3, ascii_only=True)
    assert lines == ["  |", "  |****", "7 +", "  +----", "   1"]


@pytest.mark.parametrize(
    ("values", "log"),
    [([1.0, 100.0], False), ([1.0, 101.0], True), ([0.0, 1e6], False), ([-1.0, 1e6], False), ([1e-300, 1e300], True)],
)
def test_the_axis_is_logarithmic_beyond_two_decades_of_positive_values(values: list[float], log: bool) -> None:
    assert axis(values).log is log


def test_a_logarithmic_axis_has_the_geometric_mean_in_the_middle() -> None:
    scale = Axis(0.01, 100.0, log=True)
    assert scale.at(0.5) == pytest.approx(1.0)
    assert scale.share(1.0) == pytest.approx(0.5)


@pytest.mark.parametrize("values", [(1.7e308, -1.7e308), (5e-324, 0.0), (-0.0, 0.0), (1e300, 1e-300)])
def test_extreme_values_are_drawn(values: tuple[float, float]) -> None:
    lines = step_plot([(1, values[0]), (2, values[1])], end=3, width=10, height=4)
    assert len(lines) == 6
    assert "nan" not in "".join(lines)
    assert "inf" not in "".join(lines)
