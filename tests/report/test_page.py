from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, expect
from tests.report.studies import HOSTILE, SPACE, hostile, usual

import sonde
from sonde.errors import MissingExtra, OptionError
from sonde.strategies.sobol import Sobol
from sonde.trials import History


class Words(HTMLParser):
    """The text of a page outside of scripts, and its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.said, self.elements, self._silent = "", [], False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._silent = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._silent = False

    def handle_data(self, data: str) -> None:
        self.said += "" if self._silent else f"{data} "


def text_of(page: str) -> str:
    """What a report says."""
    return re.sub(r"\s+", " ", Words(page).said)


class Made(NamedTuple):
    """A study and its report."""

    study: sonde.Study
    path: Path

    @property
    def page(self) -> str:
        return self.path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A study with some failures."""
    folder = tmp_path_factory.mktemp("usual")
    study = usual(storage=f"sqlite:///{folder / 'study.db'}", name="digits")
    study.set_note("The second run.")
    assert study.report(folder / "r.html") is None
    return Made(study, folder / "r.html")


@pytest.fixture(scope="module")
def hostile_made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A study whose every text is hostile."""
    path, study = tmp_path_factory.mktemp("hostile") / "r.html", hostile()
    study.report(path)
    return Made(study, path)


def test_a_report_says_what_was_searched_and_found(made: Made) -> None:
    study, page = made.study, made.page
    said, best = text_of(page), study.best_trial
    failed = sum(trial.state == "failed" for trial in study.trials)
    assert "The goal is to minimize one value over 4 parameters" in said
    assert f"There are 12 trials: {12 - failed} completed, {failed} failed." in said
    assert f"The best value is {best.value:.6g}, of trial {best.number}" in said
    assert "Configurations are suggested by auto: gp, because there are at most 1000 results" in said
    assert f"{failed} trials failed, for 1 reason" in said
    assert "The second run." in said
    assert "rank correlation" in said
    assert f"sonde verify --storage {study.storage.url} --name digits" in said
    assert "Not drawn" not in said
    assert page.startswith("<!doctype html>")
    assert 1e6 < made.path.stat().st_size < 2.5e6


def test_the_best_trials_are_listed_from_the_best_on(made: Made) -> None:
    study = made.study
    elements = made.page.split('id="best"')[1].split("</section>")[0]
    numbers = [int(each) for each in re.findall(r'<tr><td dir="auto" class="number">(\d+)</td>', elements)]
    values = [study.trial(number).value for number in numbers]
    assert values == sorted(values)
    assert values[0] == study.best_value
    assert len(values) == min(10, sum(trial.state == "completed" for trial in study.trials))


def test_every_figure_has_its_numbers(made: Made) -> None:
    page = Words(made.page)
    places = [attributes["data-figure"] for _, attributes in page.elements if attributes.get("class") == "plot"]
    assert places == list(made.study.plot.names())
    assert sum(tag == "summary" for tag, _ in page.elements) == len(places)
    assert "Numbers: 12 rows" in page.said


@pytest.mark.parametrize("count", [0, 1])
def test_a_study_of_few_trials(count: int) -> None:
    study = sonde.Study(SPACE, seed=0)
    if count:
        study.optimize(lambda trial: 1.0, 1, progress=False)
    said = text_of(study.report())
    assert ("There is no trial yet." in said) == (count == 0)
    assert ("of trial 0" in said) == (count == 1)
    assert "How to reproduce" in said


def test_a_study_of_failures_says_why() -> None:
    study = sonde.Study(SPACE, seed=0)
    for number in range(6):
        study.tell(study.ask(), failed=f"no GPU {number}")
    said = text_of(study.report())
    assert "6 trials failed, for 1 reason" in said
    assert "has no best trial yet: no trial has completed; the last one failed: no GPU 5." in said


def test_several_objectives_have_a_front() -> None:
    study = sonde.Study(SPACE, objectives={"loss": "minimize", "gain": "maximize"}, thresholds={"loss": 0.9}, seed=0)
    study.optimize(lambda trial: {"loss": trial["x"], "gain": trial["x"] ** 2}, 8, progress=False)
    page = study.report()
    said = text_of(page)
    assert page.count('data-figure="slices"') == page.count('data-figure="predictions"') == 2
    assert "The model along each parameter, with its uncertainty: 'gain'." in said
    assert all(
        f"{title} for {name} " in said
        for title in ("Importance", "The model along each parameter")
        for name in ("loss", "gain")
    )
    assert "minimize loss, maximize gain" in said
    assert "trials that no other one dominates" in said
    assert "nothing beyond 0.9 interests" in said
    assert "loss: leave-one-out" in said


class Broken(Sobol):
    """Its model cannot be fitted."""

    def model(self, space: sonde.Space, history: History) -> Any:
        raise sonde.SondeError("the model <b>broke</b>")


def test_what_cannot_be_drawn_is_a_sentence() -> None:
    study = usual(strategy=Broken())
    page = study.report()
    assert "<b>broke" not in page
    said = text_of(page)
    assert "Not drawn" in said
    assert "the model <b>broke</b>" in said
    assert 'data-figure="history"' in page


@pytest.mark.parametrize("path", ["report.pdf", "report", "missing/report.html"])
def test_a_wrong_path_is_found_before_anything_is_fitted(path: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"must end in \.html|there is no folder"):
        usual(2, strategy=Broken()).report(tmp_path / path)


def test_without_plotly_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    study = usual(3)
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sonde\[plots\]'"):
        study.report()


def test_a_password_is_not_printed(postgres_url: str) -> None:
    url = postgres_url.replace("?", "?password=secret%40word&")
    study = sonde.Study(SPACE, storage=url, name="first", seed=0)
    page = study.report()
    study.close()
    assert "secret" not in page
    assert "sonde verify --storage postgresql+psycopg://postgres@/test_" in text_of(page)


def script_in(page: str) -> str:
    page = Words(page).said
    return page[page.index("import sonde") : page.index("Versions")].split("This command")[0]


CONDITIONAL = sonde.Space(
    {
        "a b": sonde.Bool(),
        "c": sonde.Categorical([1, 2.5, None, ("t", 1)], when={"a b": True}),
        "d": sonde.Float(0, 1, step=0.1),
    }
).where("d <= 0.7")


@pytest.mark.parametrize(
    "make",
    [
        hostile,
        lambda: sonde.Study(CONDITIONAL, seed=5, direction="maximize", strategy="gp(batch='joint')"),
        lambda: sonde.Study(SPACE, objectives={"a": "minimize", "'b": "maximize"}, thresholds={"a": 3}, seed=1),
    ],
)
def test_the_script_runs(make: Callable[[], sonde.Study], tmp_path: Path) -> None:
    study = make()
    if not len(study.history):
        value = {"a": 1.0, "'b": 2.0} if study.objectives.several else 1.0
        study.tell(study.ask(), value)
    script = tmp_path / "script.py"
    script.write_text(script_in(study.report()), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    best = study.pareto_front[0] if study.objectives.several else study.best_trial
    labelled = {name: sonde.Space.from_json(study.space.to_json())[name] for name in best}
    expected = {name: labelled[name].value(study.space[name].number(value)) for name, value in best.items()}
    assert done.stdout.strip() == repr(expected)


DOMAINS = """({layout}, letter) =>
    Object.keys(layout).filter(name => name.startsWith(letter)).map(name => layout[name].domain)"""


@pytest.mark.parametrize(
    ("width", "scheme", "which"), [(1440, "light", "made"), (390, "dark", "made"), (390, "light", "hostile_made")]
)
def test_a_browser_draws_it_without_asking_anyone(
    chromium: Browser, which: str, width: int, scheme: Any, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(which).path
    with chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme) as context:
        page, heard = context.new_page(), list[str]()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("dialog", lambda dialog: heard.append(dialog.message))
        page.on("request", lambda request: heard.append(request.url) if not request.url.startswith("file:") else None)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-drawn=all]")
        assert heard == []
        assert page.locator(".plot").count() == page.locator(".plot .main-svg:first-child").count() > 5
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        paper = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 25, 31)"}[scheme]
        first = page.locator(".plot .main-svg").first
        expect(first).to_have_css("background-color", paper)
        slices = page.locator(".plot[data-figure=slices]")
        across, up = (slices.evaluate(DOMAINS, letter) for letter in ("xaxis", "yaxis"))
        if width == 390:  # panels stand below each other
            assert across == [[0, 1]] * len(across)
            assert all(upper[0] > lower[1] for upper, lower in pairwise(up))
        else:
            assert len({left for left, _ in across}) == min(len(across), 3)
            slices.hover()  # Plotly's buttons appear
            slices.locator(".updatemenu-header").click()
            page.get_by_text("others at: centre").last.click()
            expect(slices.locator(".updatemenu-header")).to_have_text(re.compile("others at: centre"))
        page.emulate_media(media="print")  # is light
        expect(first).to_have_css("background-color", "rgb(255, 255, 255)", timeout=60_000)
    assert HOSTILE.encode() not in path.read_bytes()


def test_a_script_of_someone_else_does_not_run(made: Made, chromium: Browser, tmp_path: Path) -> None:
    page_text = made.page.replace("</main>", "<script>document.title='run'</script></main>")
    (tmp_path / "r.html").write_text(page_text, encoding="utf-8")
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto((tmp_path / "r.html").as_uri())
        page.wait_for_selector("html[data-drawn=all]")
        assert page.title() != "run"


def test_ten_thousand_trials(tmp_path: Path) -> None:
    study = sonde.Study(sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1)), seed=0, strategy="random")
    study.add_trials([
        {"params": {"x": i / 10_000, "y": i * 7919 % 10_000 / 10_000}, "value": objective_of(i)} for i in range(10_000)
    ])  # fmt: skip
    study.report(tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size < 3e6


def objective_of(number: int) -> float:
    return abs(number - 3000) / 1000 + number * 7919 % 10_000 / 10_000
