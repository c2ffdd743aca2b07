"""A history as OpenMetrics text with explicit times, for `promtool tsdb create-blocks-from`.

Names and labels are those of the live metrics, so that the same dashboards show both. The samples
of a series follow each other in order of time, as the format and promtool require.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from learners.measures import MEASURES
from pipeline.history.decision_states import DecisionState
from pipeline.history.moments import History, Moment
from pipeline.metrics import families
from pipeline.metrics.decisions import COUNTS, SUMS
from pipeline.metrics.families import Family

SHARD = "0"  # a replay is one worker

# The values of a metric for a lane at a moment, by measure; "" if it has no label for a measure.
# None: a value does not exist yet. A series that never exists for the lane is left out.
Values = Callable[[Moment, int], Mapping[str, float | None]]


def of_decisions(values: Callable[[DecisionState], Mapping[str, float | None]]) -> Values:
    """The values of a metric that only lanes have that assign topics."""

    def values_of_lane(moment: Moment, lane: int) -> Mapping[str, float | None]:
        state = moment.decisions[lane]
        return {} if state is None else values(state)

    return values_of_lane


def count(name: str) -> Values:
    """A total of decisions, by its name in `COUNTS`."""
    return of_decisions(lambda state: {"": state.totals().get(name)})


def decision_sums(state: DecisionState) -> Mapping[str, float]:
    """The sums of measures of sets, by measure."""
    totals = state.totals()
    return {measure: totals[total] for total, measure in SUMS.items() if total in totals}


METRICS: tuple[tuple[Family, Values], ...] = (
    (families.ROUNDS, lambda moment, lane: {"": moment.rounds}),
    (families.ROUNDS_WITH_TOPICS, lambda moment, lane: {"": moment.with_topics}),
    (
        families.LOSS_SUM,
        lambda moment, lane: dict(zip(MEASURES, moment.sums[lane].tolist(), strict=True)),
    ),
    (
        families.ROUND_AVERAGED_LOSS,
        lambda moment, lane: {
            measure: moment.average(lane, i) for i, measure in enumerate(MEASURES)
        },
    ),
    *((family, count(name)) for name, family in COUNTS.items()),
    (families.DECISION_SUM, of_decisions(decision_sums)),
    (families.ROUND_AVERAGED_DECISION, of_decisions(DecisionState.averages)),
)


def openmetrics(history: History, stream: str) -> bytes:
    """Return the whole file."""
    return "".join(f"{line}\n" for line in lines(history, stream)).encode()


def lines(history: History, stream: str) -> Iterator[str]:
    """Yield the lines of all metrics that have a sample."""
    moments = [(timestamp(time_ms), moment) for time_ms, moment in history.moments()]
    for family, values in METRICS:
        samples = [
            sample
            for lane, name in enumerate(history.lanes)
            for sample in lane_samples(
                family,
                {"stream": stream, "lane": name, "shard": SHARD},
                [(time, values(moment, lane)) for time, moment in moments],
            )
        ]
        if samples:
            name = family.name.removesuffix("_total")
            yield f"# HELP {name} {family.meaning}"
            yield f"# TYPE {name} {family.kind}"
            yield from samples
    yield "# EOF"


def lane_samples(
    family: Family, common: dict[str, str], moments: list[tuple[str, Mapping[str, float | None]]]
) -> Iterator[str]:
    """Yield the samples of a metric of one lane, series by series."""
    for measure in moments[0][1] if moments else ():
        own = dict.fromkeys(family.labels[len(families.LANE) :], measure)
        shown = ",".join(f'{key}="{escaped(text)}"' for key, text in (common | own).items())
        for time, values in moments:
            if (value := values[measure]) is not None:
                yield f"{family.name}{{{shown}}} {value!r} {time}"


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
