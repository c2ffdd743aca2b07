"""The instances of a kernel model are never more than its budget, also after a restore."""

from __future__ import annotations

import pytest

from learners.specs import parse_spec
from tests.learners.test_twins import follow
from tests.support.random_streams import random_stream


@pytest.mark.parametrize("average", ["true", "false"])
def test_a_state_with_more_instances_than_the_budget_is_refused(average: str) -> None:
    """Each round removes at most one, so too many would stay for ever."""
    large = parse_spec(f"mmp:kernel=poly2,average={average},budget=9").build()
    follow(large, random_stream(3), [])
    small = parse_spec(f"mmp:kernel=poly2,average={average},budget=4").build()
    with pytest.raises(ValueError, match="has 9 instances, more than 4"):
        small.restore(large.state())
