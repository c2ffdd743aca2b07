"""The kernel of the synthetic newswire: makes the bytes of an event from a seed and its number.

Only integers are used, so that no rounding can make machines differ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from learners.jit import njit
from learners.splitmix import mix

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Work = tuple[Ints, Ints, Bytes]
"""Buffers for the topics of a document, its words and the punctuation marks after them."""

LENGTHS = (12, 24, 33, 42, 50, 57, 64, 71, 78, 86, 95, 105, 118, 136, 165, 225, 900)
"""Relative length of a document at every sixteenth quantile: most are short, a few very long."""

TOPIC_COUNTS = (1,) * 12 + (2,) * 24 + (3,) * 27 + (4,) * 18 + (5,) * 10 + (6,) * 6 + (7, 7, 8)
"""How many topics a document has, in hundredths; 3.2 on average."""

LENGTH_STEPS, COUNT_STEPS = len(LENGTHS) - 1, len(TOPIC_COUNTS)
MOST_TOPICS = max(TOPIC_COUNTS)
TITLE_WORDS = 4, 9
SENTENCE_WORDS = 8, 27
STEADY_WORDS = 200
"""This many of the most frequent words never come to signal a topic by drift."""

START_DAY = 9_728  # 1996-08-20, in days after 1970-01-01
FUNCTION, CONTENT, FIRST_NAME, SURNAME, PLACE, COMPANY, COMPANY_KIND = range(7)
"""The kinds of words, in the order of their tables."""
TOPIC, NUMBER = 7, 8
NOTHING, COMMA, STOP = 0, ord(","), ord(".")

# For splitting bits; numba needs unsigned constants to stay with integers.
S32, LOW_32 = np.uint64(32), np.uint64(0xFFFFFFFF)
S3, LOW_3, LOW_4, FIVE = np.uint64(3), np.uint64(7), np.uint64(15), np.uint64(5)

# The text around the values of an event. No word needs escaping, so this is all the JSON needed.
ID = np.frombuffer(b'{"id":"synthetic-', dtype=np.uint8)
TITLE = np.frombuffer(b'","title":"', dtype=np.uint8)
TEXT = np.frombuffer(b'","text":"', dtype=np.uint8)
LABELS = np.frombuffer(b'","topics":[', dtype=np.uint8)
TIME = np.frombuffer(b'],"time":"', dtype=np.uint8)
END = np.frombuffer(b'"}', dtype=np.uint8)
SEPARATORS = np.frombuffer(b"--T::", dtype=np.uint8)
FRAME_BYTES = 128
"""More bytes than the fixed parts, the number and the time of an event need."""


# One long array `t` of integers holds all tables and begins with their positions:
# t[t[AT_GROUP] + topic] is the group of a topic. A tuple of arrays would be easier to read, but
# compiled code counts the references of all its arrays at every call, which took ten times as long
# as the work itself. An alias table of n columns is n thresholds, then n alternatives.
(
    AT_CHAR_START,  # of every form of every word
    AT_FORM_START,  # of every word
    AT_KIND_START,  # first word of every kind, and the end of the last one
    AT_DRAWS,  # position of the alias table of every kind
    AT_SLOTS,  # the words that signal the topics
    AT_SLOT_START,  # of every topic
    AT_POPULAR,  # alias table of the topics
    AT_GROUP,  # of every topic
    AT_GROUP_START,
    AT_MEMBERS,  # topics by group
    AT_SIBLINGS,  # alias tables of the groups
    AT_NAME_START,  # of every topic, in quotes
    AT_LENGTHS,  # of texts, in 256ths of a word
    AT_COUNTS,  # of topics
    TOPICS,  # not a position: the number of topics
    PERIOD,  # not a position: documents within which every slot changes once; 0 = never
    HEADER,
) = range(17)


@njit
def share(bits: np.uint64, n: int) -> int:
    """An integer from 0 to `n` - 1, from the upper half of `bits`."""
    return int(np.int64(((bits >> S32) * np.uint64(n)) >> S32))


@njit
def skewed(bits: np.uint64, n: int) -> int:
    """An integer from 0 to `n` - 1; smaller ones are more likely."""
    return min(share(bits, n), share(bits << S32, n))


@njit
def pick(bits: np.uint64, t: Ints, table: int, n: int) -> int:
    """Draw from the alias table of `n` columns at `table`."""
    column = share(bits, n)
    keep = np.int64(bits & LOW_32) < t[table + column]
    return column if keep else int(t[table + n + column])


@njit
def sibling(bits: np.uint64, t: Ints, topic: int) -> int:
    """A topic of the same group, possibly the same topic."""
    group = t[AT_GROUP_START] + t[t[AT_GROUP] + topic]
    start, size = t[group], t[group + 1] - t[group]
    return int(t[t[AT_MEMBERS] + start + pick(bits, t, t[AT_SIBLINGS] + 2 * start, size)])


@njit
def choose_topics(bits: np.uint64, t: Ints, chosen: Ints) -> int:
    """Fill `chosen` with different topics, mostly of one group, and return their number."""
    topics = t[TOPICS]
    count = min(t[t[AT_COUNTS] + share(bits, COUNT_STEPS)], topics)
    bits = mix(bits)
    chosen[0] = pick(bits, t, t[AT_POPULAR], topics)
    for i in range(1, count):
        bits = mix(bits)
        related = share(bits, 4) > 0
        topic, tries = chosen[0], 0
        while tries < 8 and topic in chosen[:i]:
            bits, tries = mix(bits), tries + 1
            popular = pick(bits, t, t[AT_POPULAR], topics)
            topic = sibling(bits, t, chosen[0]) if related else popular
        while topic in chosen[:i]:  # a small group may have no further topic
            topic = (topic + 1) % topics
        chosen[i] = topic
    chosen[count] = pick(mix(bits), t, t[AT_POPULAR], topics)  # a topic that is only mentioned
    return int(count)


@njit
def topic_word(bits: np.uint64, t: Ints, chosen: Ints, count: int, n: int) -> int:
    """A word that signals a topic of document `n`; its first topics are the most likely."""
    place = 0
    while place < count - 1 and bits & LOW_3 < FIVE:
        bits >>= S3
        place += 1
    bits = mix(bits)
    topic, source = chosen[place], share(bits << S32, 16)
    if source < 3:
        topic = sibling(bits, t, topic)
    elif source == 3:
        topic = chosen[count]
    start = t[t[AT_SLOT_START] + topic]
    slot = start + skewed(mix(bits), t[t[AT_SLOT_START] + topic + 1] - start)
    if t[PERIOD] > 0:
        # Each slot changes at its own moment in the period, so that words change one at a time.
        own = mix(np.uint64(slot))
        epoch = (n + np.int64(own >> S32) % t[PERIOD]) // t[PERIOD]
        if epoch > 0:
            first = t[t[AT_KIND_START] + CONTENT] + STEADY_WORDS
            size = t[t[AT_KIND_START] + CONTENT + 1] - first
            return int(first + share(mix(own + np.uint64(epoch)), size))
    return int(t[t[AT_SLOTS] + slot])


@njit
def kind_after(bits: np.uint64, kind: int, final: bool) -> int:
    """The kind of the next word; the `final` word of a sentence needs no word after it."""
    if kind == FIRST_NAME:
        return SURNAME
    function, source = share(bits, 64), share(bits << S32, 100)
    if kind == COMPANY and function < 32:
        return COMPANY_KIND
    if function < (8 if kind == FUNCTION else 40) and not final:
        return FUNCTION
    if source < 60:
        return TOPIC
    if source < 87:
        return CONTENT
    if source < 90 and not final:
        return FIRST_NAME
    if source < 93:
        return PLACE
    return COMPANY if source < 96 else NUMBER


@njit
def figure(bits: np.uint64) -> int:
    """Ten times a year, or ten times a number of one to six digits, possibly with one decimal."""
    if share(bits, 8) == 0:
        return 10 * (1980 + share(bits << S32, 20))
    bits = mix(bits)
    size = 10 ** skewed(bits, 6)
    bits = mix(bits)
    decimal = max(0, share(bits, 40) - 30)
    return int(10 * (size + share(bits << S32, 9 * size)) + decimal)


@njit
def sentence_length(bits: np.uint64, left: int) -> int:
    """The length of the next sentence, if `left` words are left."""
    length = SENTENCE_WORDS[0] + share(bits, SENTENCE_WORDS[1] - SENTENCE_WORDS[0] + 1)
    return (
        left if left - length < SENTENCE_WORDS[0] // 2 else length
    )  # avoids a very short last sentence


@njit
def compose(
    bits: np.uint64, t: Ints, chosen: Ints, count: int, n: int, words: Ints, marks: Bytes, size: int
) -> None:
    """Fill `words` with word forms and figures (negative), `marks` with the mark after each."""
    length, place, kind = 0, 0, CONTENT
    for i in range(size):
        bits = mix(bits)
        if place == length:
            length, place, kind = sentence_length(bits, size - i), 0, CONTENT
        place += 1
        kind = kind_after(bits, kind, place == length)
        own = mix(bits)
        if kind == NUMBER:
            words[i] = -figure(own)
        else:
            if kind == TOPIC:
                word = topic_word(own, t, chosen, count, n)
            else:
                start = t[t[AT_KIND_START] + kind]
                end = t[t[AT_KIND_START] + kind + 1]
                word = start + pick(own, t, t[t[AT_DRAWS] + kind], end - start)
            form = t[t[AT_FORM_START] + word]
            forms = t[t[AT_FORM_START] + word + 1] - form
            if forms > 1 and bits & LOW_3 >= FIVE:  # most often the base form
                form += share(mix(own), forms)
            words[i] = form
        pause = 2 < place < length - 2 and (bits >> S3) & LOW_4 == 0
        marks[i] = COMMA if pause and kind not in (FUNCTION, FIRST_NAME, COMPANY) else NOTHING
        if place == length:
            marks[i] = STOP


@njit
def put(buffer: Bytes, at: int, chars: Bytes, start: int, end: int) -> int:
    """Copy bytes; return the position after them."""
    for i in range(start, end):
        buffer[at] = chars[i]
        at += 1
    return at


@njit
def put_digits(buffer: Bytes, at: int, number: int, width: int) -> int:
    """Write a number, with leading zeros up to `width`."""
    while 10**width <= number:
        width += 1
    for i in range(width):
        buffer[at + width - 1 - i] = 48 + number % 10
        number //= 10
    return at + width


@njit
def put_words(
    buffer: Bytes, at: int, t: Ints, chars: Bytes, words: Ints, marks: Bytes, size: int, title: bool
) -> int:
    """Write the composed words; a title has capitals and no punctuation marks."""
    capital = True
    for i in range(size):
        if words[i] < 0:
            at = put_digits(buffer, at, -words[i] // 10, 1)
            if -words[i] % 10 > 0:
                buffer[at] = ord(".")
                at = put_digits(buffer, at + 1, -words[i] % 10, 1)
        else:
            first, start = at, t[AT_CHAR_START] + words[i]
            for j in range(t[start], t[start + 1]):
                buffer[at] = chars[j]
                at += 1
            if capital and buffer[first] >= ord("a"):
                buffer[first] -= 32
        if marks[i] != NOTHING and not title:
            buffer[at] = marks[i]
            at += 1
        capital = title or marks[i] == STOP
        buffer[at] = ord(" ")
        at += 1
    return at - 1


@njit
def put_time(buffer: Bytes, at: int, seconds: int) -> int:
    """Write a time, given in seconds after 1996-08-20, as in RFC 3339."""
    # The date is counted from 1 March of the year 0, so that a leap day is the last of its year.
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
def text_length(bits: np.uint64, t: Ints) -> int:
    """The number of words of a text."""
    place = share(bits, LENGTH_STEPS << 12)
    step = t[AT_LENGTHS] + (place >> 12)
    low, high = t[step], t[step + 1]
    return int(max(5, (low + (high - low) * (place & 4095) // 4096) // 256))


@njit
def put_event(
    bits: np.uint64, buffer: Bytes, at: int, t: Ints, chars: Bytes, n: int, work: Work
) -> int:
    """Write event `n`, counted from 0; return the position after it."""
    chosen, words, marks = work
    count = choose_topics(bits, t, chosen)
    at = put_digits(buffer, put(buffer, at, ID, 0, len(ID)), n + 1, 1)
    at = put(buffer, at, TITLE, 0, len(TITLE))
    bits = mix(bits)
    size = TITLE_WORDS[0] + share(bits, TITLE_WORDS[1] - TITLE_WORDS[0] + 1)
    compose(bits ^ LOW_32, t, chosen, count, n, words, marks, size)
    at = put_words(buffer, at, t, chars, words, marks, size, True)
    at = put(buffer, at, TEXT, 0, len(TEXT))
    bits = mix(bits)
    size = text_length(bits, t)
    compose(bits ^ LOW_32, t, chosen, count, n, words, marks, size)
    at = put_words(buffer, at, t, chars, words, marks, size, False)
    at = put(buffer, at, LABELS, 0, len(LABELS))
    for i in range(count):
        if i > 0:
            buffer[at] = ord(",")
            at += 1
        name = t[AT_NAME_START] + chosen[i]
        at = put(buffer, at, chars, t[name], t[name + 1])
    jitter = share(mix(bits), 6) if n > 0 else 0
    at = put_time(buffer, put(buffer, at, TIME, 0, len(TIME)), 35 * n + jitter)
    return put(buffer, at, END, 0, len(END))


@njit
def write_events(
    t: Ints, chars: Bytes, seed: int, first: int, last: int, buffer: Bytes, room: int, ends: Ints
) -> int:
    """Write events `first` to `last` - 1 while the buffer has `room` bytes for one more.

    `ends` receives the position after each event. Returns the number of events written.
    """
    longest = t[t[AT_LENGTHS] + LENGTH_STEPS] // 256 + TITLE_WORDS[1]
    work = (
        np.empty(MOST_TOPICS + 1, dtype=np.int64),
        np.empty(longest, dtype=np.int64),
        np.empty(longest, dtype=np.uint8),
    )
    at = 0
    for n in range(first, last):
        if at + room > len(buffer):
            return n - first
        # Each event starts from its own number, so it does not depend on earlier events.
        at = put_event(mix(mix(np.uint64(seed)) + np.uint64(n)), buffer, at, t, chars, n, work)
        ends[n - first] = at
    return last - first
