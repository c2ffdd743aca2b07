"""The compiled half of the synthetic newswire: from a seed and a number to the bytes of an event.

Whole numbers only: no rounding that could differ between machines decides anything here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners.jit import njit

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
State = NDArray[np.uint64]

TITLE_WORDS = 4, 9
SENTENCE_WORDS = 8, 27
STEADY_WORDS = 200
"""So many of the most frequent words never become the sign of a topic by drift."""

START_DAY = 9_728  # 1996-08-20, in days after 1970-01-01
FUNCTION, CONTENT, FIRST_NAME, COMPANY = 0, 1, 2, 3

# The constants and shifts of splitmix64; numba needs them unsigned to stay in whole numbers.
GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
LOW_32 = np.uint64(0xFFFFFFFF)

# What stands around the values of an event. No word needs escaping, so this is all of JSON here.
ID = np.frombuffer(b'{"id":"synthetic-', dtype=np.uint8)
TITLE = np.frombuffer(b'","title":"', dtype=np.uint8)
TEXT = np.frombuffer(b'","text":"', dtype=np.uint8)
LABELS = np.frombuffer(b'","topics":[', dtype=np.uint8)
TIME = np.frombuffer(b'],"time":"', dtype=np.uint8)
END = np.frombuffer(b'"}', dtype=np.uint8)
SEPARATORS = np.frombuffer(b"--T::", dtype=np.uint8)
FRAME_BYTES = 128
"""More than the fixed parts, the number and the time of an event take."""


class Draws(NamedTuple):
    """Alias tables, one or several end to end: column `i` stands for `i` or for `other[i]`."""

    cut: Ints
    other: Ints


class Tables(NamedTuple):
    """All the kernel reads: words as bytes, words by kind, topics by group, distributions."""

    chars: Bytes
    char_start: Ints  # of every form
    form_start: Ints  # of every word
    kind_start: (
        Ints  # first word of: function, content, first, surname, place, company, company kind
    )
    function: Draws
    content: Draws
    surnames: Draws
    companies: Draws
    slots: Ints  # the words that signal the topics, as numbers of words
    slot_start: Ints  # of every topic
    popular: Draws
    group: Ints  # of every topic
    group_start: Ints
    members: Ints  # topics by group
    siblings: Draws  # one table per group
    name_chars: Bytes  # topics in quotes
    name_start: Ints
    lengths: Ints  # in words
    counts: Ints
    period: int  # documents in which every slot changes once; 0 = never


@njit
def mix(z: np.uint64) -> np.uint64:
    """The scrambling step of splitmix64."""
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@njit
def draw(state: State) -> np.uint64:
    """The next 64 random bits."""
    state[0] += GAMMA
    return mix(state[0])


@njit
def below(state: State, n: int) -> int:
    """A whole number from 0 to `n` - 1."""
    return np.int64(((draw(state) >> S32) * np.uint64(n)) >> S32)


@njit
def skewed(state: State, n: int) -> int:
    """A whole number from 0 to `n` - 1, small ones more likely."""
    return min(below(state, n), below(state, n))


@njit
def pick(state: State, draws: Draws, start: int, end: int) -> int:
    """Draw from the alias table that lies from `start` to `end`."""
    bits = draw(state)
    column = np.int64(((bits >> S32) * np.uint64(end - start)) >> S32)
    keep = np.int64(bits & LOW_32) < draws.cut[start + column]
    return column if keep else draws.other[start + column]


@njit
def pick_all(state: State, draws: Draws) -> int:
    """Draw from a single alias table."""
    return pick(state, draws, 0, len(draws.cut))


@njit
def sibling(state: State, t: Tables, topic: int) -> int:
    """A topic of the same group, perhaps the same."""
    start, end = t.group_start[t.group[topic]], t.group_start[t.group[topic] + 1]
    return t.members[start + pick(state, t.siblings, start, end)]


@njit
def choose_topics(state: State, t: Tables, chosen: Ints) -> int:
    """Fill `chosen` with different topics, mostly of one group, and say how many they are."""
    topics = len(t.group)
    count = min(t.counts[below(state, len(t.counts))], topics)
    chosen[0] = pick_all(state, t.popular)
    for i in range(1, count):
        related = below(state, 4) > 0
        topic = chosen[0]
        for _ in range(8):
            topic = sibling(state, t, chosen[0]) if related else pick_all(state, t.popular)
            if topic not in chosen[:i]:
                break
        while topic in chosen[:i]:  # a small group may have no more to give
            topic = (topic + 1) % topics
        chosen[i] = topic
    return count


@njit
def topic_word(state: State, t: Tables, chosen: Ints, count: int, n: int) -> int:
    """A word that signals a topic of document `n`; its first topics are heard most."""
    place = 0
    while place < count - 1 and below(state, 8) < 5:
        place += 1
    topic, source = chosen[place], below(state, 16)
    if source < 3:
        topic = sibling(state, t, topic)
    elif source == 3:  # what a story mentions in passing
        topic = chosen[count]
    start = t.slot_start[topic]
    slot = start + skewed(state, t.slot_start[topic + 1] - start)
    if t.period > 0:
        # Each slot has its own moment in the period, so that words change one at a time.
        epoch = (n + np.int64(mix(np.uint64(slot)) >> S32) % t.period) // t.period
        if epoch > 0:
            first = t.kind_start[1] + STEADY_WORDS
            bits = mix(np.uint64(slot) ^ (np.uint64(epoch) << S32)) >> S32
            return first + np.int64(bits) % (t.kind_start[2] - first)
    return t.slots[slot]


@njit
def put(buffer: Bytes, at: int, chars: Bytes, start: int, end: int) -> int:
    """Copy bytes; return where the next ones go."""
    for i in range(start, end):
        buffer[at] = chars[i]
        at += 1
    return at


@njit
def put_digits(buffer: Bytes, at: int, number: int, width: int) -> int:
    """Write a number, with zeros in front up to `width`."""
    while 10**width <= number:
        width += 1
    for i in range(width):
        buffer[at + width - 1 - i] = 48 + number % 10
        number //= 10
    return at + width


@njit
def put_number(state: State, buffer: Bytes, at: int) -> int:
    """Write a year, or a number of one to six digits, perhaps with one decimal."""
    if below(state, 8) == 0:
        return put_digits(buffer, at, 1980 + below(state, 20), 4)
    size = 10 ** skewed(state, 6)
    at = put_digits(buffer, at, size + below(state, 9 * size), 1)
    if below(state, 4) == 0:
        buffer[at] = ord(".")
        at = put_digits(buffer, at + 1, below(state, 10), 1)
    return at


@njit
def put_word(state: State, t: Tables, buffer: Bytes, at: int, word: int, capital: bool) -> int:
    """Write one of the forms of a word, most often the base form."""
    form, forms = t.form_start[word], t.form_start[word + 1] - t.form_start[word]
    if forms > 1 and below(state, 8) >= 5:
        form += below(state, forms)
    end = put(buffer, at, t.chars, t.char_start[form], t.char_start[form + 1])
    if capital and buffer[at] >= ord("a"):
        buffer[at] -= 32
    return end


@njit
def next_word(
    state: State, t: Tables, chosen: Ints, count: int, n: int, before: int, final: bool
) -> tuple[int, int]:
    """The next word (-1: a number) and its kind, given the kind of the word `before`."""
    kinds = t.kind_start
    if before == FIRST_NAME:
        return kinds[3] + pick_all(state, t.surnames), CONTENT
    if before == COMPANY and below(state, 2) == 0:
        return kinds[6] + skewed(state, kinds[7] - kinds[6]), CONTENT
    if below(state, 64) < (8 if before == FUNCTION else 40) and not final:
        return pick_all(state, t.function), FUNCTION
    source = below(state, 100)
    if source < 60:
        return topic_word(state, t, chosen, count, n), CONTENT
    if source < 87:
        return kinds[1] + pick_all(state, t.content), CONTENT
    if source < 90 and not final:
        return kinds[2] + skewed(state, kinds[3] - kinds[2]), FIRST_NAME
    if source < 93:
        return kinds[4] + skewed(state, kinds[5] - kinds[4]), CONTENT
    if source < 96:
        return kinds[5] + pick_all(state, t.companies), COMPANY
    return -1, CONTENT


@njit
def put_sentence(
    state: State,
    t: Tables,
    buffer: Bytes,
    at: int,
    chosen: Ints,
    count: int,
    n: int,
    length: int,
    title: bool,
) -> int:
    """Write words with spaces and commas between them; a title has capitals and no commas."""
    kind = CONTENT
    for i in range(length):
        word, kind = next_word(state, t, chosen, count, n, kind, i == length - 1)
        if word < 0:
            at = put_number(state, buffer, at)
        else:
            at = put_word(state, t, buffer, at, word, title or i == 0)
        if kind == CONTENT and 2 < i < length - 3 and not title and below(state, 10) == 0:
            buffer[at] = ord(",")
            at += 1
        buffer[at] = ord(" ")
        at += 1
    return at - 1


@njit
def put_text(
    state: State, t: Tables, buffer: Bytes, at: int, chosen: Ints, count: int, n: int
) -> int:
    """Write sentences until the document is as long as it was drawn to be."""
    place = below(state, 1 << 16)
    low, high = t.lengths[place >> 12], t.lengths[(place >> 12) + 1]
    left = max(5, (low + (high - low) * (place & 4095) // 4096) // 256)
    while left > 0:
        length = SENTENCE_WORDS[0] + below(state, SENTENCE_WORDS[1] - SENTENCE_WORDS[0] + 1)
        if left - length < SENTENCE_WORDS[0] // 2:  # no stub at the end
            length = left
        at = put_sentence(state, t, buffer, at, chosen, count, n, length, False)
        buffer[at], buffer[at + 1] = ord("."), ord(" ")
        at += 2
        left -= length
    return at - 1


@njit
def put_time(buffer: Bytes, at: int, seconds: int) -> int:
    """Write a moment, given in seconds after 1996-08-20, as RFC 3339 does."""
    # Days become a date by counting from 1 March of the year 0, when a leap day comes last.
    days = START_DAY + seconds // 86_400 + 719_468
    era, day = days // 146_097, days % 146_097
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    march = (5 * day + 2) // 153
    day -= (153 * march + 2) // 5
    month = march + 3 if march < 10 else march - 9
    at = put_digits(buffer, at, year + era * 400 + (1 if month <= 2 else 0), 4)
    of_day = seconds % 86_400
    fields = (month, day + 1, of_day // 3_600, of_day // 60 % 60, of_day % 60)
    for i in range(5):
        buffer[at] = SEPARATORS[i]
        at = put_digits(buffer, at + 1, fields[i], 2)
    buffer[at] = ord("Z")
    return at + 1


@njit
def write_event(state: State, t: Tables, buffer: Bytes, at: int, chosen: Ints, n: int) -> int:
    """Write event `n`, counted from 0; return where the next one goes."""
    count = choose_topics(state, t, chosen)
    chosen[count] = pick_all(state, t.popular)
    at = put_digits(buffer, put(buffer, at, ID, 0, len(ID)), n + 1, 1)
    at = put(buffer, at, TITLE, 0, len(TITLE))
    length = TITLE_WORDS[0] + below(state, TITLE_WORDS[1] - TITLE_WORDS[0] + 1)
    at = put_sentence(state, t, buffer, at, chosen, count, n, length, True)
    at = put_text(state, t, buffer, put(buffer, at, TEXT, 0, len(TEXT)), chosen, count, n)
    at = put(buffer, at, LABELS, 0, len(LABELS))
    for i in range(count):
        if i > 0:
            buffer[at] = ord(",")
            at += 1
        at = put(buffer, at, t.name_chars, t.name_start[chosen[i]], t.name_start[chosen[i] + 1])
    jitter = below(state, 6) if n > 0 else 0
    at = put_time(buffer, put(buffer, at, TIME, 0, len(TIME)), 35 * n + jitter)
    return put(buffer, at, END, 0, len(END))


@njit
def write_events(
    t: Tables, seed: int, first: int, last: int, buffer: Bytes, room: int, ends: Ints
) -> int:
    """Write events `first` to `last` - 1 while the buffer has `room` for one more.

    `ends` receives where each event ends. Returns how many were written.
    """
    state = np.empty(1, dtype=np.uint64)
    chosen = np.empty(t.counts.max() + 1, dtype=np.int64)
    at = 0
    for n in range(first, last):
        if at + room > len(buffer):
            return n - first
        # Each event has a generator of its own: it does not matter what was written before it.
        state[0] = mix(mix(np.uint64(seed)) + np.uint64(n))
        at = write_event(state, t, buffer, at, chosen, n)
        ends[n - first] = at
    return last - first
