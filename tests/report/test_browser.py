"""The page in a real browser, opened from the file system with the network off."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grade.graphs import GraphSet, Pattern
from grade.mine import Mined, mine
from grade.report.comparison import write_comparison
from grade.report.page import write_page
from grade.runs import Catalogue
from grade.sampling.census import take_census
from grade.sources import load
from grade.sources.building import build_graph_set
from tests.onnx_models import LIGHT
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
    context = browser.new_context(
        offline=True,
        viewport={"width": 1300, "height": 900},
        permissions=["clipboard-read", "clipboard-write"],
    )
    complaints: list[str] = []

    def open_file(path: Path, width: int = 1300, scheme: str = "light") -> Any:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
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
def distinct(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mined]:
    """The page of a run that shows a distinct few, of models in files."""
    folder = tmp_path_factory.mktemp("distinct")
    names = ("light_squeezenet", "light_shufflenet", "light_inception_v1")
    build_graph_set([str(path) for path in LIGHT if path.stem in names], folder / "set", workers=1)
    found = mine(str(folder / "set"), k="3-6", top=10, beam=300, threads=1, out=folder / "run")
    write_page(folder / "run", folder / "page.html")
    return folder / "page.html", found


@pytest.fixture(scope="module")
def report(mined: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    write_page(mined, out)
    return out


def ids(page: Any) -> list[int]:
    """The motifs of the rows that are drawn, in their order."""
    return [int(button.get_attribute("data-id")) for button in page.locator("#motifs .row").all()]


def numbers(page: Any, name: str) -> list[int]:
    """One of the numbers of every row that is drawn."""
    texts = page.locator(f".row .number[data-name='{name}']").all_inner_texts()
    return [int(re.sub(r"\D", "", text.split("\n")[-1])) for text in texts]


def overflow(page: Any) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def test_motifs_are_sorted_filtered_and_searched(visit: Any, report: Path) -> None:
    page = visit(report)
    expect = sync_api.expect
    expect(page.locator("#count")).to_have_text("30 of 30")
    expect(page.locator("#direction")).to_have_text("\u2191 best first")
    occurrences = numbers(page, "occurrences")
    assert len(occurrences) > 10
    assert occurrences == sorted(occurrences, reverse=True)

    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    expect(page.locator(".row[data-id='30']")).to_be_attached()
    page.select_option("#sort", "disjoint")
    assert page.locator("#motifs").bounding_box()["y"] > 0  # back at the top
    expect(page.locator("#direction")).to_have_text("\u2193 most first")
    disjoint = numbers(page, "disjoint")
    assert disjoint == sorted(disjoint, reverse=True)
    page.click("#direction")
    expect(page.locator("#direction")).to_have_text("\u2191 least first")
    turned = numbers(page, "disjoint")
    assert turned == sorted(turned)
    assert turned[0] <= min(disjoint)

    page.select_option("#type", label=page.locator("#type option", has_text="Conv (").inner_text())
    labels = [row.get_attribute("aria-label") for row in page.locator("#motifs .row").all()]
    assert labels
    assert all("Conv" in label for label in labels)
    page.fill("#search", "conv  relu")
    both = [row.get_attribute("aria-label") for row in page.locator("#motifs .row").all()]
    assert both == [label for label in labels if "Relu" in label]


def test_no_match_says_so_and_how_to_go_on(visit: Any, report: Path) -> None:
    page = visit(report)
    expect = sync_api.expect
    page.fill("#search", "nothing has this name")
    expect(page.locator("#motifs .row")).to_have_count(0)
    expect(page.locator("#count")).to_have_text("0 of 30")
    expect(page.locator("#none-text")).to_have_text("No motif matches \u201cnothing has this name\u201d.")
    page.click("#clear")
    expect(page.locator("#none")).to_be_hidden()
    expect(page.locator("#count")).to_have_text("30 of 30")


def test_a_list_and_cards_show_the_same_motifs_at_one_scale(visit: Any, distinct: tuple[Path, Mined]) -> None:
    page = visit(distinct[0])
    expect = sync_api.expect
    shown = [motif.id for motif in distinct[1].shown]
    assert ids(page) == shown
    shares = page.locator(".row .share b:nth-child(2)").all()
    assert len(shares) == len(shown)
    widths = [share.bounding_box()["width"] for share in shares]
    assert widths == sorted(widths, reverse=True)  # what each adds
    # One head names the columns; a line is no higher than two lines of text.
    expect(page.locator("#heads")).to_contain_text("adds, covered so far")
    assert page.locator("#motifs .row").first.bounding_box()["height"] <= 44
    heads = {box.inner_text(): box.bounding_box() for box in page.locator("#heads .number").all()}
    for name in ("occurrences", "graphs", "disjoint", "nodes"):
        cell = page.locator(f"#motifs .row .number[data-name='{name}']").first.bounding_box()
        assert cell["x"] + cell["width"] == pytest.approx(heads[name]["x"] + heads[name]["width"], abs=1)
    expect(visit(distinct[0], 400).locator("#heads")).to_be_hidden()
    page.click("#as-cards")
    expect(page.locator("#as-cards")).to_have_attribute("aria-pressed", "true")
    scales = page.evaluate(
        "[...document.querySelectorAll('svg.node')].map((svg) =>"
        " svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"
    )
    assert len(scales) > 3
    assert all(abs(scale - 1) < 0.01 for scale in scales)
    page.locator(".card").first.click()
    sizes = page.evaluate(
        "[...document.querySelectorAll('svg text, small, button, td, th, p, li, summary')].filter((e) =>"
        " e.getClientRects().length).map((e) => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 11


def test_variants_are_folded_and_can_be_opened(visit: Any, distinct: tuple[Path, Mined]) -> None:
    page = visit(distinct[0])
    found = distinct[1].catalogue
    first = next(motif for motif in found.shown if found.variants(motif))
    variants = [motif.id for motif in found.variants(first)]
    fold = page.locator("li", has=page.locator(f".row[data-id='{first.id}']")).locator(".fold")
    sync_api.expect(fold).to_contain_text(f"{len(variants)} variant")
    fold.click()
    seen = ids(page)
    begin = seen.index(first.id) + 1
    assert seen[begin : begin + 3] == variants[:3]
    page.locator(f".row[data-id='{variants[0]}']").click()
    sync_api.expect(page.locator("#detail")).to_contain_text("A variant of")
    page.keyboard.press("Escape")
    page.locator("li", has=page.locator(f".row[data-id='{first.id}']")).locator(".fold").click()
    assert ids(page) == [motif.id for motif in found.shown]
    page.check("#all")
    sync_api.expect(page.locator("#count")).to_have_text(f"{len(found.motifs)} of {len(found.motifs)}")


def test_the_curve_shows_what_the_motifs_cover_together(visit: Any, distinct: tuple[Path, Mined]) -> None:
    page = visit(distinct[0])
    found = distinct[1].catalogue
    dots = page.locator("#curve circle")
    sync_api.expect(dots).to_have_count(len(found.shown))
    heights = [float(dot.get_attribute("cy")) for dot in dots.all()]
    assert heights == sorted(heights, reverse=True)
    nodes = found.run["set"]["nodes"]
    last = found.shown[-1]
    assert last.choice is not None
    sync_api.expect(dots.last).to_contain_text(f"{100 * last.choice.covered / nodes:.1f} %")
    bound = page.locator("#curve line.bound")
    assert float(bound.get_attribute("y1")) <= heights[-1]
    sync_api.expect(page.locator("#curve")).to_contain_text(
        f"no {len(found.shown)} cover more than {100 * found.run['distinct']['bound'] / nodes:.1f} %"
    )
    dots.nth(2).click()
    sync_api.expect(page.locator("#detail-title")).to_contain_text("#3 ")


def test_the_detail_has_copies_attributes_and_occurrences(visit: Any, distinct: tuple[Path, Mined]) -> None:
    page = visit(distinct[0])
    found = distinct[1]
    motif = next(m for m in found.shown if "Conv" in m.pattern.type_names)
    page.locator(f".row[data-id='{motif.id}']").click()
    detail = page.locator("#detail")
    for name, part in (
        ("text", motif.text),
        ("PyTorch", "class Motif"),
        ("ONNX", "opset_import"),
    ):
        button = detail.locator(f"[data-copy='{name}']")
        button.click()
        sync_api.expect(button).to_have_text("Copied")
        assert part in page.evaluate("navigator.clipboard.readText()")
    sync_api.expect(detail).to_contain_text("Attributes, as in")
    sync_api.expect(detail).to_contain_text("kernel_shape")
    groups = detail.locator(".listed details")
    assert groups.count() == motif.support.graphs
    groups.first.locator("summary").click()
    listed = found.occurrences(motif.id)
    name = (groups.first.locator("summary").text_content() or "").rpartition(" (")[0]
    lines = [line.split("\n") for line in groups.first.locator("li").all_inner_texts()]
    # All of them, with the tensors that enter and leave.
    assert lines == [
        [", ".join(row.nodes), f"{', '.join(row.inputs or [])} \u2192 {', '.join(row.outputs or [])}"]
        for row in listed
        if row.graph == name
    ]
    assert len(lines) > 1


def test_back_forward_and_edited_links_work(visit: Any, report: Path) -> None:
    page = visit(report)
    expect = sync_api.expect
    title, detail = page.locator("#detail-title"), page.locator("#detail")
    page.locator(".row[data-id='2']").click()
    expect(title).to_contain_text("#2 ")
    page.locator(".row[data-id='3']").click()
    expect(title).to_contain_text("#3 ")
    page.go_back()
    expect(title).to_contain_text("#2 ")
    page.go_back()
    expect(detail).to_be_hidden()
    page.go_forward()
    expect(title).to_contain_text("#2 ")
    page.evaluate("location.hash = '#motif-7'")
    expect(title).to_contain_text("#7 ")
    page.reload()
    expect(title).to_contain_text("#7 ")
    page.evaluate("location.hash = '#motif-999'")
    expect(detail).to_be_hidden()


def test_an_occurrence_is_shown_by_keyboard_alone(visit: Any, report: Path) -> None:
    page = visit(report)
    expect = sync_api.expect
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.locator("#motifs .row").first.focus()
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
    expect(page.locator(".row[data-id='2']")).to_be_focused()


def test_labels_fit_into_their_boxes(visit: Any, report: Path) -> None:
    page = visit(report)
    page.click("#as-cards")
    page.locator(".card").first.click()
    widths = page.evaluate(
        "[...document.querySelectorAll('svg.node g')].flatMap((g) => [...g.querySelectorAll('text')].map("
        "(text) => [text.getBBox().width, g.querySelector('rect').getBBox().width]))"
    )
    assert len(widths) > 50
    assert all(text < box for text, box in widths)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(visit: Any, report: Path, scheme: str) -> None:
    page = visit(report, scheme=scheme)
    colours = page.evaluate(
        "['body', '.rank', '.row small', '.toolbar label'].map((s) =>"
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


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_window(
    visit: Any, distinct: tuple[Path, Mined], report: Path, mined: Path, tmp_path: Path, width: int
) -> None:
    for path in (distinct[0], report):
        page = visit(path, width)
        assert overflow(page) <= 0
        page.locator("summary").first.click()
        assert overflow(page) <= 0
        page.click("#as-cards")
        assert overflow(page) <= 0
        page.locator(".card").first.click()
        assert overflow(page) <= 0
        assert page.evaluate("document.querySelector('#detail').scrollWidth <= window.innerWidth")
    write_comparison(mined, mined, tmp_path / "comparison.html")
    assert overflow(visit(tmp_path / "comparison.html", width)) <= 0


def test_a_comparison_is_readable_at_arms_length(visit: Any, mined: Path, tmp_path: Path) -> None:
    write_comparison(mined, mined, tmp_path / "comparison.html")
    page = visit(tmp_path / "comparison.html")
    assert page.locator(".pair").count() == 30
    facts = page.evaluate(
        "[...document.querySelectorAll('.pair')].slice(0, 5).map((pair) => {"
        " const svg = pair.querySelector('svg');"
        " return [svg.getBoundingClientRect().width / svg.viewBox.baseVal.width,"
        " parseFloat(getComputedStyle(pair.querySelector('dd')).fontSize)]; })"
    )
    assert all(abs(scale - 1) < 0.01 and size >= 20 for scale, size in facts)


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
    page.locator("#motifs .row").click()
    sync_api.expect(page.locator(".surroundings title").nth(1)).to_contain_text(name)
    assert page.title() == f"1 motif of {name}, k = 2"
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
    assert (tmp_path / "page.html").stat().st_size < 5_000_000
    page = visit(tmp_path / "page.html")
    expect = sync_api.expect
    expect(page.locator("#count")).to_have_text("1,000 of 1,000")
    assert page.locator("#motifs .row").count() < 60
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    expect(page.locator(".row[data-id='1000']")).to_be_attached()
    assert page.locator("#motifs .row").count() < 60
    assert ids(page) == sorted(ids(page))
    page.fill("#search", "#1000")
    expect(page.locator("#count")).to_have_text("1 of 1,000")
    page.locator("#motifs .row").click()
    expect(page.locator("#detail-title")).to_contain_text(str(patterns[-1][0]))
    sync_api.expect(page.locator("[data-copy='PyTorch']")).to_be_disabled()


def test_numbers_that_are_not_exact_are_marked(visit: Any, tmp_path: Path) -> None:
    graphs = load("zoo-mini")
    write_page(
        make_run(tmp_path / "run", graphs, take_census(graphs, 3, threads=1).top(3)), tmp_path / "page.html"
    )
    page = visit(tmp_path / "page.html")
    texts = page.locator("#motifs .row .number[data-name='occurrences']").all_inner_texts()
    first, second, third = (text.split("\n")[-1] for text in texts)
    assert first.startswith("~")
    assert second.startswith(">= ")
    assert re.fullmatch(r"[\d,]+", third)
    page.locator("#motifs .row").first.click()
    sync_api.expect(page.locator("#detail")).to_contain_text("unbiased estimate, standard error 10.0 %")
    page.keyboard.press("ArrowRight")
    sync_api.expect(page.locator("#detail")).to_contain_text("at least; counting was cut off")


def test_a_page_without_motifs_explains_itself(visit: Any, mined: Path, tmp_path: Path) -> None:
    import dataclasses
    import shutil

    shutil.copytree(mined, tmp_path / "run")
    whole = Catalogue.load(mined / "catalogue.sqlite")
    run = {**whole.run, "constraints": ["contains Conv*", "at least 20 edges"]}
    dataclasses.replace(whole, run=run, motifs=[]).save(tmp_path / "run" / "catalogue.sqlite")
    write_page(tmp_path / "run", tmp_path / "page.html")
    page = visit(tmp_path / "page.html")
    sync_api.expect(page.locator("#empty")).to_contain_text(
        "satisfies all of: contains Conv*; at least 20 edges. Relax"
    )
    assert page.locator(".toolbar").count() == 0
