# ruff: noqa: RUF001 - letters of other scripts that look like Latin ones
"""Tests of the language of texts, their stems and their stop words."""

from __future__ import annotations

import pytest

from pipeline.text.frequent_words import TELLING_LETTERS
from pipeline.text.language import (
    CODES,
    LANGUAGES,
    READ_CHARACTERS,
    SHARED_SCRIPTS,
    language_name,
    language_of,
)
from pipeline.text.stemming import STEMMED, Stemmer
from pipeline.text.stop_words import listed, stop_words

TEXTS = {
    "english": "The committee has said that it will not change the price of wheat.",
    "german": "Der Ausschuss hat erklärt, dass er den Preis von Weizen nicht ändern wird.",
    "french": "Le comité a déclaré qu'il ne va pas changer le prix du blé dans les mois à venir.",
    "spanish": "El comité dijo que no va a cambiar el precio del trigo en los próximos meses.",
    "portuguese": "O comitê disse que não vai mudar o preço do trigo nos próximos meses.",
    "italian": "Il comitato ha detto che non cambierà il prezzo del grano nei prossimi mesi.",
    "dutch": "De commissie heeft gezegd dat zij de prijs van tarwe niet zal veranderen.",
    "swedish": "Kommittén har sagt att den inte ska ändra priset på vete under året.",
    "danish": "Udvalget har sagt, at det ikke vil ændre prisen på hvede efter jul.",
    "finnish": "Komitea on sanonut, että se ei muuta vehnän hintaa, mutta tilanne on vaikea.",
    "polish": "Komitet powiedział, że nie zmieni ceny pszenicy, która jest bardzo wysoka.",
    "czech": "Výbor řekl, že cenu pšenice nezmění, ale že je velmi vysoká.",
    "hungarian": "A bizottság azt mondta, hogy nem változtatja meg a búza árát.",
    "turkish": "Komite, buğday fiyatını değiştirmeyeceğini söyledi ve bu çok önemli bir karar.",
    "indonesian": "Panitia mengatakan bahwa harga gandum tidak akan diubah pada bulan ini.",
    "russian": "Комитет заявил, что не будет менять цену на пшеницу.",
    "ukrainian": "Комітет заявив, що не буде змінювати ціну на пшеницю.",
    "serbian": "Одбор је рекао да неће мењати цену пшенице која је висока.",
    "greek": "Η επιτροπή είπε ότι δεν θα αλλάξει την τιμή του σιταριού.",
    "arabic": "قالت اللجنة إنها لن تغير سعر القمح في هذا العام",
    "persian": "کمیته گفت که قیمت گندم را در این سال تغییر نمی دهد",
    "hebrew": "הוועדה אמרה כי לא תשנה את המחיר של החיטה",
    "hindi": "समिति ने कहा कि वह गेहूं की कीमत में बदलाव नहीं करेगी",
    "tamil": "கோதுமை விலையை மாற்ற மாட்டோம் என்று குழு கூறியது",
    "japanese": "委員会は小麦の価格を変えないと述べた",
    "chinese": "委员会表示不会改变小麦的价格",
    "korean": "위원회는 밀 가격을 바꾸지 않을 것이라고 말했다",
    "thai": "คณะกรรมการกล่าวว่าจะไม่เปลี่ยนราคาข้าวสาลี",
    "unknown": "12 % 34",
}  # fmt: skip


@pytest.mark.parametrize("language", TEXTS)
def test_a_sentence_tells_its_language(language: str) -> None:
    assert language_of(TEXTS[language]) == language


def test_only_the_beginning_is_read() -> None:
    text = TEXTS["german"].ljust(READ_CHARACTERS) + TEXTS["english"] * 50
    assert language_of(text) == "german"


def test_foreign_names_do_not_hide_a_language() -> None:
    assert language_of("Microsoft Windows のインストールに関する問題") == "japanese"
    assert language_of("Сервер Apache HTTP Server для Linux") == "russian"


def test_an_address_is_no_word_of_a_language() -> None:
    """Portuguese has the word `com`, too."""
    assert language_of("Refrigerator, 50 dollars. Contact: sales@example.com") == "english"


def test_every_language_of_the_tables_has_a_name() -> None:
    words = {language for script in SHARED_SCRIPTS.values() for language in script}
    letters = {name for names in TELLING_LETTERS.values() for name in names.split()}
    assert letters <= words <= LANGUAGES
    assert len(CODES) == len(LANGUAGES)
    assert set(STEMMED) <= LANGUAGES, "Snowball has a new language"


@pytest.mark.parametrize(
    ("written", "name"),
    [("DE", "german"), ("pt_BR", "portuguese"), ("zh-Hant-TW", "chinese"), ("nb", "norwegian"),
     (" English ", "english"), ("", None), ("x", None), ("-", None)],
)  # fmt: skip
def test_languages_have_names_and_tags(written: str, name: str | None) -> None:
    assert language_name(written) == name


@pytest.mark.parametrize("language", STEMMED)
def test_every_stemmer_takes_any_text(language: str) -> None:
    words = ["", "a", "ß", "prices", "цены", "小麦", "e\u0301", "x" * 255, "\x00", "𝒳"]
    stems = Stemmer(language).stems(words)
    assert len(stems) == len(words)
    assert all(bool(stem) == bool(word) for stem, word in zip(stems, words, strict=True))


def test_languages_without_a_stemmer_keep_their_words() -> None:
    assert Stemmer("unknown").stems(["prices", "rose"]) == ["prices", "rose"]


def test_stop_words_are_lower_case_words_of_their_language() -> None:
    assert {"the", "of", "and"} <= stop_words("english")
    assert {"der", "die", "und"} <= stop_words("german")
    assert "wheat" not in stop_words("english")
    assert stop_words("de") == stop_words("german")
    for language in listed():
        assert all(word == word.lower() for word in stop_words(language))
