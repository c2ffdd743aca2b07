"""The page shows the decisions of lanes that assign topics, as the run made them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import orjson
import pytest
from playwright.sync_api import Page, expect

from pipeline.curves.decision_curve import DecisionCurve
from pipeline.curves.review_queue import TO_REVIEW
from pipeline.engine.decision_texts import as_objects
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.page.decisions import BEST_TOPICS, TRUSTED_F1, WORST_TOPICS
from pipeline.page.samples import ENDED, ReadProgress
from pipeline.page.server import PageServer
from pipeline.page.updates import update_since
from pipeline.reports.decision_report import (
    ENOUGH_DOCUMENTS,
    decision_report,
    topic_rows,
    unused_topics,
)
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import take_snapshot
from tests.pipeline.engine.test_engine import label, unlabelled
from tests.pipeline.page.conftest import Viewer
from tests.pipeline.page.test_hostile import HOSTILE
from tests.pipeline.page.test_usable import BEYOND, CONTRASTS
from tests.support.page_stream import LANES, TOKENIZER, Stream, small
from tests.support.page_texts import wait_for_documents

SETS = "soft-arow:assign=micro,risk=0.1,order=probability,name=sets"
OTHER = "perceptron:assign=precision:0.9,name=other"
DECIMALS = "%.3f"


def noisy(number: int) -> Event:
    """A document of one topic that its features tell, and perhaps of one that they do not."""
    event = small(number)
    more = (f"n{number % 5}",) if number * 7919 % 3 == 0 else ()
    return event._replace(topics=(*(event.topics or ()), *more))


def decided(rounds: int = 400) -> Stream:
    """A stream with two lanes that assign topics, and one that does not."""
    stream = Stream(["mmp:loss=1", SETS, OTHER])
    for start in range(0, rounds, 50):
        stream.process([noisy(n) for n in range(start, start + 50)])
    return stream


def curve_of(stream: Stream, lane: int = 1) -> DecisionCurve:
    curve = stream.engine.lanes[lane].decision_curve
    assert curve is not None
    return curve


@pytest.fixture(scope="module")
def ended() -> Iterator[tuple[Stream, PageServer]]:
    """A run that is over, and its page."""
    stream = decided()
    stream.feed.end(ENDED)
    with PageServer(stream.feed) as server:
        yield stream, server


def texts(page: Page, selector: str) -> list[str]:
    return page.locator(selector).all_inner_texts()


def test_a_sample_says_what_the_curve_and_the_report_say() -> None:
    stream = decided()
    engine = stream.engine
    report = decision_report(engine, engine.lanes[1])["decisions"]
    stream.feed.end(ENDED)
    none, sample, other = stream.feed.sample.decisions
    assert none is None
    assert sample is not None
    assert other is not None
    assert (sample.goal, sample.risk, other.goal, other.risk) == ("micro", 0.1, "precision:0.9", 0)
    assert (sample.order, other.order) == (report["order"], "score") == ("probability", "score")
    assert sample.values == curve_of(stream).last().values
    assert sample.recent == report["recent"]
    assert sample.reliability == report["reliability"]
    assert [point._asdict() for point in curve_of(stream).review_gain()] == report["review"]
    shown = orjson.loads(orjson.dumps(update_since(stream.feed.sample, 0), default=tuple))
    worst = [one for one in report["topics"] if one["documents"] >= ENOUGH_DOCUMENTS]
    assert len(worst) >= WORST_TOPICS
    for topic, expected in zip(shown["decisions"][1]["worst"], worst[:WORST_TOPICS], strict=True):
        assert topic["topic"] == expected["topic"]
        assert topic["f1"] == expected["f1"]
        assert topic["worst"] == expected["worst"]
        terms = [[one["term"], one["weight"]] for one in expected["terms"]]
        assert topic["terms"] == terms


def test_weights_are_looked_up_one_topic_at_a_time() -> None:
    """Of all lanes, and those that are shown for long are looked up again."""
    stream = decided(600)
    looked_up = []
    for number in range(2 * WORST_TOPICS):
        stream.process([noisy(number)], seconds=100)
        samples = [sample for sample in stream.feed.sample.decisions if sample is not None]
        looked_up.append(sum(one.terms is not None for s in samples for one in s.worst))
    assert looked_up[-1] == sum(len(sample.worst) for sample in samples) > WORST_TOPICS
    assert all(later <= earlier + 1 for earlier, later in pairwise(looked_up))


def test_the_queue_has_the_last_documents_that_were_marked() -> None:
    """However the stream is cut into blocks; the oldest first, and never more than so many."""
    expected: list[tuple[int, str, float, list[str]]] = []
    whole, cut = Stream([SETS]), Stream([SETS])
    events = [noisy(n) for n in range(300)]
    for ranked in whole.engine.process(make_block(events, TOKENIZER)):
        made = ranked.emitted_by(0)  # in the order of the rankings
        assert made is not None
        for row, document in enumerate(ranked.documents):
            entry, _ = as_objects(made, row, whole.engine.topics.names, has_marks=True)
            if entry["review"]:
                expected.append((row + 1, str(document.id), entry["certainty"], entry["assigned"]))
    assert len(expected) > TO_REVIEW
    for start in range(0, 300, 7):
        cut.process(events[start : start + 7])
    (sample,) = cut.feed.sample.decisions
    assert sample is not None
    queue = [(one.number, one.id, one.certainty, [*one.assigned]) for one in sample.to_review]
    assert queue == expected[-TO_REVIEW:]


def test_the_queue_goes_on_after_a_restart() -> None:
    """From the first sample of a page that begins with a restored engine."""
    before, after = Stream([SETS]), Stream([SETS])
    for start in range(0, 300, 50):
        before.process([noisy(n) for n in range(start, start + 50)])
    restore_engine(after.engine, take_snapshot(before.engine, 0))
    after.feed.begin(after.engine, ReadProgress(300, None))
    for _ in range(2):
        (was,), (shown,) = before.feed.sample.decisions, after.feed.sample.decisions
        assert was is not None
        assert shown is not None
        assert len(shown.to_review) == TO_REVIEW
        assert shown.to_review == was.to_review
        for stream in (before, after):
            stream.process([noisy(n) for n in range(300, 350)])


def test_a_topic_that_is_never_right_is_not_to_be_trusted() -> None:
    """With few topics, the worst ones were among the best."""
    stream = Stream([SETS])
    topics = [("other",), ("good",)]
    events = [Event(f"d{n}", {f"w{n % 2}": 1.0}, topics[n % 2], None, None) for n in range(400)]
    for number in range(0, 400, 20):  # nothing tells these documents from others
        events[number] = events[number]._replace(topics=("other", "never right"))
    stream.process(events)
    (shown,) = update_since(stream.feed.sample, 0)["decisions"]
    assert {one["topic"] for one in shown["worst"]} == {"good", "other", "never right"}
    assert {one["topic"] for one in shown["best"]} == {"good", "other"}


def test_an_update_stays_small() -> None:
    """A thousand topics and long names add no more bytes than ten topics."""
    stream = Stream([SETS])
    for start in range(0, 4000, 1000):
        stream.process(
            [
                Event(f"d{n}", {f"w{n % 900}": 1.0}, (f"t{n % 900}", f"u{n % 50}"), None, None)
                for n in range(start, start + 1000)
            ]
        )
    (shown,) = update_since(stream.feed.sample, 0)["decisions"]
    assert len(shown["worst"]) == WORST_TOPICS
    assert len(shown["to_review"]) <= TO_REVIEW
    assert len(orjson.dumps(shown, default=tuple)) < 16_000


def test_numbers_on_the_page(view: Viewer, ended: tuple[Stream, PageServer]) -> None:
    stream, server = ended
    page = view(server.address)
    expect(page.locator("#decisions")).to_be_visible()
    expect(page.locator("#decided-by option")).to_have_text(["sets", "other"])
    figures = dict(
        zip(
            texts(page, "#decision-figures dt"),
            texts(page, "#decision-figures dd span"),
            strict=True,
        )
    )
    values = {key: value or 0.0 for key, value in curve_of(stream).last().values.items()}
    assert figures["micro F1"] == DECIMALS % values["micro_f1"]
    assert figures["Precision"] == DECIMALS % values["set_precision"]
    assert figures["Calibration error"] == DECIMALS % values["calibration_error"]
    assert figures["Marked for review"] == f"{100 * values['review_share']:.1f}\u00a0%"
    worst = curve_of(stream).topics.worst(400, WORST_TOPICS, ENOUGH_DOCUMENTS)
    names = stream.engine.topics.names
    assert texts(page, "#worst tbody th") == [names[one.topic] for one in worst]
    row = texts(page, "#worst tbody tr:first-child td")
    first = worst[0]
    assert row[:2] == [str(first.documents), str(first.assigned)]
    assert row[4:6] == [DECIMALS % first.f1, DECIMALS % first.recent_f1]
    assert row[9].split(", ") == [
        f"{one.id} ({'missed' if one.relevant else 'too likely'})" for one in first.worst
    ]
    assert row[10]
    best = curve_of(stream).topics.best(400, BEST_TOPICS, ENOUGH_DOCUMENTS)
    good = [names[one.topic] for one in best if one.f1 >= TRUSTED_F1]
    assert texts(page, "#best tbody th") == good
    assert f"at least {TRUSTED_F1}" in page.locator("#best-title + p").inner_text()
    assert best[0].f1 > worst[0].f1
    sample = stream.feed.sample.decisions[1]
    assert sample is not None
    queue = [one.id for one in reversed(sample.to_review)]
    assert texts(page, "#review tbody th") == queue
    newest = sample.to_review[-1]
    likely = ", ".join(f"{topic} {probability:.3f}" for topic, probability in newest.likely)
    assert texts(page, "#review tbody tr:first-child td")[2] == likely
    page.select_option("#decided-by", label="other")
    expect(page.locator("#decisions-meaning")).to_contain_text("a precision of 0.9")
    expect(page.locator("#no-review")).to_have_text(
        "The lane marks no documents, since it has no risk."
    )
    page.reload()
    expect(page.locator("#decisions-meaning")).to_contain_text("a precision of 0.9")


def test_diagrams_are_drawn_and_told(view: Viewer, ended: tuple[Stream, PageServer]) -> None:
    stream, server = ended
    page = view(server.address)
    drawn = "(id) => document.getElementById(id).data.map(({x, y}) => [x, y])[0]"
    expect(page.locator("#gain .scatterlayer .point").first).to_be_visible()
    bins = curve_of(stream).reliability()
    expected = [[one["probability"] for one in bins], [one["relevant"] for one in bins]]
    assert page.evaluate(drawn, "reliability") == expected
    gains = curve_of(stream).review_gain()
    assert page.evaluate(drawn, "gain") == [[p.share for p in gains], [p.f1 for p in gains]]
    page.get_by_text("The diagrams as tables").click()
    expect(page.locator("#reliability-table tbody tr")).to_have_count(len(bins))
    expect(page.locator("#gain-table tbody tr")).to_have_count(len(gains))


def test_sets_beside_documents(view: Viewer, ended: tuple[Stream, PageServer]) -> None:
    stream, server = ended
    page = view(server.address)
    last = page.locator("#documents li").first
    expect(last).to_be_visible()
    expect(last.locator(".probability, .decided")).to_have_count(0)  # mmp assigns nothing
    page.select_option("#ranked-by", "sets")
    _, made, other = stream.feed.sample.last_documents[-1].decisions
    assert made is not None
    assert other is not None
    assert (made.review, other.review) in {(True, None), (False, None)}  # the other marks nothing
    expect(last.locator("td.probability")).to_have_text([f"{p:.3f}" for p in made.probabilities])
    expect(last.locator(".decided")).to_contain_text(f"Assigned: {', '.join(made.assigned)}")
    expect(last.locator(".decided")).to_contain_text(f"certainty {made.certainty:.3f}")
    expect(last.locator(".mark")).to_have_count(1 if made.review else 0)
    chips = last.locator(".topic", has=page.locator(".chip")).locator(".name")
    expect(chips).to_have_text([*made.assigned])
    titles = last.locator(".titles th")
    expect(titles).to_have_text(["#", "topic", "score", "probability", "terms"])
    expect(page.locator("#explanation")).to_contain_text("in the order of their probabilities")
    page.select_option("#ranked-by", "other")
    expect(page.locator("#explanation")).not_to_contain_text("in the order of their probabilities")


def test_late_labels_leave_decisions_as_they_were(view: Viewer) -> None:
    stream = decided(100)
    stream.process([unlabelled("late", {"w3": 1.0})])
    before = stream.feed.sample.last_documents[-1].decisions
    stream.process([label("late", "t3")])
    shown = stream.feed.sample.last_documents[-1]
    assert shown.true is not None
    assert shown.decisions == before
    assert before[1] is not None


def test_a_page_is_followed_live_from_its_beginning(view: Viewer) -> None:
    stream = Stream([SETS])
    with PageServer(stream.feed) as server:
        page = view(server.address)
        expect(page.locator("#no-worst")).to_have_text("No topic in use has 10 documents yet.")
        expect(page.locator("#decision-figures dd span").first).to_have_text("n.a.")
        stream.process([noisy(n) for n in range(200)])
        expect(page.locator("#worst tbody tr").first).to_be_visible()
        expect(page.locator("#no-worst")).to_be_hidden()


def test_topics_that_are_no_longer_used_are_left_out(view: Viewer) -> None:
    stream = Stream([SETS])
    with PageServer(stream.feed) as server:
        page = view(server.address)
        old = [Event(f"old {n}", {"before": 1.0}, ("retired",), None, None) for n in range(20)]
        stream.process([*old, *(noisy(n) for n in range(100))])
        expect(page.locator("#best tbody tr th", has_text="retired")).to_have_count(1)
        expect(page.locator("#unused")).to_be_hidden()
        for start in range(100, 800, 100):
            stream.process([noisy(n) for n in range(start, start + 100)])
        stream.feed.end(ENDED)
        expect(page.locator("#unused")).to_contain_text("1 topic is left out here")
        shown = {*texts(page, "#worst tbody th"), *texts(page, "#best tbody th")}
        assert shown
        assert "retired" not in shown
    report = decision_report(stream.engine, stream.engine.lanes[0])["decisions"]
    assert report["unused_topics"] == 1
    assert (report["topics"][-1]["topic"], report["topics"][-1]["in_use"]) == ("retired", False)
    assert "terms" not in report["topics"][-1]
    assert unused_topics(report) == ", without 1 topic that is no longer used"
    assert "retired" not in {row[0] for row in topic_rows(report)}


def test_without_decisions_nothing_is_shown(
    view: Viewer, stream: Stream, server: PageServer
) -> None:
    stream.process([small(n) for n in range(30)])
    page = view(server.address)
    wait_for_documents(page, 30)
    expect(page.locator("#decisions")).to_be_hidden()
    expect(page.locator("#documents .decided")).to_have_count(0)
    assert stream.feed.sample.decisions == (None,) * len(LANES)


def test_what_documents_bring_is_text(view: Viewer) -> None:
    stream = Stream([f"soft-arow:assign=f1,risk=0.01,name={HOSTILE[0]}"])
    for repeat in range(ENOUGH_DOCUMENTS + 2):
        stream.process(
            [
                Event(f"{text} {repeat}", dict.fromkeys(HOSTILE, 1.0), (text,), None, text)
                for text in HOSTILE
            ]
        )
    with PageServer(stream.feed) as server:
        page = view(server.address)
        expect(page.locator("#worst tbody tr")).to_have_count(len(HOSTILE))
        assert set(texts(page, "#worst tbody th")) == set(HOSTILE)
        assert texts(page, "#review tbody th")[0] == f"{HOSTILE[-1]} {ENOUGH_DOCUMENTS + 1}"
        assert page.evaluate("window.hit") is None
        inside = "main img, main script, main svg[onload], main a, main b b, [onerror], [onload]"
        assert page.locator(inside).count() == 0


@pytest.mark.parametrize("width", [320, 768, 1200])
def test_every_width_and_contrast(view: Viewer, width: int) -> None:
    stream = Stream(["mmp:loss=1", SETS])
    long = Event("i" * 1024, {"f" * 255: 1.0, "g" * 255: 2.0}, ("t" * 255, "t1"), None, None)
    for block in range(12):
        stream.process([*(noisy(n) for n in range(50 * block, 50 * block + 50)), long])
    with PageServer(stream.feed) as server:
        page = view(server.address, width=width, scheme="dark" if width == 768 else "light")
        wait_for_documents(page, 612)
        page.select_option("#ranked-by", "sets")
        page.get_by_text("The diagrams as tables").click()
        expect(page.locator("#worst tbody tr").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(BEYOND) == []
        assert [seen for seen in page.evaluate(CONTRASTS) if seen[0] < seen[1]] == []
