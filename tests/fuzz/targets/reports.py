"""What is read and written beside the stream: results of experiments, times, metric labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import orjson
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from learners.specs import LaneSpec
from pipeline.events.event import MalformedEvent, parse_time
from pipeline.experiments.report.experiment_folders import find_experiments
from pipeline.experiments.report.page import page
from pipeline.history.corpus_time import CorpusClock, milliseconds
from pipeline.history.moments import History
from pipeline.history.openmetrics import escaped, openmetrics
from pipeline.log.block import Entry
from tests.fuzz.mutation import JsonMutator, blown_up, keys_in, mutate_text
from tests.fuzz.target import Broken, Target, kind_of, scratch_folder
from tests.fuzz.targets.configuration import TextInput
from tests.fuzz.values import CHARACTERS
from tests.support.html_check import Page

COLUMN = {"key": "r1", "title": "R1", "digits": 3, "with_deviation": True, "better": 1}
ROWS = [
    {
        "label": "a", "ours": {"r1": {"value": 0.5, "deviation": 0.1}},
        "paper": {"r1": {"value": 0.4}},
    },
    {"label": "b", "ours": {"r1": None}, "contends": False},
]  # fmt: skip
TABLE = {"title": "A table", "notes": ["LEVEL: as good."], "columns": [COLUMN], "rows": ROWS}
RESULTS = {
    "experiment": "tiny", "title": "A title", "paper": "A paper",
    "notes": ["HELD: it wins.", "a note"], "tables": {"comparison": TABLE},
    "drawings": [{"name": "picture", "title": "t", "text": "x"}], "series": ["curve"],
    "settings": {"seed": 1, "grid": {"C": [1, 10]}},
    "run": {
        "settings": {"seed": 0}, "machine": "m", "wirerank": ["0.1"], "seconds": 3.5,
        "finished": "2026-01-01",
    },
}  # fmt: skip


class ExperimentResults(Target):
    """Results of experiments as a page: `pipeline/experiments/report/experiment_folders.py`."""

    name = "results"
    share = 0.03
    largest = 1 << 18

    def __init__(self) -> None:
        self._scratch = scratch_folder()
        self._top = Path(self._scratch.name)
        (self._top / "tiny").mkdir()
        self._mutator = JsonMutator(
            sorted(keys_in(RESULTS)), ("<script>x</script>", "picture", "../x")
        )

    def seeds(self) -> Sequence[bytes]:
        without = {key: RESULTS[key] for key in ("experiment", "tables")}
        return [orjson.dumps(RESULTS), orjson.dumps(without)]

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        return self._mutator.mutate(rng, data, other)

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        return blown_up(rng, data, self.largest)

    def run(self, data: bytes) -> str:
        (self._top / "tiny" / "results.json").write_bytes(data)
        folders = find_experiments(self._top)
        shown = page(folders)
        if len(data) % 8 == 0 and (problems := Page(shown).problems):
            raise Broken(f"the page is not well-formed: {problems[0]}")
        if len(folders) != 1:
            raise Broken(f"one folder with results is shown as {len(folders)}")
        return folders[0].problem[:60] or "shown"

    def close(self) -> None:
        self._scratch.cleanup()


class Times(TextInput):
    """Times of events: `pipeline/history/corpus_time.py`."""

    name = "times"
    words = (
        "1987-02-26T15:01:01Z", "0000", "0001-01-01", "9999-12-31", "60", "24", "T", "t", " ", "Z",
        "z", "+23:59", "-23:59", ".1234567890", "\u0661", *CHARACTERS,
    )  # fmt: skip
    largest = 1 << 18

    def seeds(self) -> Sequence[bytes]:
        texts = (
            "1987-02-26T15:01:01.23Z",
            "2026-12-31 23:59:60+00:00",
            "0001-01-01T00:00:00-23:59",
        )
        return [text.encode() for text in texts]

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        text = mutate_text(
            rng, data.decode("utf-8", "replace"), other.decode("utf-8", "replace"), self.words
        )
        return text.encode("utf-8", "replace")

    def run(self, data: bytes) -> str:
        try:
            time = parse_time(data.decode("utf-8", "replace"))
        except MalformedEvent as error:
            return kind_of(error)[:30]
        assert time is not None
        clock = CorpusClock()
        clock.see(Entry("a", 0, None, time))
        number = milliseconds(time)
        if number is None:
            return "no such date"
        if number >= 0 and clock.now_ms != number:
            raise Broken("the clock does not show the time of its only document")
        return f"a time {number.bit_length()} {number < 0}"


class MetricLabels(TextInput):
    """Names of streams and lanes in OpenMetrics: `pipeline/history/openmetrics.py`."""

    name = "metric-labels"
    share = 0.05
    largest = 1 << 14

    def seeds(self) -> Sequence[bytes]:
        return [b'mmp:loss=1,name="x"\\n', b"wire\nrank", b"plain"]

    def run(self, data: bytes) -> str:
        name = data.decode("utf-8", "replace")
        text = f'# TYPE a gauge\na{{lane="{escaped(name)}"}} 1.0\n# EOF\n'
        (family,) = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
        if family.samples[0].labels["lane"] != name:
            raise Broken("a label is another one after it was written and read")
        if not openmetrics(History([LaneSpec(name, "mmp", {}, "none")]), name).endswith(b"# EOF\n"):
            raise Broken("the file does not end")
        return f"{len(name).bit_length()} {len(escaped(name)) - len(name) > 0}"
