"""Kept runs become one point: means, medians, pooled acceptance."""

import pytest

from speccompose.device.depth_bench import DepthRuns
from speccompose.errors import DataError
from speccompose.measure.depth_points import point_of, speed_of, unmeasured
from tests.measure.curves import S_01


def test_a_point_has_every_level_and_the_users_acceptance():
    noise = iter([1.0, 1.1, 0.9, 1.0, 1.1, 0.9])
    point = point_of(S_01.runs(4, lambda: next(noise)), 1)
    alone, loaded = point.levels
    assert (alone.concurrency, loaded.concurrency) == (1, 8)
    assert alone.output_tokens_s == pytest.approx(55.6, abs=0.01)
    assert alone.mean_accepted_length == pytest.approx(3.099)
    assert point.acceptance_by_position == (0.844, 0.599, 0.385, 0.271)
    assert point.peak_memory_mib == 9400
    assert speed_of(point, 1).tokens_s == pytest.approx(55.6, abs=0.01)
    assert speed_of(point, 4) is None


def test_acceptance_is_pooled_over_the_drafts_and_never_rises():
    runs = S_01.runs(2).runs[:2]
    few = {**runs[0], "drafting": {**runs[0]["drafting"], "drafts": 100.0}}
    many = {
        **runs[1],
        "drafting": {
            "drafts": 300.0,
            "draft_tokens": 600.0,
            "accepted_tokens": 1.0,
            "acceptance_by_position": [0.4, 0.5, 0.0],
        },
    }
    point = point_of(DepthRuns(2, (few, many)), 1)
    assert point.acceptance_by_position == (0.511, 0.511)


def test_a_refusal_and_a_guess():
    point = point_of(DepthRuns(3, refused="no room"), 1)
    assert (point.measured, point.why, point.levels) == (False, "does not start: no room", ())
    assert unmeasured(3, 41.987, None).predicted_tokens_s == 41.99


def test_kept_runs_of_another_shape_are_told():
    with pytest.raises(DataError, match="depth 3") as caught:
        point_of(DepthRuns(3, ({"arm": "other"},), folder="/x"), 1)
    assert "--fresh" in caught.value.hint
