"""Specs: what is written is what is built, and what is wrong is said."""

from __future__ import annotations

import re

import pytest

from learners.options import OptionError
from learners.prototypes.mmp import MMP
from learners.specs import parse_spec, resolved, split_options


def test_name_is_the_spec_as_written() -> None:
    assert parse_spec("mmp:loss=2,margin=0.50").name == "mmp:loss=2,margin=0.50"
    assert parse_spec("perceptron").name == "perceptron"
    assert parse_spec("perceptron:name=p").name == "p"


def test_options_reach_the_learner() -> None:
    learner = parse_spec("mmp:loss=3,margin=0.25,average=true").build()
    assert isinstance(learner, MMP)
    assert (learner.loss, learner.margin, learner.average) == (3, 0.25, True)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nnp", "There is no learner 'nnp'. Known: arow, committee, feature-focus"),
        ("", "There is no learner ''"),
        ("mmp:loss=0", "must be one of 1, 2, 3. Got '0'"),
        ("mmp:loss=one", "must be one of 1, 2, 3. Got 'one'"),
        ("mmp:margin=-1", "must be a number from 0. Got '-1'"),
        ("mmp:margin=nan", "must be a number from 0. Got 'nan'"),
        ("mmp:margin=inf", "must be a number from 0"),
        ("mmp:average=yes", "must be true or false. Got 'yes'"),
        ("mmp:average", "The 'average' option of mmp needs a value, average=...: "),
        ("mmp:avrage", "has no option 'avrage'. Write key=value, with: loss, margin, average"),
        ("soft-arow:assign", "The 'assign' option of soft-arow needs a value, assign=...: "),
        ("mmp:los=1", "has no option 'los'"),
        ("mmp:loss=1,loss=2", "has the option 'loss' twice"),
        ("mmp:norm=l1", "must be one of none, l2"),
        ("perceptron:loss=1", "has no option 'loss'"),
        ("rocchio:refresh=0", "must be a whole number from 1"),
        ("mmp:name=", "must be a word"),
    ],
)
def test_mistakes_are_explained(spec: str, message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        parse_spec(spec)


def test_commas_outside_of_brackets_divide() -> None:
    for text in ("", "a", ",", "a,b", "of=[a,b],c", "a],b", "[a,b", "a[,]b,c", "],[,],["):
        assert split_options(text) == re.split(r",(?![^\[]*\])", text)


def test_a_long_spec_is_refused_and_not_searched_for_minutes() -> None:
    for text in ("mmp:" + "," * 1_000_000 + "x", "mmp:" + "[," * 500_000):
        with pytest.raises(OptionError, match="has no option"):
            parse_spec(text)


def test_a_stacker_of_more_names_than_lanes_is_refused() -> None:
    """However many names there are: they are not looked up one inside the other."""
    specs = [parse_spec("mmp"), parse_spec(f"svm-map:of=[{'mmp,' * 5000}mmp]")]
    with pytest.raises(OptionError, match="must list different topic lanes"):
        resolved(specs)
