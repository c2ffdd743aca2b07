"""`wirerank dead-letters`: list, count and show dead letters, and send corrected ones back."""

from __future__ import annotations

import heapq
import logging
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from consumers.commands.configuration import configured, stream_named
from consumers.commands.options import ConfigFile, StreamName
from consumers.settings import Config
from consumers.stream_settings import StreamSettings, check_time, since_epoch_ms
from pipeline.commands.failure import fail
from pipeline.commands.plain_command import PlainCommand
from pipeline.errors import UsageError
from pipeline.printable import printable, printable_json, printable_lines

if TYPE_CHECKING:
    from consumers.dead_letters.corrections import Correction
    from consumers.dead_letters.letter import Letter
    from consumers.dead_letters.sending import Outcome, SendBack
    from consumers.dead_letters.topic import LetterTopic

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
MOST_DETAIL, MOST_SHOWN = 160, 20
NOT_ALL = 1  # the exit code

dead_letters_app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="List, count and show dead letters, and send them back.",
)

Reasons = Annotated[
    list[str] | None,
    typer.Option("--reason", metavar="REASON", help="Only those with this reason; may repeat."),
]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Only those since a time, 2026-03-01T09:30:00Z, or 90s, 30m, 2h, 7d."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON, one object per line.")]


@dead_letters_app.callback()
def dead_letters_command() -> None:
    """List, count and show dead letters, and send them back."""


@dead_letters_app.command("count", cls=PlainCommand)
def count_command(
    config: ConfigFile, stream: StreamName = None, since: Since = None, json: Json = False
) -> None:
    """Count dead letters by reason.

    Those that were sent back are counted separately. Copies that a crash has left count once.
    """
    waiting: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    since_ms = since_time(since)
    with opened(config, stream) as (_, _, topic):
        done = topic.sent_back(since_ms)
        seen: set[bytes] = set()
        for letter in topic.letters(since_ms):
            if letter.identity not in seen:
                seen.add(letter.identity)
                (sent if letter.identity in done else waiting)[letter.reason] += 1
    reasons = sorted(waiting | sent, key=lambda reason: (-waiting[reason], reason))
    for reason in reasons:
        if json:
            line = {"reason": reason, "waiting": waiting[reason], "sent_back": sent[reason]}
            echo_json(line)
        else:
            typer.echo(f"{waiting[reason]:>10,}  {printable(reason)}{describe_sent(sent[reason])}")
    if not json:
        typer.echo(f"{waiting.total():>10,}  in all{describe_sent(sent.total())}")


def describe_sent(number: int) -> str:
    """How many more were sent back, if any."""
    return f" ({number:,} more were sent back)" if number else ""


@dead_letters_app.command("list", cls=PlainCommand)
def list_command(
    config: ConfigFile,
    stream: StreamName = None,
    reason: Reasons = None,
    since: Since = None,
    limit: Annotated[
        int, typer.Option(min=0, max=100_000, metavar="N", help="The newest N; 0 for all.")
    ] = 20,
    all_: Annotated[
        bool, typer.Option("--all", help="Also those that were sent back already.")
    ] = False,
    json: Json = False,
) -> None:
    """List the newest dead letters, oldest first.

    A line has the name of the dead letter (PARTITION:OFFSET), the time, the reason, the origin and
    the detail. With --json, a line has the whole event, and can be corrected and sent back.
    """
    since_ms = since_time(since)
    with opened(config, stream) as (_, _, topic):
        done = topic.sent_back(since_ms)
        chosen = (
            letter
            for letter in topic.letters(since_ms)
            if (not reason or letter.reason in reason) and (all_ or letter.identity not in done)
        )
        for letter in newest(chosen, limit):
            if json:
                echo_json(letter.as_json(letter.identity in done))
            else:
                typer.echo(one_line(letter, letter.identity in done))


def newest(letters: Iterator[Letter], limit: int) -> Iterator[Letter]:
    """The newest dead letters, oldest first; without a limit, as they come."""
    if not limit:
        yield from letters
        return
    ages = ((letter.time_ms, letter.partition, letter.offset, letter) for letter in letters)
    for *_, letter in sorted(heapq.nlargest(limit, ages, key=lambda age: age[:3]), key=age_of):
        yield letter


def age_of(entry: tuple[int, int, int, Letter]) -> tuple[int, int, int]:
    """What dead letters are sorted by."""
    return entry[:3]


def one_line(letter: Letter, sent_back: bool) -> str:
    """A dead letter in one line."""
    from consumers.logs import timestamp  # noqa: PLC0415 - as the other imports of workers

    when = timestamp(letter.time_ms / 1000)
    origin = f"{letter.topic}-{letter.origin[0]}-{letter.origin[1]}" if letter.origin else "?"
    marks = " (cut)" * letter.is_cut + " (sent back)" * sent_back
    line = f"{letter.place}  {when}  {letter.reason}{marks}  {origin}"
    return f"{printable(line)}  {printable(letter.detail, MOST_DETAIL)}"


@dead_letters_app.command("show", cls=PlainCommand)
def show_command(
    config: ConfigFile,
    letter: Annotated[
        str, typer.Argument(metavar="PARTITION:OFFSET", help="The dead letter, as `list` names it.")
    ],
    stream: StreamName = None,
    json: Json = False,
) -> None:
    """Show one dead letter in full. Control characters are escaped."""
    from consumers.dead_letters.corrections import PLACE  # noqa: PLC0415 - slow to import

    match = PLACE.fullmatch(letter)
    if match is None:
        fail(f"expected a dead letter as `list` names it, such as 0:17. Got {letter!r}.")
    with opened(config, stream) as (_, _, topic):
        found = topic.letter_at(int(match[1]), int(match[2]))
        if found is None:
            fail(f"there is no dead letter {letter} in {topic.name}; it may have been deleted.", 1)
        sent_back = found.identity in topic.sent_back()
    fields = found.as_json(sent_back)
    if json:
        echo_json(fields)
        return
    event = fields.pop("event", None)
    headers = {name: value.decode("utf-8", "replace") for name, value in found.headers}
    for name, value in (fields | {"headers": headers}).items():
        shown = value if isinstance(value, str) else orjson.dumps(value).decode()
        typer.echo(printable(f"{name}: {shown}"))
    typer.echo("")
    typer.echo(printable_lines(event if event is not None else repr(found.value)))


@dead_letters_app.command("send-back", cls=PlainCommand)
def send_back_command(
    config: ConfigFile,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="CORRECTIONS",
            help="A file of corrected dead letters, as `list --json` writes them; - reads "
            "standard input. Without it, the events are sent as they came.",
        ),
    ] = None,
    stream: StreamName = None,
    reason: Reasons = None,
    since: Since = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be sent.")
    ] = False,
) -> None:
    """Send dead letters back to the Kafka topic that they came from.

    Give either a file of corrections, or --reason after the settings were corrected. Nothing is
    sent twice, and nothing that would be a dead letter again. Writes audit lines. Ends with exit
    code 1 if a dead letter was refused.
    """
    if (file is None) == (not reason):
        fail("expected either a file of corrections or --reason.")
    if file is not None and since is not None:
        fail("--since goes with --reason; a file names its dead letters.")
    from consumers.audit import audit  # noqa: PLC0415 - slow to import
    from consumers.dead_letters.corrections import read_corrections  # noqa: PLC0415
    from consumers.dead_letters.sending import SendBack  # noqa: PLC0415
    from consumers.dead_letters.still_malformed import Acceptance  # noqa: PLC0415

    since_ms = since_time(since)
    corrections = None
    try:
        if file is not None:
            lines = sys.stdin.buffer if file == "-" else Path(file).read_bytes().splitlines()
            corrections = read_corrections(lines, "standard input" if file == "-" else file)
    except UsageError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}.")
    with opened(config, stream) as (read, chosen, topic):
        asked = {"stream": chosen.name, "file": file, "reasons": reason, "since": since}
        sending = SendBack(read, chosen, topic, Acceptance(read, chosen).problem, dry_run)
        try:
            with audit("dead-letters send-back", read.audit, **asked, dry_run=dry_run) as entry:
                sending.begin()
                whole = False
                try:
                    send(sending, topic.letters(since_ms), corrections, reason or [])
                    whole = True
                finally:
                    sent, outcome = sending.count(), sending.outcome
                    whole = whole and (dry_run or sent == outcome.sendable)
                    entry.found(sent=sent, already=outcome.already, refused=len(outcome.refused))
                    report(outcome, dry_run, whole)
        except UsageError as error:
            fail(str(error))
        finally:
            sending.close()
    if outcome.refused or not whole:
        raise typer.Exit(NOT_ALL)


def send(
    sending: SendBack,
    letters: Iterator[Letter],
    corrections: dict[str, Correction] | None,
    reasons: list[str],
) -> None:
    """Send corrected dead letters, or those with certain reasons."""
    missing = dict(corrections or {})
    for letter in letters:
        if letter.place in missing:
            sending.add(letter, missing.pop(letter.place))
        elif corrections is None and letter.reason in reasons:
            sending.add(letter, None)
    sending.outcome.refused += [(place, "is not there, or was deleted") for place in missing]
    sending.commit()


def report(outcome: Outcome, dry_run: bool, whole: bool) -> None:
    """Say how many were sent, and why others were not; `whole`: nothing went wrong on the way."""
    for place, why in outcome.refused[:MOST_SHOWN]:
        typer.echo(f"wirerank: {place} {printable(why)}.", err=True)
    if len(outcome.refused) > MOST_SHOWN:
        typer.echo(f"wirerank: and {len(outcome.refused) - MOST_SHOWN:,} more.", err=True)
    sent = f"sent back: {outcome.sent:,}"
    if dry_run:
        sent = f"would be sent back: {outcome.sendable:,}"
    elif not whole:
        sent = f"sent back: at least {outcome.sent:,}; run the command again for the others"
    refused = len(outcome.refused)
    typer.echo(f"{sent}\nsent back already: {outcome.already:,}\nrefused: {refused:,}")


@contextmanager
def opened(path: Path, name: str | None) -> Iterator[tuple[Config, StreamSettings, LetterTopic]]:
    """The dead-letter topic of a stream; ends with a message if the broker cannot be used."""
    from consumers.dead_letters.topic import LetterTopic  # noqa: PLC0415 - slow to import
    from consumers.kafka.errors import KafkaError, describe_error  # noqa: PLC0415
    from consumers.kafka.topic_sample import MissingTopicError  # noqa: PLC0415
    from consumers.registry.http_client import RegistryAwayError  # noqa: PLC0415

    config = configured(path)
    stream = stream_named(config, name)
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # errors are put into words here
    topic = None
    try:
        topic = LetterTopic(config.kafka, stream.dead_letters)
        yield config, stream, topic
    except MissingTopicError as error:
        fail(f"{error}; workers create it when they start.", 1)
    except RegistryAwayError as error:
        fail(f"the Schema Registry at {config.registry.url} does not answer: {error}.", 1)
    except (KafkaError, OSError) as error:
        fail(f"{describe_error(error)}.", 1)
    finally:
        if topic is not None:
            topic.close()


def since_time(value: str | None) -> int | None:
    """A time of the command line in milliseconds since 1970.

    >>> since_time("1970-01-01T00:00:01Z"), since_time(None)
    (1000, None)
    """
    if value is None:
        return None
    if match := re.fullmatch(r"(\d{1,9})([smhd])", value, re.ASCII):
        return max(0, round((time.time() - int(match[1]) * UNITS[match[2]]) * 1000))
    try:
        check_time(value, "a duration such as 2h, or ")
    except ValueError as error:
        fail(f"--since: {error}.")
    return since_epoch_ms(value)


def echo_json(fields: dict[str, object]) -> None:
    """Write one object in one line; control characters are escaped."""
    typer.echo(printable_json(orjson.dumps(fields).decode()))
