"""A history as OpenMetrics text with explicit times, for `promtool tsdb create-blocks-from`.

Names and labels are those of the live metrics, so that the same dashboards show both. The samples
of a series follow each other in order of time, as the format and promtool require.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from learners.measures import MEASURES
from pipeline.history.moments import History, Moment

SHARD = "0"  # a replay is one worker

Value = Callable[[Moment, int, int], float | None]
# Name, kind, meaning, whether there is one series per measure, and the value.
METRICS: tuple[tuple[str, str, str, bool, Value], ...] = (
    (
        "wirerank_rounds_total", "counter",
        "Rounds: labelled documents, each ranked first and then learned.",
        False, lambda moment, lane, measure: moment.rounds,
    ),
    (
        "wirerank_rounds_with_topics_total", "counter",
        "Rounds whose document has at least one topic.",
        False, lambda moment, lane, measure: moment.with_topics,
    ),
    (
        "wirerank_loss_total", "counter", "Sum of a loss, or of another measure, over rounds.",
        True, lambda moment, lane, measure: float(moment.sums[lane, measure]),
    ),
    (
        "wirerank_round_averaged_loss", "gauge",
        "The learning curve: the mean over all rounds so far.",
        True, lambda moment, lane, measure: moment.average(lane, measure),
    ),
)  # fmt: skip


def openmetrics(history: History, stream: str) -> bytes:
    """Return the whole file."""
    return "".join(f"{line}\n" for line in lines(history, stream)).encode()


def lines(history: History, stream: str) -> Iterator[str]:
    """Yield the lines of all metrics, series by series, for the moments that have a value."""
    moments = [(timestamp(time_ms), moment) for time_ms, moment in history.moments()]
    for metric, kind, meaning, by_measure, value in METRICS:
        yield f"# HELP {metric.removesuffix('_total')} {meaning}"
        yield f"# TYPE {metric.removesuffix('_total')} {kind}"
        for lane, name in enumerate(history.lanes):
            for measure, loss in enumerate(MEASURES if by_measure else [""]):
                labels = {"stream": stream, "lane": name, "shard": SHARD}
                labels |= {"loss": loss} if loss else {}
                shown = ",".join(f'{label}="{escaped(text)}"' for label, text in labels.items())
                for time, moment in moments:
                    if (number := value(moment, lane, measure)) is not None:
                        yield f"{metric}{{{shown}}} {number!r} {time}"
    yield "# EOF"


def timestamp(time_ms: int) -> str:
    """Return a time in seconds since 1970, as the format requires.

    Prometheus multiplies by 1,000 and cuts off the fraction. A tenth of a millisecond is added, so
    that 0.23 s does not become 229 ms.

    Examples
    --------
    >>> timestamp(541350061230), timestamp(541350061000)
    ('541350061.2301', '541350061')

    """
    seconds, rest = divmod(time_ms, 1000)
    return f"{seconds}.{rest:03d}1" if rest else str(seconds)


def escaped(value: str) -> str:
    """Return a label value, escaped for double quotes."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
