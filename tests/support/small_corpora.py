"""Corpora small enough for tests, in the layouts of the real ones; classes share many words."""

from __future__ import annotations

import random
from pathlib import Path

from tests.support.reuters_sgml import story, write_stories

GROUPS = ("rec.autos", "rec.sport.hockey", "sci.med", "sci.space")
POSTS = 12  # of each group
COMMON = [f"word{number}" for number in range(40)]


def some_words(rng: random.Random, own: str) -> str:
    words = [f"{own}{rng.randrange(12)}" for _ in range(rng.randrange(1, 4))]
    return " ".join(words + rng.choices(COMMON, k=9))


def letters(name: str) -> str:
    return "".join(character for character in name if character.isalpha())


def write_newsgroups(folder: Path) -> Path:
    rng = random.Random(1)
    for group in GROUPS:
        (folder / group).mkdir(parents=True)
        for number in range(POSTS):
            own = letters(group) if rng.random() < 0.7 else letters(rng.choice(GROUPS))
            text = (
                f"Newsgroups: {group}\nSubject: {some_words(rng, own)}\n\n{some_words(rng, own)}\n"
            )
            (folder / group / str(100 + number)).write_text(text)
    return folder


def write_reuters(folder: Path) -> Path:
    rng = random.Random(2)
    stories = []
    for number in range(40):
        labels = tuple(rng.sample(("earn", "grain", "ship"), rng.choice((1, 1, 2))))
        own = "".join(f"{some_words(rng, label)} " for label in labels)
        body = f"<TEXT><TITLE>{own}</TITLE><BODY>{some_words(rng, labels[0])}</BODY></TEXT>"
        stories.append(story(number + 1, labels=labels, text=body))
    stories.append(story(99, text="<TEXT><TITLE>t</TITLE><BODY>no topic</BODY></TEXT>"))
    return write_stories(folder, *stories)


def write_text(path: Path) -> Path:
    rng = random.Random(3)
    nouns, verbs = ("ship", "bank", "farmer", "dog"), ("sells", "buys", "loves")
    sentences = [
        f"The {rng.choice(nouns)} {rng.choice(verbs)} a {rng.choice(nouns)} and sleeps."
        for _ in range(60)
    ]
    path.write_text("\n".join([*sentences, "Alone.", f"{'x' * 300} is long, {'y' * 200} too."]))
    return path
