"""How soon a browser shows a large study, and what that costs its workers: ``python -m benchmarks.dashboard``.

``sonde dashboard`` serves a study of 100,000 trials, and Chromium shows it. Times begin at the navigation, or at the
click, and end when the figure or the rows are in the page. Asks per second are those of clients of a running study,
with its page open and without. ``--picture`` makes the picture of the documentation instead.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, Page, sync_playwright

import sonde
from benchmarks.figures import one
from benchmarks.report import report

PICTURE = Path(__file__).parents[1] / "docs" / "figures" / "dashboard.png"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox"] if os.getuid() == 0 else []
REPEATS, CLIENTS, SECONDS = 5, 4, 15.0
DRAWN = ".plot .scatterlayer path, .plot .gl-canvas"  # of a figure
# Acts, and resolves to the milliseconds until the rows of the table are others.
ROWS_CHANGE = """act => new Promise(resolve => {
  const began = performance.now();
  const watching = new MutationObserver(() => { watching.disconnect(); resolve(performance.now() - began); });
  watching.observe(document.querySelector("table.trials tbody"), { childList: true });
  act();
})"""
SORT = "document.querySelectorAll('th.sortable button')[2].click()"
STATE = "document.querySelector('.tools input[value=failed]').click()"
FILTER = "document.querySelector('.filter').value = '{}'; document.querySelector('.tools').requestSubmit()"
SEARCH = "document.querySelector('.tools [type=search]').value = '{}'; document.querySelector('.tools').requestSubmit()"


def main() -> None:
    """Measure, print and keep; or make the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--picture", action="store_true")
    wanted = parser.parse_args()
    with TemporaryDirectory() as folder, chromium() as browser:
        if wanted.picture:
            picture(Path(folder), browser)
            return
        path = Path(folder) / "large.db"
        one(path, wanted.trials).close()
        rows = [*first_figures(path, browser), *table(path, browser), *asks(Path(folder) / "running.db", browser)]
    report("dashboard", f"a study of {wanted.trials} trials in the browser", rows)


def first_figures(path: Path, browser: Browser) -> Iterator[dict[str, Any]]:
    """Yield the seconds from the navigation to the figure, in a browser that keeps what it has compiled.

    It keeps Plotly's script after the second look.
    """
    with TemporaryDirectory() as profile:
        context = browser.browser_type.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=ARGUMENTS, viewport={"width": 1440, "height": 900}
        )
        for server in ("a new server and a new browser", "a new server"):
            with dashboard(path) as link:
                page = logged_in(context.new_page(), link)
                times = [to_figure(page, link, "one objective") for _ in range(REPEATS + 2)]
            yield row(f"first figure, {server} (s)", times[:1])
            if server == "a new server":
                yield row("first figure, later looks (s)", times[1:])
            else:
                yield row("first figure, second look of that browser (s)", times[1:2])
        context.close()


def to_figure(page: Page, link: str, study: str) -> float:
    """Return the seconds from navigating to the page of a study until its figure is drawn."""
    page.goto("about:blank")
    page.goto(address(link, study), wait_until="commit")
    page.wait_for_selector(DRAWN, state="attached")
    return float(page.evaluate("performance.now()")) / 1000


def table(path: Path, browser: Browser) -> Iterator[dict[str, Any]]:
    """Yield the seconds that the table of trials takes to show other rows."""
    with dashboard(path) as link:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = logged_in(context.new_page(), link)
        page.goto(address(link, "one objective", "trials"))
        page.wait_for_selector("table.trials tbody td")
        bounds, workers = [0.01, 0.008, 0.006, 0.004, 0.002], [f"node{i:03}" for i in range(REPEATS)]
        yield row("sort by value (s)", [changed(page, SORT) for _ in range(REPEATS)])
        yield row("search (s)", [changed(page, SEARCH.format(one)) for one in [*workers[1:], ""]])
        yield row("filter by an expression (s)", [changed(page, FILTER.format(f"lr<{one}")) for one in bounds])
        yield row("filter by state (s)", [changed(page, STATE) for _ in range(REPEATS)])
        context.close()


def changed(page: Page, act: str) -> float:
    """Return the seconds until the rows of the table are others."""
    return float(page.evaluate(f"({ROWS_CHANGE})(() => {{ {act} }})")) / 1000


def asks(path: Path, browser: Browser) -> Iterator[dict[str, Any]]:
    """Yield how many trials per second clients ask for and tell, without and with a page that shows their study."""
    space = sonde.Space(x=sonde.Float(0, 1), y=sonde.Float(0, 1))
    with sonde.Study(space, name="running", storage=path, strategy="random", seed=0) as study:
        study.optimize(lambda trial: trial["x"], 2000, progress=False)
    with dashboard(path) as link:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = logged_in(context.new_page(), link)
        rates: dict[bool, list[float]] = {False: [], True: []}
        for shown in [False, True] * REPEATS:
            page.goto("about:blank")
            if shown:
                page.goto(address(link, "running"))
                page.wait_for_selector(DRAWN, state="attached")
            rates[shown].append(rate(link))
        context.close()
    yield row("trials per second, no page open (1/s)", rates[False])
    yield row("trials per second, page of the study open (1/s)", rates[True])


def rate(link: str) -> float:
    """Return the trials per second of some clients."""
    url, _, token = link.partition("/#token=")
    until = time.monotonic() + SECONDS / REPEATS

    def client() -> int:
        told = 0
        with sonde.connect(url, "running", token=token) as study:
            while time.monotonic() < until:
                trial = study.ask()
                study.tell(trial, trial["x"])
                told += 1
        return told

    began = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        told = sum(done.result() for done in [pool.submit(client) for _ in range(CLIENTS)])
    return told / (time.monotonic() - began)


def row(what: str, measured: list[float]) -> dict[str, Any]:
    """Return a row of the results."""
    return {"what": what, "median": statistics.median(measured), "least": min(measured), "most": max(measured),
            "measured": len(measured)}  # fmt: skip


# the picture


def picture(folder: Path, browser: Browser) -> None:
    """Draw the page of a study of 40 trials."""
    path = folder / "digits.db"
    space = sonde.Space(
        lr=sonde.Float(1e-5, 1e-1, log=True), layers=sonde.Int(1, 8), dropout=sonde.Float(0, 0.6),
        optimizer=sonde.Categorical(["sgd", "adam", "adamw"]),
    )  # fmt: skip
    with sonde.Study(space, name="digits", storage=path, seed=3) as study:
        study.optimize(training, 40, progress=False, catch=MemoryError)
        study.set_note("The second run, with dropout. Seven layers and more do not fit into memory.")
        study.ask()
    with dashboard(path) as link:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
        page = logged_in(context.new_page(), link)
        page.goto(address(link, "digits"))
        page.wait_for_selector(DRAWN, state="attached")
        page.wait_for_selector(".loading", state="detached")
        page.screenshot(path=PICTURE)
        context.close()
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")


def training(trial: sonde.Trial) -> float:
    """Return an error as that of a network, which does not fit into memory with many layers."""
    if trial["layers"] > 6:
        raise MemoryError("CUDA out of memory: tried to allocate 2.4 GiB")
    from math import log10

    slow = {"sgd": 0.03, "adam": 0.01, "adamw": 0.0}[trial["optimizer"]]
    return (
        0.02
        + 0.02 * (log10(trial["lr"]) + 3) ** 2
        + 0.01 * abs(trial["layers"] - 4)
        + slow
        + (trial["dropout"] - 0.2) ** 2 / 4
    )


# browser and server


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run the Chromium of the system."""
    if CHROMIUM is None:
        sys.exit("this needs Chromium: apt-get install chromium, or set CHROMIUM to the path of one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def dashboard(path: Path) -> Iterator[str]:
    """Run ``sonde dashboard``, and give its link."""
    program = [sys.executable, "-c", "from sonde.cli.main import main; main()", "dashboard", str(path), "--no-browser"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
        process.send_signal(signal.SIGINT)


def logged_in(page: Page, link: str) -> Page:
    """Log in by the link."""
    page.goto(link)
    page.get_by_role("heading", name="Studies").wait_for()
    return page


def address(link: str, study: str, tab: str = "") -> str:
    """Return the address of a page of a study."""
    return f"{link.partition('#')[0]}#/study/{quote(study)}{'/' * bool(tab)}{tab}"


if __name__ == "__main__":
    main()
