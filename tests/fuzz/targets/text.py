"""Text of any Unicode: markup and the tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pipeline.slow.tokenizer import slow_terms
from pipeline.text.markup import text_of
from pipeline.text.terms import words_of
from pipeline.text.tokenizer import Tokenizer
from tests.fuzz.mutation import blown_up, mutate_text
from tests.fuzz.target import Broken, Target
from tests.fuzz.values import CHARACTERS, SURROGATES

TAGS = (
    "<p>", "</p>", "<br/>", "<script>", "</script", "<style>", "<!--", "-->", "<![CDATA[", "]]>",
    "<?xml ?>", "<!DOCTYPE", "<a href='", '<a b="', "</", "<", ">", "=", "&amp;", "&#x110000;",
    "&#55296;", "&#0;", "&" + "a" * 40 + ";", "&#" + "9" * 50 + ";", "&notit;", "<D>", "/>", "< ",
    "<textarea>", "<title>",
)  # fmt: skip


class TextTarget(Target):
    """Text; inputs are UTF-8 that may hold half characters."""

    words: tuple[str, ...] = CHARACTERS + SURROGATES

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        text = data.decode("utf-8", "surrogatepass")
        changed = mutate_text(rng, text, other.decode("utf-8", "surrogatepass"), self.words)
        return changed.encode("utf-8", "surrogatepass")

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        piece = "".join(rng.choice(self.words) for _ in range(1 + int(rng.random() * 3)))
        grown = blown_up(rng, piece.encode("utf-8", "replace"), self.largest)
        return data + grown.decode("utf-8", "replace").encode()

    def repair(self, data: bytes) -> bytes:
        return data.decode("utf-8", "replace").encode()


class Markup(TextTarget):
    """HTML and XML in news items: `pipeline/text/markup.py`."""

    name = "markup"
    words = CHARACTERS + SURROGATES + TAGS

    def seeds(self) -> Sequence[bytes]:
        return [
            b"<h1>Caf&eacute;</h1><p>It's <b>b</b>ig.<script>if (a < b) {}</script>",
            b"<?xml version='1.0'?><!DOCTYPE x><!-- c --><![CDATA[a<b]]><a href='x>y'>z</a>",
            b"a &lt; b &#65; &#x42; &unknown; &amp",
        ]

    def run(self, data: bytes) -> str:
        text = data.decode("utf-8", "surrogatepass")
        words = text_of(text)
        if "  " in words or words != words.strip():
            raise Broken("blanks are left over")
        if len(words) > 2 * len(text):
            raise Broken(f"{len(text)} characters became {len(words)}")
        return f"{len(words).bit_length()} {len(text).bit_length()} {text.count('<') > 3}"


PROFILES = (
    "reuters2000",
    "reuters21578",
    "reuters2000:fold=compatibility,unspaced=1-2,letters=2-4",
    "reuters21578:fold=accents,unspaced=2-3",
)


class TokenizerTarget(TextTarget):
    """Text as terms, compared with the plain twin: `pipeline/text/tokenizer.py`."""

    name = "tokenizer"
    share = 0.3
    passes = len(PROFILES)
    kernels = True
    longest_twin = 2_000  # characters; the twin is slow

    def __init__(self) -> None:
        self._tokenizers = {profile: Tokenizer(profile) for profile in PROFILES}

    def seeds(self) -> Sequence[bytes]:
        texts = (
            "U.S. oil-price 3.5%, the Stra\u00dfe \u0130stanbul A\u030angstro\u0308m",
            "\u0939\u093f\u0928\u094d\u0926\u0940 \u65e5\u672c \ud55c\uad6d \u03a3\u03af\u03c3",
            "a\u0315\u0300\u05ae b\u0300" * 20,
            "plain words only, plain words",
        )
        return [text.encode() for text in texts]

    def run(self, data: bytes) -> str:
        text = data.decode("utf-8", "surrogatepass")
        shape = ""
        for profile, tokenizer in self._tokenizers.items():
            counts = tokenizer.count([text])
            words = words_of(counts.table)
            found = {words[t]: n for t, n in zip(counts.terms, counts.values, strict=True)}
            if len(text) <= self.longest_twin:
                expected = slow_terms(text.encode("utf-8", "replace").decode(), profile)
                if found != expected:
                    raise Broken(f"{profile}: the kernel and its twin find different terms")
            shape += f" {len(found).bit_length()} {int(sum(found.values())).bit_length()}"
        return shape
