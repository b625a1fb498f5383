"""The report: what it says, that strangers cannot put code into it, and how a browser shows it."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

import hillbandit as hb
from hillbandit.overview import Overview
from hillbandit.report_charts import Evaluations, effect, worth
from hillbandit.study_report import page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
TAG = "<script>alert(1)</script>"
END = "</script><script>document.title='owned'</script><!--"
HOSTILE: dict[str, Iterable[Any]] = {
    TAG: ["<b>bold</b>", "<img src=x onerror=document.title='owned'>", "&lt;i&gt;"],
    END: [1, 2, 3],
    "%{x} ${y} {{ z }}": ["\u2028", "\"'", "<a href='javascript:alert(1)'>go</a>"],
    "long" * 50: range(30),
}


def hostile_study(path: Path) -> Path:
    space = hb.Space(HOSTILE)

    def score(config: dict[str, Any], seed: int) -> float:
        if seed % 8 == 0:
            raise ValueError(END)
        return float(space.encode(config).sum()) + random.Random(seed).gauss(0, 1)

    hb.maximize(score, space, 120, noisy=True, study=path, study_name=END, seed=1)
    return path


def many_genes_study(path: Path) -> Path:
    problem = hb.problems.Noisy(hb.problems.OneMax(400), sd=1.0)
    hb.minimize(problem, problem.space, 500, noisy=True, study=path, seed=1, confirm=0.1)
    return path


def exact_study(path: Path) -> Path:
    space = hb.Space({"speed": range(1, 11), "shield": [False, True], "fixed": ["only"]})
    hb.maximize(lambda c: c["speed"] + c["shield"], space, 18, study=path, seed=1)
    return path


STUDIES = {"hostile": hostile_study, "many": many_genes_study, "exact": exact_study}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    found = {}
    for name, make in STUDIES.items():
        with Overview(make(folder / f"{name}.db")) as overview:
            found[name] = folder / f"{name}.html"
            found[name].write_text(page(overview), encoding="utf-8")
    return found


def charts_of(html: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="charts">(.*?)</script>', html)
    assert match is not None
    found: dict[str, Any] = json.loads(match.group(1))
    return found


def without_plotly(html: str) -> str:
    """Leave out the library's own script, which is most of the page."""
    return re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)


# --- what it says -------------------------------------------------------------------------------


def test_the_worth_of_a_value_is_the_mean_of_its_evaluations_with_students_interval() -> None:
    told = Evaluations(
        hb.Space({"x": [10, 20, 30]}),
        np.array([1.0, 3.0, 5.0, 7.0]),
        np.array([[0], [0], [0], [2]]),
        maximizing=True,
        noisy=True,
    )
    first, last = worth(told, 0)
    assert (first.index, first.count, first.mean) == (0, 3, 3.0)
    # by hand: the standard deviation is 2, t(2) at 97.5 % is 4.30265
    assert first.high == pytest.approx(3 + 4.30265273 * 2 / math.sqrt(3))
    assert first.low == pytest.approx(3 - 4.30265273 * 2 / math.sqrt(3))
    assert (last.index, last.count, last.mean, last.high) == (2, 1, 7.0, math.inf)
    # by hand: the mean of all is 4; (3 · 1 + 1 · 9) / 4
    assert effect([first, last]) == pytest.approx(3.0)


def test_the_page_tells_the_answer_the_state_and_every_gene(pages: dict[str, Path]) -> None:
    html = without_plotly(pages["exact"].read_text(encoding="utf-8"))
    assert "Stopped after 18 evaluations: budget." in html
    assert "<strong>11</strong> (without noise)" in html
    assert "<dt>speed</dt><dd>10</dd>" in html
    assert "the greater the better" in html
    assert ">None.<" in html
    with Overview(pages["exact"].with_suffix(".db")) as overview:
        for gene in overview.study.explain():
            assert f"{gene.mutations:,}</td>" in html


def test_the_leaders_line_is_the_best_so_far_where_there_is_no_noise(
    pages: dict[str, Path],
) -> None:
    course = charts_of(pages["exact"].read_text(encoding="utf-8"))["course"]["data"]
    points, line = course[0], course[-1]
    assert line["y"] == np.maximum.accumulate(points["y"]).tolist()


def test_a_confirmed_answer_says_so(pages: dict[str, Path]) -> None:
    assert "fresh evaluations alone" in pages["many"].read_text(encoding="utf-8")


def test_plotly_itself_accepts_every_chart(pages: dict[str, Path]) -> None:
    for path in pages.values():
        for chart in charts_of(path.read_text(encoding="utf-8")).values():
            for trace in chart["data"]:
                trace.pop("words", None)  # the page's own script makes texts of these
                trace.pop("indices", None)
            go.Figure(chart)


def test_a_study_with_nothing_but_failures_or_nothing_at_all_has_a_page(tmp_path: Path) -> None:
    space = hb.Space({"x": range(50)})
    hb.Study.open(tmp_path / "empty.db", space).close()
    with Overview(tmp_path / "empty.db") as overview:
        assert "Nothing has been evaluated yet" in page(overview)

    def fail(_: Any) -> float:
        raise ValueError("never works")

    with pytest.raises(hb.StudyError):
        hb.maximize(fail, space, 5, study=tmp_path / "bad.db")
    with Overview(tmp_path / "bad.db") as overview:
        html = page(overview)
    assert "10 ×</span> ValueError: never works" in html
    assert "Traceback (most recent call last)" in html


def test_an_optimiser_without_urgencies_says_so(tmp_path: Path) -> None:
    problem = hb.problems.OneMax(6)
    hb.maximize(problem, problem.space, 9, optimizer="rmhc", study=tmp_path / "s.db", seed=1)
    with Overview(tmp_path / "s.db") as overview:
        html = page(overview)
    assert "all genes are equally urgent" in html
    assert "urgency" not in charts_of(html)


def test_a_missing_extra_is_named(pages: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hillbandit.study_report.find_spec", lambda _: None)
    with (
        Overview(pages["exact"].with_suffix(".db")) as overview,
        pytest.raises(ModuleNotFoundError, match=r"hillbandit\[report\]"),
    ):
        page(overview)


# --- strangers ----------------------------------------------------------------------------------


def test_html_in_names_values_and_errors_is_escaped(pages: dict[str, Path]) -> None:
    html = pages["hostile"].read_text(encoding="utf-8")
    rest = without_plotly(html)
    for text in (TAG, END, "<b>bold", "<img", "<a href"):
        assert text not in rest
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in rest
    # two scripts of ours and one block of data, whatever the study contains
    assert len(re.findall(r"<script", html)) == 3
    assert len(re.findall(r"</script", html)) == 3
    labels = charts_of(html)["time"]["data"][0]["words"][0]
    assert all(label.startswith("&lt;script&gt;alert(1)&lt;/script&gt; = ") for label in labels)


def test_the_page_loads_nothing_from_anywhere(pages: dict[str, Path]) -> None:
    rest = without_plotly(pages["many"].read_text(encoding="utf-8"))
    assert "http://" not in rest
    assert "https://" not in rest
    assert "default-src 'none'" in rest


# --- in a browser -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no Chromium here: on Debian, apt-get install chromium chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def visit(browser: Any, path: Path) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    browser.get(path.as_uri())
    WebDriverWait(browser, 60).until(
        lambda driver: driver.execute_script("return document.body.dataset.drawn === 'all'")
    )


MEASURE = """
const texts = [...document.querySelectorAll('.js-plotly-plot text')];
return {
  title: document.title,
  charts: document.querySelectorAll('[data-chart]').length,
  drawn: [...document.querySelectorAll('[data-chart]')].filter(place =>
    place.querySelector('.points path, .point path, .hm image') !== null).length,
  width: document.documentElement.scrollWidth,
  seen: window.innerWidth,
  smallest: Math.min(...texts.map(text => parseFloat(getComputedStyle(text).fontSize))),
  overflowing: [...document.querySelectorAll('body *')].filter(e =>
    !e.closest('.scroll') && e.getBoundingClientRect().right > window.innerWidth + 1).length,
  labels: texts.map(text => text.textContent),
  links: document.querySelectorAll('a[href]').length,
  fetched: performance.getEntriesByType('resource').length,
};
"""


@pytest.mark.parametrize(
    ("name", "width"), [("hostile", 375), ("hostile", 1200), ("many", 375), ("exact", 1200)]
)
def test_a_browser_draws_every_chart_without_a_complaint(
    browser: Any, pages: dict[str, Path], name: str, width: int
) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    visit(browser, pages[name])
    found = browser.execute_script(MEASURE)
    assert browser.get_log("browser") == []
    assert found["charts"] == {"hostile": 7, "many": 15, "exact": 6}[name]
    assert found["drawn"] == found["charts"]
    assert found["seen"] == width
    assert found["width"] <= width
    assert found["overflowing"] == 0
    assert found["smallest"] >= 10
    assert found["links"] == found["fetched"] == 0
    assert "owned" not in found["title"] or END in found["title"]
    if name == "hostile":
        assert "<script>alert(1…" in found["labels"]
        assert "<b>bold</b>" in found["labels"]
        assert "&lt;i&gt;" in found["labels"]


def test_a_browser_shows_the_value_of_a_gene_when_a_cell_is_pointed_at(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages["exact"])
    texts = browser.execute_script(
        "const place = document.querySelector('[data-chart=time]');"
        "Plotly.Fx.hover(place, [{curveNumber: 0, pointNumber: [1, 0]}]);"
        "return [place.data[0].text[1][0], place.data[0].text[2][0]];"
    )
    assert texts[0] in ("shield = False", "shield = True")
    assert texts[1] == "fixed = only"
