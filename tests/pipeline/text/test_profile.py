"""Tests of pipeline/text/profile.py: what is written, what is stored, and what is refused."""

from __future__ import annotations

import pytest

from pipeline.commands.completion import complete_profile
from pipeline.errors import UsageError
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.profile import (
    INGREDIENTS,
    MAX_PROFILE_CHARACTERS,
    PROFILES,
    canonical_profile,
    parse_profile,
)

SAME = [
    ("reuters2000", "reuters2000"),
    (" reuters2000 ", "reuters2000"),
    ("reuters2000:", "reuters2000"),
    ("reuters2000:slope=0.3,words=1", "reuters2000"),
    ("reuters2000:stem=de", "reuters2000:stem=german"),
    ("reuters2000:stem=German, letters=03-5", "reuters2000:stem=german,letters=3-5"),
    ("reuters2000:letters=4-4", "reuters2000:letters=4"),
    ("reuters2000:norm=l2,pivot=120.0,min_df=2", "reuters2000:pivot=120,norm=l2,min_df=2"),
    ("reuters2000:stop_words=en", "reuters2000:stop_words=english"),
    ("reuters2000:stem=porter", "reuters2000:stem=porter"),
]


@pytest.mark.parametrize(("written", "stored"), SAME)
def test_one_profile_has_one_name(written: str, stored: str) -> None:
    profile = parse_profile(written)
    assert profile.name == stored
    assert parse_profile(stored) == profile


WRONG = [
    ("", "There is no profile ''"),
    ("nws", "Did you mean news?"),
    ("news:stemm=de", "has no ingredient 'stemm=de'"),
    ("news:stem", "Ingredient 'stem' of profile news needs a value, stem=...: "),
    ("news:stemm", "Write key=value"),
    ("news:stem=klingon", "must be none, auto, or a language of Snowball"),
    ("news:stop_words=lao", "must be none, auto, papers, or a language with a list"),
    ("news:letters=0-3", "with lengths from 1 to 8"),
    ("news:letters=5-3", "with lengths from 1 to 8"),
    ("news:letters=²", "with lengths from 1 to 8"),
    ("news:unspaced=x", "with lengths from 1 to 8"),
    ("news:words=4", "'words' option of profile news must be a whole number from 1 up to 3"),
    ("news:slope=nan", "'slope' option"),
    ("news:slope=0.1,slope=0.2", "has 'slope' twice"),
    ("news:" + "x" * MAX_PROFILE_CHARACTERS, "at most 300 characters"),
]


@pytest.mark.parametrize(("written", "message"), WRONG)
def test_a_profile_that_does_not_exist_is_refused(written: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_profile(written)
    assert message in str(refused.value)


def test_named_profiles_name_only_what_they_change() -> None:
    usual = {option.name: option.default for option in INGREDIENTS}
    for name, ingredients in PROFILES.items():
        assert canonical_profile(name) == name
        assert all(value != usual[key] for key, value in ingredients.items())
        written = ",".join(f"{key}={value}" for key, value in ingredients.items())
        assert canonical_profile(f"{name}:{written}") == name


def test_the_papers_have_the_weights_of_the_papers() -> None:
    for name in ("reuters2000", "reuters21578"):
        assert FeatureSettings.of(parse_profile(name)) == FeatureSettings()


def test_settings_go_before_the_profile() -> None:
    profile = parse_profile("reuters2000:min_df=3,slope=0.1,pivot=50,norm=l2")
    assert FeatureSettings.of(profile) == FeatureSettings(1 << 17, 3, 0.1, 50.0, "l2")
    assert FeatureSettings.of(profile, 100, 1) == FeatureSettings(100, 1, 0.1, 50.0, "l2")


def test_the_shell_completes_names_ingredients_and_choices() -> None:
    assert complete_profile("reuters2") == ["reuters2000", "reuters21578"]
    assert "news:letters=" in complete_profile("news:")
    assert complete_profile("news:stem=de,no") == ["news:stem=de,norm="]
    assert complete_profile("news:title=t") == [
        "news:title=text",
        "news:title=twice",
        "news:title=terms",
    ]
