from __future__ import annotations

import re

import numpy as np
import pytest

from sonde.html import MANY, card, chart, cut, escaped, scatter, shown, sparkline, table


def test_text_of_others_is_escaped() -> None:
    assert escaped("<b>&\"'") == "&lt;b&gt;&amp;&quot;&#x27;"
    assert escaped("a\x1b[2J\u202eb\ud800") == "a\\x1b[2J\\u202eb\\ud800"
    assert escaped("two\nlines שלום") == "two\nlines שלום"


def test_numbers_have_six_digits_and_stand_at_the_right() -> None:
    assert [shown(cell) for cell in (1 / 3, 7, None, np.nan, True, "x")] == ["0.333333", "7", "", "", "True", "x"]
    assert shown({"loss": 1 / 3, "time": 7}) == "loss = 0.333333, time = 7"
    made = table([[1, "a"], [2.5, None]], ["n", "<i>"])
    assert made.count("text-align:right") == 3  # the name of the column, too
    assert "&lt;i&gt;" in made
    assert table([[1, "a"]], ["n", "s"], styled=False).count('class="number"') == 2
    assert "style" not in table([[1, "a"]], ["n", "s"], styled=False)


def test_a_long_name_is_cut_and_whole_in_its_title() -> None:
    assert cut("x" * 41) == "x" * 39 + "…"
    assert cut("x" * 40) == "x" * 40
    name = "y" * 200
    for made in (card("title", [(name, 1)]), table([[1]], [name])):
        assert f'title="{name}"' in made
        assert f">{'y' * 39}…<" in made


def heights(drawn: str) -> list[float]:
    """The heights of a line of steps."""
    path = re.findall(r' d="(M[^"]*)" stroke="#', drawn)[0]
    return [float(each) for each in re.findall(r"V([-\d.]+)", path)]


def test_a_line_has_the_values_upside_down() -> None:
    low, middle, high = heights(sparkline([0.0, 5.0, 10.0]))
    assert low > middle > high
    assert (low + high) / 2 == pytest.approx(middle)


def test_values_over_many_decades_are_drawn_on_a_logarithmic_scale() -> None:
    first, second, third = heights(sparkline([1.0, 1e3, 1e6]))
    assert first - second == pytest.approx(second - third, abs=0.2)


@pytest.mark.parametrize("values", [[], [np.nan], [np.nan, np.inf]])
def test_without_values_nothing_is_drawn(values: list[float]) -> None:
    assert sparkline(values) == scatter(values, values, what="") == ""


@pytest.mark.parametrize("values", [[3.0], [3.0, 3.0], [1e308, -1e308], [np.nan, 1.0, np.inf, 2.0], [5e-324, 1.0]])
def test_odd_values_stay_inside_the_picture(values: list[float]) -> None:
    for drawn in (sparkline(values), scatter(values, values, what="")):
        numbers = [
            float(each) for each in re.findall(r"[MHV ](-?[\d.]+)", " ".join(re.findall(r' d="([^"]*)"', drawn)))
        ]
        assert numbers
        assert 0 <= min(numbers) <= max(numbers) <= 220


def test_of_many_points_the_range_in_each_column_is_drawn() -> None:
    values = np.random.default_rng(0).random(20 * MANY)
    values[777], values[778] = -5.0, 9.0  # no outlier is left out
    drawn = chart(np.arange(len(values)), points=values, size=(640, 200), what="many")
    assert len(drawn) < 20_000
    (path,) = re.findall(r' d="([^"]*)"', drawn)
    ends = [int(each) for each in re.findall(r"[ V](\d+)", path)]
    assert (min(ends), max(ends)) == (3, 197)
