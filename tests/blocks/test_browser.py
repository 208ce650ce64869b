"""The page of blocks in a real browser, opened from the file system with the network off."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import grade
from grade import GraphSet
from grade.blocks import Blocks
from grade.report.block_page import write_block_page
from grade.report.block_tables import folded

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
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    complaints: list[str] = []

    def open_file(path: Path, width: int = 1280, asked: str = "") -> Any:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda r: complaints.extend([r.url] * (not r.url.startswith("file:"))))
        page.goto(path.as_uri() + asked)
        return page

    yield open_file
    context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def found() -> Blocks:
    return grade.blocks("zoo-mini")


@pytest.fixture(scope="module")
def report(found: Blocks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_block_page(found, tmp_path_factory.mktemp("page") / "blocks.html")


def test_a_model_is_an_outline_and_a_picture(visit: Any, report: Path, found: Blocks) -> None:
    page = visit(report)
    for graph, name in enumerate(found.graphs.graph_names):
        page.select_option("#model", str(graph))
        units = found.outline(graph)
        assert page.locator("#outline .part").all_inner_texts() == list(folded(found, units)), name
        assert page.locator("#frame svg > g").count() == len(units)
    assert f"{int(found.graphs.node_counts[-1]):,} nodes" in page.inner_text("#size")


def test_a_box_opens_down_to_the_operators(visit: Any, report: Path, found: Blocks) -> None:
    page = visit(report, asked="#m2")
    assert page.locator("#crumbs button").all_inner_texts() == ["tv/resnet34"]
    depth = 1
    while page.locator("#frame g.opens").count():
        page.locator("#frame g.opens").first.click()
        depth += 1
        assert page.locator("#crumbs button").count() == depth
    assert depth >= 3
    types = set(found.graphs.node_vocabulary)
    shown = page.locator("#frame svg > g > title").all_text_contents()
    assert shown
    assert set(shown) <= types
    page.locator("#crumbs button").first.click()
    assert page.locator("#frame svg > g").count() == len(found.outline(2))


def test_the_keyboard_opens_boxes_and_back_goes_back(visit: Any, report: Path) -> None:
    page = visit(report, asked="#m2")
    before = page.inner_html("#frame")
    page.locator("#frame g.opens").first.focus()
    page.keyboard.press("Enter")
    assert page.inner_html("#frame") != before
    page.go_back()
    assert page.inner_html("#frame") == before


def test_a_link_leads_to_a_block(visit: Any, report: Path, found: Blocks) -> None:
    page = visit(report, asked="#b.3")
    assert page.locator("#crumbs button").all_inner_texts() == [found.blocks[3].name]
    assert f"{found.blocks[3].count:,} times" in page.inner_text("#facts")


def test_the_library_can_be_searched_and_opened(visit: Any, report: Path, found: Blocks) -> None:
    page = visit(report)
    assert page.locator("#blocks tr").count() == len(found.blocks)
    page.fill("#search", "attention")
    names = page.locator("#blocks th button").all_inner_texts()
    assert 0 < len(names) < len(found.blocks)
    page.locator("#blocks tr").first.click()
    assert page.locator("#crumbs button").all_inner_texts() == names[:1]
    page.fill("#search", "no such block")
    assert page.inner_text("#count") == "no block matches"


def test_the_table_sorts_by_its_heads(visit: Any, report: Path, found: Blocks) -> None:
    page = visit(report)
    nodes = [block.nodes for block in found.blocks]

    def shown() -> list[int]:
        return [
            int(text.replace(",", ""))
            for text in page.locator("#blocks tr td:nth-of-type(1)").all_inner_texts()
        ]

    assert shown() == nodes
    head = page.locator("thead button", has_text="nodes").first
    head.click()
    assert shown() == sorted(nodes, reverse=True)
    head.click()
    assert shown() == sorted(nodes)


def test_every_block_of_an_outline_opens(visit: Any, report: Path, found: Blocks) -> None:
    page = visit(report, asked="#m2")
    blocks = [unit for unit in found.outline(2) if unit.base in found.by_symbol]
    assert page.locator("#frame g.opens").count() == len(blocks)


def test_copies_of_a_block_have_its_colour(visit: Any, report: Path, found: Blocks) -> None:
    page = visit(report, asked="#m2")
    colours: dict[int, set[str | None]] = {}
    for number, unit in enumerate(found.outline(2)):
        box = page.locator("#frame svg > g").nth(number).locator("rect")
        colours.setdefault(unit.base, set()).add(box.get_attribute("fill"))
    assert all(len(each) == 1 for each in colours.values())


def test_the_matrix_counts_blocks_by_model(visit: Any, report: Path, found: Blocks) -> None:
    page = visit(report)
    heads = page.locator("#heads button").all_inner_texts()
    assert heads == [block.name for block, _ in found.library(30)]
    for column, name in enumerate(heads[:5], start=1):
        cells = page.locator(f"#matrix tr td:nth-of-type({column})").all_inner_texts()
        counts = [int(text.replace(",", "") or 0) for text in cells]
        assert sum(counts) == found[name].count
        assert sum(count > 0 for count in counts) == found[name].graphs


def test_one_model_shares_nothing(visit: Any, tmp_path: Path) -> None:
    found = grade.blocks(grade.load("zoo-mini").subset([2]))
    page = visit(write_block_page(found, tmp_path / "one.html"))
    assert page.locator("#sharing").count() == 0
    assert "nodes in 1 graph are" in page.inner_text("header p")
    page.locator("#blocks tr").first.click()
    assert f"{found.blocks[0].count:,} times in 1 graph:" in page.inner_text("#facts")


def test_the_curve_ends_where_the_library_does(visit: Any, report: Path, found: Blocks) -> None:
    page = visit(report)
    titles = page.locator("#curve circle title").all_text_contents()
    covered = found.library(10)[-1][1]
    assert f"10 blocks: {100 * covered / found.nodes:.1f} %" in titles


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_does_not_overflow(visit: Any, report: Path, width: int) -> None:
    page = visit(report, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_names_and_empty_sets(visit: Any, tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)></script>"
    graphs = GraphSet.from_edges(
        node_counts=[3, 0, 3],
        node_types=[0, 1, 1, 0, 1, 1],
        edge_counts=[2, 0, 2],
        edges=[[0, 1], [1, 2], [0, 1], [1, 2]],
        node_vocabulary=[evil, "b"],
        graph_names=[evil, "empty", "c"],
        origin=evil,
    )
    page = visit(write_block_page(grade.blocks(graphs), tmp_path / "evil.html"))
    assert page.locator("img").count() == 0
    assert evil in page.inner_text("h1")
    nothing = graphs.subset([1])
    page = visit(write_block_page(grade.blocks(nothing), tmp_path / "empty.html"))
    assert page.locator("#sharing").count() == 0
    assert json.loads(page.inner_text("#data") or page.text_content("#data"))["blocks"] == []
