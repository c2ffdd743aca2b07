from __future__ import annotations

import hashlib
import re
from collections import Counter
from datetime import datetime, timedelta
from itertools import islice, pairwise
from typing import Any

import orjson
import pytest

from pipeline.corpora.lexicon import inflect, load
from pipeline.corpora.synthetic_newswire import SyntheticNewswire

WORD = re.compile(r"[A-Za-z]+")

Event = dict[str, Any]


def events(count: int, **arguments: Any) -> list[Event]:  # noqa: ANN401
    return [orjson.loads(raw) for raw in SyntheticNewswire(documents=count, **arguments)]


def terms(event: Event) -> list[str]:
    return WORD.findall(f"{event['title']} {event['text']}".lower())


def terms_of_topic(sample: list[Event], topic: str) -> set[str]:
    """The terms that are much more frequent in the documents with the topic than elsewhere."""
    inside, outside = Counter[str](), Counter[str]()
    for event in sample:
        (inside if event["topics"][0] == topic else outside).update(terms(event))
    scale = sum(inside.values()) / sum(outside.values())
    return {term for term, n in inside.items() if n >= 15 and n > 5 * scale * outside[term]}


@pytest.fixture(scope="module")
def sample() -> list[Event]:
    return events(4_000)


def test_a_seed_is_a_stream() -> None:
    stream = SyntheticNewswire(documents=300, seed=7, drift=0.5)
    again = SyntheticNewswire(documents=300, seed=7, drift=0.5)
    assert list(stream) == list(stream) == list(again)
    assert list(stream) != list(SyntheticNewswire(documents=300, seed=8, drift=0.5))


def test_a_short_stream_is_the_beginning_of_a_long_one() -> None:
    short = list(SyntheticNewswire(documents=500))
    assert short == list(islice(SyntheticNewswire(documents=5_000), 500))


def test_blocks_that_do_not_fit_the_buffer_lose_nothing() -> None:
    stream = [orjson.loads(raw) for raw in SyntheticNewswire(documents=400, words=3_000)]
    assert [event["id"] for event in stream] == [f"synthetic-{n}" for n in range(1, 401)]


def test_the_stream_is_the_same_on_every_machine() -> None:
    # A change of the words or of the generator changes this on purpose; a processor must not.
    digest = hashlib.sha256(b"\n".join(SyntheticNewswire(documents=1_000, seed=1, drift=20.0)))
    assert digest.hexdigest() == "cce2e896dab3d1d3f3c81d048f76faafa0d60d70b3741a08fec754d46cca81b5"


def test_events_keep_the_contract(sample: list[Event]) -> None:
    stream = SyntheticNewswire(documents=3)
    assert stream.total == len(list(stream)) == 3
    assert len(set(stream.topics)) == len(stream.topics) == 103
    known = set(stream.topics)
    for event in sample:
        assert list(event) == ["id", "title", "text", "topics", "time"]
        assert set(event["topics"]) <= known
        assert len(set(event["topics"])) == len(event["topics"]) >= 1
    assert len({event["id"] for event in sample}) == len(sample)


def test_times_go_on_from_the_first_day(sample: list[Event]) -> None:
    assert sample[0]["time"] == "1996-08-20T00:00:00Z"
    times = [datetime.fromisoformat(event["time"]) for event in sample]
    steps = [after - before for before, after in pairwise(times)]
    assert timedelta(seconds=30) <= min(steps) <= max(steps) <= timedelta(seconds=40)


def test_documents_have_the_size_of_news(sample: list[Event]) -> None:
    sizes = sorted(len(event["text"]) for event in sample)
    assert sum(sizes) / len(sizes) == pytest.approx(1_200, rel=0.1)
    assert sizes[len(sizes) // 2] < 1_000  # long-tailed
    assert sizes[-1] > 5_000
    words = sum(len(event["text"].split()) for event in sample) / len(sample)
    assert words == pytest.approx(180, rel=0.05)
    topics = [len(event["topics"]) for event in sample]
    assert sum(topics) / len(topics) == pytest.approx(3.2, abs=0.2)
    assert all(3 < len(event["title"].split()) < 10 for event in sample)


def test_texts_are_sentences(sample: list[Event]) -> None:
    for event in sample[:200]:
        assert event["text"].endswith(".")
        for sentence in re.split(r"\. ", event["text"]):
            assert sentence[0].isupper() or sentence[0].isdigit()
            assert ",," not in sentence
            assert "  " not in sentence


def test_words_are_real(sample: list[Event]) -> None:
    lexicon = load()
    known = {*lexicon.function, *(form for forms in lexicon.content for form in forms)}
    names = {*lexicon.first_names, *lexicon.surnames, *lexicon.places}
    names |= {*lexicon.companies, *lexicon.company_kinds}
    assert len(known) > 5_000
    for event in sample[:500]:
        for token in f"{event['title']} {event['text']}".split():
            word = token.rstrip(".,")
            number = re.fullmatch(r"\d{1,6}(\.\d)?", word)
            assert number or word in known or word in names or word.lower() in known, word


def test_vocabulary_is_zipf_distributed_and_keeps_growing(sample: list[Event]) -> None:
    counts, growth = Counter[str](), []
    for i, event in enumerate(sample, start=1):
        counts.update(terms(event))
        if i in (500, 1_000, 2_000, 4_000):
            growth.append(len(counts))
    assert growth[0] > 5_000
    assert all(after > 1.08 * before for before, after in pairwise(growth))
    ordered = [count for _, count in counts.most_common()]
    total = sum(ordered)
    assert 0.15 < sum(ordered[:10]) / total < 0.35
    assert 0.35 < sum(ordered[:100]) / total < 0.65
    assert ordered[-1] == 1


def test_topics_are_skewed_and_keep_to_their_group(sample: list[Event]) -> None:
    group = {topic.name: topic.group for topic in load().topics}
    counts = Counter(topic for event in sample for topic in event["topics"])
    assert len(counts) == 103
    assert counts.most_common()[0][1] > 10 * counts.most_common()[-1][1]
    pairs = [group[a] == group[b] for event in sample for a, b in pairwise(event["topics"])]
    assert 0.4 < sum(pairs) / len(pairs) < 0.9


def test_words_tell_the_topic(sample: list[Event]) -> None:
    assert {"wheat", "grain", "corn"} <= terms_of_topic(sample, "grain")
    assert {"crude", "barrel", "oil"} <= terms_of_topic(sample, "crude")


@pytest.mark.parametrize(("drift", "low", "high"), [(0.0, 0.7, 1.0), (20.0, 0.0, 0.2)])
def test_drift_replaces_the_words_of_a_topic(drift: float, low: float, high: float) -> None:
    # With drift 20 all words are replaced in the course of 5,000 documents.
    stream = [orjson.loads(raw) for raw in SyntheticNewswire(documents=10_000, drift=drift)]
    topic = Counter(event["topics"][0] for event in stream).most_common()[0][0]
    early, late = terms_of_topic(stream[:1_500], topic), terms_of_topic(stream[-1_500:], topic)
    assert early
    assert late
    assert low <= len(early & late) / min(len(early), len(late)) <= high


def test_number_of_topics() -> None:
    few = SyntheticNewswire(documents=50, topics=2)
    assert list(few.topics) == ["grain", "crude"]
    assert {t for raw in few for t in orjson.loads(raw)["topics"]} == {"grain", "crude"}
    many = SyntheticNewswire(documents=3_000, topics=150)
    assert list(many.topics)[102:105][1:] == ["topic-00104", "topic-00105"]
    assert any("topic-00104" in orjson.loads(raw)["topics"] for raw in many)
    one = SyntheticNewswire(documents=5, topics=1)
    assert all(orjson.loads(raw)["topics"] == ["grain"] for raw in one)


@pytest.mark.parametrize(
    ("word", "marks", "forms"),
    [
        ("company", "n", "company companies"),
        ("loss", "n", "loss losses"),
        ("veto", "nv", "veto vetoes vetoed vetoing"),
        ("plan", "nvr", "plan plans planned planning planner planners"),
        ("trade", "nvr", "trade trades traded trading trader traders"),
        ("commit", "vd", "commit commits committed committing"),
        ("benefit", "nv", "benefit benefits benefited benefiting"),
        ("equip", "vd", "equip equips equipped equipping"),
        ("deny", "v", "deny denies denied denying"),
        ("delay", "nv", "delay delays delayed delaying"),
        ("agree", "v", "agree agrees agreed agreeing"),
        ("tie", "nv", "tie ties tied tying"),
        ("fix", "v", "fix fixes fixed fixing"),
        ("reach", "v", "reach reaches reached reaching"),
        ("carry", "vr", "carry carries carried carrying carrier carriers"),
        ("heavy", "acl", "heavy heavier heaviest heavily"),
        ("large", "acl", "large larger largest largely"),
        ("big", "ac", "big bigger biggest"),
        ("simple", "acl", "simple simpler simplest simply"),
        ("economic", "al", "economic economically"),
        ("unique", "al", "unique uniquely"),
        ("full", "l", "full fully"),
        ("steel", "u", "steel"),
    ],
)
def test_inflection(word: str, marks: str, forms: str) -> None:
    assert inflect(word, marks) == tuple(forms.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"documents": 0}, "documents must be between 1 and"),
        ({"documents": 1, "topics": 0}, "topics must be between 1 and 99,999, not 0"),
        ({"documents": 1, "topics": 100_000}, "topics"),
        ({"documents": 1, "seed": -1}, "seed"),
        ({"documents": 1, "seed": 2**64}, "seed"),
        ({"documents": 1, "drift": -0.1}, "drift"),
        ({"documents": 1, "drift": float("nan")}, "drift"),
        ({"documents": 1, "words": 3}, "words"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SyntheticNewswire(**arguments)
