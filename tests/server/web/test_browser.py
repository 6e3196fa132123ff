"""The dashboard in a real Chromium. Every test fails if its page logs an error, or asks another host for anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.server.service import Server

PATIENCE = 60_000  # milliseconds: other tests run at the same time
HOSTILE = "<script>alert(1)</script> تجربة \u202e" + "x" * 160 + " 🚀"
# Go to another page, and return when the former one is gone.
GO = "to => new Promise(gone => { addEventListener('hashchange', gone, {once: true}); location.hash = to; })"
# A figure is computed when it is seen: look at one that is not there yet.
ALL_LOADED = """() => {
  const missing = document.querySelector("main .loading");
  missing?.scrollIntoView();
  return !missing;
}"""
SPACE = {"parameters": {
    "lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": True}, "n": {"type": "int", "low": 1, "high": 9},
    "opt": {"type": "categorical", "choices": ["sgd", "adam"]},
    "momentum": {"type": "float", "low": 0, "high": 1, "when": {"opt": ["sgd"]}},
}}  # fmt: skip


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, logs: Path) -> Iterator[Server]:
    """A server that knows where logs are."""
    folder = tmp_path_factory.mktemp("server")
    running = Server(f"sqlite:///{folder}/studies.db", folder, "--logs", str(logs))
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


@pytest.fixture
def allowed() -> list[str]:
    """Parts of messages that a test expects on the console."""
    return []


@pytest.fixture
def page(chromium: Browser, server: Server, allowed: list[str]) -> Iterator[Page]:
    """A page that is logged in and must not misbehave."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    made, wrong = context.new_page(), []
    made.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    own = (f"http://127.0.0.1:{server.port}/", "data:", "blob:")
    made.on("request", lambda request: None if request.url.startswith(own) else wrong.append(request.url))
    made.goto(f"http://127.0.0.1:{server.port}/#token={server.token}")
    expect(made.get_by_role("heading", level=1)).to_have_text("Studies", timeout=PATIENCE)
    yield made
    context.close()
    assert [one for one in wrong if not any(part in one for part in allowed)] == []


expect.set_options(timeout=PATIENCE)


def entry(i: int) -> dict[str, Any]:
    opt = "sgd" if i % 2 else "adam"
    params = {"lr": 1e-5 * (i + 1), "n": i % 9 + 1, "opt": opt} | ({"momentum": 0.5} if opt == "sgd" else {})
    if i % 5 == 4:
        return {
            "params": params,
            "failed": f'Traceback (most recent call last):\n  File "a"\nOSError: <img src=x onerror=alert({i})>',
        }
    return {"params": params, "value": (i - 7) ** 2 / 10 + 1}


def study(server: Server, name: str, count: int = 12) -> str:
    server.post("/v1/studies", {"name": name, "space": SPACE, "strategy": "random", "seed": 1})
    path = f"/v1/studies/{quote(name, safe='')}"
    if count:
        added = server.post(f"{path}/add", {"trials": [entry(i) for i in range(count)]})
        assert added.status == 200, added
    return path


def stat(page: Page, term: str) -> Any:
    """A number in the head of a study."""
    return page.locator(".stats div").filter(has=page.get_by_text(term, exact=True)).locator("dd")


def test_log_in_watch_a_running_study_pause_it_and_log_out(page: Page, server: Server) -> None:
    path = study(server, "watched", 3)
    assert "token" not in page.url
    page.get_by_role("link", name="watched").click()
    expect(page.locator(".live")).to_have_text("live")
    expect(stat(page, "Trials")).to_have_text("3")
    expect(page.locator(".plot .scatterlayer .trace").first).to_be_attached()
    (trial,) = server.ask(path, worker="gpu-7")["trials"]
    expect(page.get_by_role("cell", name="gpu-7")).to_be_visible()
    server.post(f"{path}/tell", {"trial": trial["number"], "token": trial["token"], "value": -0.125})
    expect(stat(page, "Best (minimize)")).to_have_text("-0.125")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".title-row .badge").first).to_have_text("paused")
    assert server.get(path).data["paused"] is True
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Add a note").click()
    page.get_by_label("Note").fill("look <b>here</b>")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("p.note")).to_have_text("look <b>here</b>")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    assert page.evaluate("document.cookie") == ""


def test_a_wrong_token_says_so_and_the_right_one_goes_on(chromium: Browser, server: Server) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{server.port}/#/compare")
    page.get_by_label("Token").fill("sonde_wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("unknown, expired or revoked")
    page.get_by_label("Token").fill(server.token)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare studies")
    context.close()


def test_the_table_filters_and_a_failed_trial_shows_its_traceback_as_text(page: Page, server: Server) -> None:
    study(server, "table of trials", 120)
    page.goto(f"{page.url.partition('#')[0]}#/study/table%20of%20trials/trials")
    rows = page.locator("table.trials tbody tr")
    expect(rows).to_have_count(50)
    expect(page.locator(".pager")).to_contain_text("50 of 120")
    page.get_by_placeholder("Filter, such as").fill("value<1.3")
    page.get_by_role("button", name="Add filter").click()
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Remove the filter").click()
    page.get_by_placeholder("Search").fill("adam")
    expect(page.locator(".pager")).to_contain_text("of 60 matching")
    page.get_by_placeholder("Search").fill("")
    expect(page.locator(".pager")).to_contain_text("50 of 120")
    page.get_by_text("failed", exact=True).first.click()
    expect(page.locator(".pager")).to_contain_text("of 24 matching (120 in all)")
    page.get_by_role("button", name="n", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort=ascending]")).to_have_count(1)
    page.reload()  # the address knows the question
    expect(page.locator(".pager")).to_contain_text("of 24 matching")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert len(download.value.path().read_text().splitlines()) == 25
    rows.first.get_by_role("link").click()
    expect(page.locator("pre")).to_contain_text("<img src=x onerror=alert(")
    assert page.locator("pre img").count() == 0
    page.go_back()
    expect(page.locator(".pager")).to_contain_text("of 24 matching")


def test_a_trial_has_its_parameters_result_curve_and_log(page: Page, server: Server, logs: Path) -> None:
    (logs / "told").mkdir()
    (logs / "told" / "stdout").write_text("epoch 1 <b>of</b> 3\n")
    path = study(server, "whole", 0)
    params = {"lr": 0.01, "n": 4, "opt": "adam"}
    told = {"params": params, "value": 0.25, "curve": [[1, 0.5], [2, 0.25]], "attributes": {"log": str(logs / "told")}}
    assert server.post(f"{path}/add", {"trials": [told]}).status == 200
    page.goto(f"{page.url.partition('#')[0]}#/study/whole/trial/0")
    expect(page.locator(".big")).to_have_text("0.25")
    expect(page.locator(".pairs").first).to_contain_text("adam")
    expect(page.locator("pre")).to_have_text("epoch 1 <b>of</b> 3")
    expect(page.locator(".plot-container .scatterlayer .trace")).to_have_count(1)
    page.get_by_text("The numbers").click()
    expect(page.get_by_role("row", name="2 0.25")).to_be_visible()


def test_a_link_with_a_token_logs_in_where_a_session_has_ended(page: Page, server: Server) -> None:
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    page.evaluate(f"location.hash = '#token={server.token}'")
    expect(page.get_by_role("heading", level=1)).to_have_text("Studies")
    assert "token" not in page.url


def test_enqueue_by_hand_and_tell_what_came_out(page: Page, server: Server) -> None:
    path = study(server, "by hand", 1)
    page.goto(f"{page.url.partition('#')[0]}#/study/by%20hand")
    page.get_by_role("link", name="Enqueue a trial").click()
    expect(page.get_by_label("momentum")).to_be_hidden()
    page.get_by_label("opt").select_option(label="sgd")
    expect(page.get_by_label("momentum")).to_be_visible()
    page.get_by_role("button", name="Enqueue").click()
    expect(page.get_by_text("This needs a number.")).to_be_visible()
    page.get_by_label("momentum").fill("0.25")
    page.get_by_label("n", exact=True).fill("4")
    page.get_by_label("lr").fill("0.01")
    page.get_by_role("button", name="Enqueue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Trial 1")
    assert server.get(f"{path}/trials/1").data["params"] == {"lr": 0.01, "n": 4, "opt": "sgd", "momentum": 0.25}
    (trial,) = server.ask(path, worker="me")["trials"]
    expect(page.locator(".badge")).to_have_text("running")
    page.get_by_label("Value").fill("0.5")
    page.get_by_role("button", name="Tell value").click()
    expect(page.locator(".badge")).to_have_text("completed")
    assert server.get(f"{path}/trials/{trial['number']}").data["value"] == 0.5
    page.get_by_role("link", name="Enqueue again").click()
    page.get_by_role("button", name="Enqueue").click()
    waiting = shown_trial(page, after=trial["number"])
    page.get_by_label("Why it failed").fill("no memory")
    page.get_by_role("button", name="Tell failure").click()
    told = shown_trial(page, after=waiting)
    assert server.get(f"{path}/trials/{told}").data["error"] == "no memory"
    assert server.get(f"{path}/trials/{waiting}").data["state"] == "cancelled"


def shown_trial(page: Page, after: int) -> int:
    """Wait for the page of a later trial and return its number; the server may have suggested one meanwhile."""
    later = re.compile(rf"^Trial (?!(?:{'|'.join(map(str, range(after + 1)))})$)\d+$")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(later)
    return int(heading.inner_text().removeprefix("Trial "))


def test_what_the_server_refuses_is_said_beside_its_field(page: Page, server: Server, allowed: list[str]) -> None:
    study(server, "refused", 1)
    page.goto(f"{page.url.partition('#')[0]}#/study/refused/enqueue")
    page.get_by_label("lr").fill("7")
    allowed.append("status of 422")  # Chromium notes every such answer
    page.get_by_role("button", name="Enqueue").click()
    expect(page.locator(".field", has=page.get_by_label("lr")).locator(".field-error")).to_contain_text(
        "expected a number from"
    )
    expect(page.get_by_label("lr")).to_have_attribute("aria-invalid", "true")


def test_two_studies_are_compared(page: Page, server: Server) -> None:
    study(server, "one of two", 5)
    study(server, "two of two", 12)
    page.reload()
    page.get_by_label("Choose one of two").check()
    page.get_by_label("Choose two of two").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".scatterlayer .trace")).to_have_count(2)
    expect(page.get_by_role("button", name="Download plot")).to_be_attached()
    expect(page.get_by_role("button", name=re.compile("Share|Cloud"))).to_have_count(0)
    expect(page.get_by_role("row", name="Best value")).to_contain_text("1")
    expect(page.get_by_role("columnheader", name="two of two")).to_be_visible()


def test_hostile_names_are_text_everywhere(page: Page, server: Server) -> None:
    name = HOSTILE
    space = {"parameters": {name: {"type": "categorical", "choices": [name, "</option><script>alert(2)</script>"]}}}
    made = server.post("/v1/studies", {"name": name, "space": space, "strategy": "random"})
    assert made.status == 201, made
    path = f"/v1/studies/{quote(name, safe='')}"
    server.post(
        f"{path}/add",
        {
            "trials": [
                {"params": {name: name}, "value": 1.0, "attributes": {name: name}},
                {"params": {name: name}, "failed": name},
            ]
        },
    )
    server.post(f"{path}/note", {"text": name})
    for place in ("", "/trials", "/trial/0", "/trial/1", "/enqueue", "/model", "/more"):
        page.evaluate(GO, f"#/study/{quote(name, safe='')}{place}")
        page.wait_for_function(ALL_LOADED)
        expect(page.locator("main")).to_contain_text("<script>alert(1)</script>")
        assert page.locator("main script").count() == 0, place
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
        if place == "/model":
            a_menu_keeps_its_choice(page)
    page.evaluate(GO, "#/")
    expect(page.get_by_role("link", name="<script>alert(1)</script>")).to_be_visible()


def a_menu_keeps_its_choice(page: Page) -> None:
    """It is not covered by Plotly's buttons, and a figure that is drawn anew shows what was chosen."""
    plot, menu = page.locator(".plot").first, page.locator(".updatemenu-header").first
    plot.hover()  # the buttons appear
    menu.click()
    page.locator(".updatemenu-dropdown-button").last.click()
    expect(menu).to_contain_text("others at: centre")
    page.get_by_role("button", name=re.compile("Dark colours")).click()
    expect(plot.locator(".updatemenu-header text").first).to_contain_text("others at: centre")
    shown = plot.evaluate("({data, layout}) => [layout.updatemenus[0].active, data[0].visible, data.at(-1).visible]")
    assert shown == [1, False, True]
    page.get_by_role("button", name=re.compile("Light colours")).click()


def test_a_study_of_several_objectives_has_a_front_to_click_on(page: Page, server: Server) -> None:
    import json

    path = server.study("front", direction=json.dumps({"loss": "minimize", "time": "minimize"}))
    added = [{"params": {"x": i / 10, "n": 1}, "value": {"loss": i, "time": 9 - i}} for i in range(6)]
    server.post(f"{path}/add", {"trials": added})
    page.goto(f"{page.url.partition('#')[0]}#/study/front")
    points = page.locator(".scatterlayer .trace").last.locator(".point")  # of the front, which is drawn last
    expect(points.first).to_be_attached()
    box = points.first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator(".hoverlayer .hovertext").first).to_be_attached()
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"Trial \d"))
    page.goto(f"{page.url.partition('#')[0]}#/study/front/front")
    expect(page.locator(".figure").first).to_be_visible()


AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(("colours", "width"), [("light", 1280), ("dark", 390)])
def test_pages_are_accessible(page: Page, server: Server, colours: Any, width: int) -> None:
    path = study(server, "accessible", 12)
    study(server, "beside it", 3)
    server.post(f"{path}/enqueue", {"params": [{"lr": 0.01, "n": 2, "opt": "adam"}]})
    page.emulate_media(color_scheme=colours)
    page.set_viewport_size({"width": width, "height": 900})
    for place in (
        "study/accessible",
        "study/accessible/trials",
        "study/accessible/trial/4",
        "study/accessible/trial/12",
        "study/accessible/enqueue",
        "compare?study=accessible&study=beside%20it",
        "",
    ):
        page.evaluate(GO, f"#/{place}")
        page.wait_for_function(ALL_LOADED)
        expect(page.locator("h1")).to_be_visible()
        page.evaluate(AXE)
        found = page.evaluate("axe.run({ resultTypes: ['violations'] })")
        assert [(one["id"], [node["html"][:300] for node in one["nodes"]]) for one in found["violations"]] == [], place
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{place} is wider than {width}"


def test_the_keyboard_reaches_the_content_and_the_theme_is_remembered(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.get_by_role("button", name=re.compile("Dark colours")).click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Light colours")).to_be_visible()
