"""A history as OpenMetrics text with explicit times, for `promtool tsdb create-blocks-from`.

Names and labels are those of the live metrics, so that the same dashboards show both. Every series
stands by itself and goes forward in time, as the format and promtool want it.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.history import LOSSES, History, Moment

SHARD = "0"  # a replay is one worker


def openmetrics(history: History, stream: str) -> bytes:
    """The whole file."""
    return "".join(f"{line}\n" for line in lines(history, stream)).encode()


def lines(history: History, stream: str) -> Iterator[str]:
    """The metrics one after another, in each the lanes, in each the losses, in each the moments."""
    moments = [(timestamp(time_ms), moment) for time_ms, moment in history.moments()]

    def labels(lane: int, loss: str = "") -> str:
        own = {"stream": stream, "lane": history.lanes[lane], "shard": SHARD}
        own |= {"loss": loss} if loss else {}
        return ",".join(f'{name}="{escaped(value)}"' for name, value in own.items())

    def summed(moment: Moment, lane: int, loss: int) -> float:
        return float(moment.sums[lane, loss])

    lanes = range(len(history.lanes))
    yield "# HELP wirerank_rounds Labelled documents learned."
    yield "# TYPE wirerank_rounds counter"
    for lane in lanes:
        start = f"wirerank_rounds_total{{{labels(lane)}}}"
        for time, moment in moments:
            yield f"{start} {moment.rounds} {time}"
    yield "# HELP wirerank_loss Losses of all rounds, added up."
    yield "# TYPE wirerank_loss counter"
    for lane in lanes:
        for number, loss in enumerate(LOSSES):
            start = f"wirerank_loss_total{{{labels(lane, loss)}}}"
            for time, moment in moments:
                yield f"{start} {summed(moment, lane, number)!r} {time}"
    yield "# HELP wirerank_round_averaged_loss Mean loss of the rounds so far: the learning curve."
    yield "# TYPE wirerank_round_averaged_loss gauge"
    for lane in lanes:
        for number, loss in enumerate(LOSSES):
            start = f"wirerank_round_averaged_loss{{{labels(lane, loss)}}}"
            for time, moment in moments:
                yield f"{start} {summed(moment, lane, number) / moment.rounds!r} {time}"
    yield "# EOF"


def timestamp(time_ms: int) -> str:
    """Seconds since 1970 as the format has them.

    Prometheus multiplies by 1,000 and cuts off the rest; a tenth of a millisecond more keeps
    0.23 s from becoming 229 ms.

    Examples
    --------
    >>> timestamp(541350061230), timestamp(541350061000)
    ('541350061.2301', '541350061')

    """
    seconds, rest = divmod(time_ms, 1000)
    return f"{seconds}.{rest:03d}1" if rest else str(seconds)


def escaped(value: str) -> str:
    """The value of a label between its quotes."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
