"""The page in a real browser, opened from the file system with the network off."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grade.graphs import GraphSet, Pattern
from grade.report.comparison import write_comparison
from grade.report.page import write_page
from grade.sampling.census import take_census
from grade.sources import load
from tests.report.runs import make_run

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine (Debian: apt-get install chromium)"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Opens a file; at the end of the test no error may have been reported and nothing asked of the network."""
    context = browser.new_context(offline=True, viewport={"width": 1300, "height": 900})
    complaints: list[str] = []

    def open_file(path: Path) -> Any:
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: complaints.extend([request.url] * (not request.url.startswith("file:"))),
        )
        page.goto(path.as_uri())
        return page

    yield open_file
    context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def report(mined: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    write_page(mined, out)
    return out


def numbers(page: Any, place: int) -> list[int]:
    """One of the numbers of every card, in the order of the cards."""
    texts = [
        card.inner_text().split("\n")[-1]
        for card in page.locator(f".numbers > span:nth-child({place})").all()
    ]
    return [int(re.sub(r"\D", "", text)) for text in texts]


def to_the_end(page: Any) -> None:
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")


def test_motifs_are_sorted_filtered_and_searched(visit: Any, report: Path) -> None:
    page = visit(report)
    expect = sync_api.expect
    expect(page.locator("#count")).to_have_text("30 of 30")
    to_the_end(page)
    expect(page.locator(".card")).to_have_count(30)
    occurrences = numbers(page, 1)
    assert occurrences == sorted(occurrences, reverse=True)

    page.select_option("#sort", "disjoint")
    to_the_end(page)
    expect(page.locator(".card")).to_have_count(30)
    disjoint = numbers(page, 3)
    assert disjoint == sorted(disjoint, reverse=True)
    page.click("#direction")
    assert numbers(page, 3)[0] == min(disjoint)

    page.select_option("#type", "Conv")
    labels = [card.get_attribute("aria-label") for card in page.locator(".card").all()]
    assert labels
    assert all("Conv" in label for label in labels)
    page.fill("#search", "conv  relu")
    both = [card.get_attribute("aria-label") for card in page.locator(".card").all()]
    assert both == [label for label in labels if "Relu" in label]
    page.fill("#search", "nothing has this name")
    expect(page.locator(".card")).to_have_count(0)
    expect(page.locator("#count")).to_have_text("0 of 30")


def test_an_occurrence_is_shown_by_keyboard_alone(visit: Any, report: Path) -> None:
    page = visit(report)
    expect = sync_api.expect
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.locator(".card").first.focus()
    page.keyboard.press("Enter")
    detail = page.locator("#detail")
    expect(detail).to_be_visible()
    expect(page.locator("#detail-title")).to_contain_text("#1 ")
    coloured = detail.locator(".surroundings rect[stroke-width='1.5']")
    expect(coloured).to_have_count(6)
    assert detail.locator(".surroundings rect").count() > 6
    expect(detail.locator(".surroundings")).to_contain_text("node ")

    second = detail.locator(".places button").nth(1)
    before = detail.locator(".surroundings").inner_html()
    second.focus()
    page.keyboard.press("Enter")
    expect(second).to_have_attribute("aria-pressed", "true")
    assert detail.locator(".surroundings").inner_html() != before
    page.keyboard.press("ArrowRight")
    expect(page.locator("#detail-title")).to_contain_text("#2 ")
    page.keyboard.press("Escape")
    expect(detail).not_to_be_visible()
    expect(page.locator(".card[data-id='2']")).to_be_focused()


def test_labels_fit_into_their_boxes(visit: Any, report: Path) -> None:
    page = visit(report)
    page.locator(".card").first.click()
    widths = page.evaluate(
        "[...document.querySelectorAll('svg g')].flatMap((g) => [...g.querySelectorAll('text')].map("
        "(text) => [text.getBBox().width, g.querySelector('rect').getBBox().width]))"
    )
    assert len(widths) > 100
    assert all(text < box for text, box in widths)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(visit: Any, report: Path, scheme: str) -> None:
    page = visit(report)
    page.emulate_media(color_scheme=scheme)
    colours = page.evaluate(
        "['body', '.rank', '.numbers small', '.toolbar label'].map((s) =>"
        " [getComputedStyle(document.querySelector(s)).color, getComputedStyle(document.body).backgroundColor])"
    )
    background = luminance(colours[0][1])
    assert (background > 0.5) == (scheme == "light")
    for text, _ in colours:
        bright, dark = sorted((luminance(text), background), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) > 4.5  # what WCAG asks of body text


def luminance(colour: str) -> float:
    """Relative luminance of ``rgb(r, g, b)``."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_hostile_names_stay_text(visit: Any, tmp_path: Path) -> None:
    name = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    graphs = GraphSet.from_edges(
        node_counts=[3],
        node_types=[0, 1, 1],
        edge_counts=[2],
        edges=[[0, 1], [1, 2]],
        node_vocabulary=[name, "conv"],
        graph_names=[name],
        node_names=[name] * 3,
    )
    pattern = Pattern.of([0, 1], [[0, 1], [0, 0]], graphs.node_vocabulary, graphs.edge_vocabulary)
    run = make_run(tmp_path / "run", graphs, [(pattern, 1)], spec=name)
    write_page(run, tmp_path / "page.html", graphs)
    write_comparison(run, run, tmp_path / "comparison.html")
    page = visit(tmp_path / "page.html")
    page.locator(".card").click()
    sync_api.expect(page.locator("#detail-title")).to_contain_text(name)
    sync_api.expect(page.locator(".surroundings title").first).to_contain_text(name)
    assert page.title() == f"1 motifs of {name}, k = 2"
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    other = visit(tmp_path / "comparison.html")
    assert other.title() == "run and run"
    assert other.locator("img, script").count() == 0
    assert name[:25] in other.locator("svg").first.inner_html().replace("&lt;", "<").replace("&gt;", ">")


def test_a_thousand_patterns_are_drawn_as_they_are_needed(visit: Any, tmp_path: Path) -> None:
    graphs = load("zoo-mini")
    patterns = take_census(graphs, 5, threads=1).top(1000)
    assert len(patterns) == 1000
    write_page(make_run(tmp_path / "run", graphs, patterns), tmp_path / "page.html")
    page = visit(tmp_path / "page.html")
    expect = sync_api.expect
    expect(page.locator("#count")).to_have_text("1,000 of 1,000")
    assert page.locator(".card").count() < 100
    page.fill("#search", "#1000")
    expect(page.locator("#count")).to_have_text("1 of 1,000")
    page.locator(".card").click()
    expect(page.locator("#detail-title")).to_contain_text(str(patterns[-1][0]))
    page.keyboard.press("Escape")
    page.fill("#search", "")
    before = page.locator(".card").count()
    to_the_end(page)
    expect(page.locator(".card").nth(before)).to_be_attached()
    assert page.locator(".card").count() < 1000


def test_numbers_that_are_not_exact_are_marked(visit: Any, tmp_path: Path) -> None:
    graphs = load("zoo-mini")
    write_page(
        make_run(tmp_path / "run", graphs, take_census(graphs, 3, threads=1).top(3)), tmp_path / "page.html"
    )
    page = visit(tmp_path / "page.html")
    texts = page.locator(".numbers > span:first-child").all_inner_texts()
    first, second, third = (text.split("\n")[-1] for text in texts)
    assert first.startswith("~")
    assert second.startswith(">= ")
    assert re.fullmatch(r"[\d,]+", third)
    page.locator(".card").first.click()
    sync_api.expect(page.locator("#detail")).to_contain_text("unbiased estimate, standard error 10.0 %")
    page.keyboard.press("ArrowRight")
    sync_api.expect(page.locator("#detail")).to_contain_text("at least; counting was cut off")


def test_a_link_leads_to_a_motif(visit: Any, report: Path, tmp_path: Path) -> None:
    page = visit(report)
    page.goto(report.as_uri() + "#motif-7")
    page.reload()
    sync_api.expect(page.locator("#detail-title")).to_contain_text("#7 ")
