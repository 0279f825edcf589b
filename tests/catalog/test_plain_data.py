"""What a bare scalar means, and that every meaning survives JSON."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.catalog.plain_data import bare_scalar, kind_of


@given(st.text(alphabet="0123456789+-.eExoabnultrfs~", max_size=25))
def test_a_scalar_is_plain_or_refused_and_survives_json(text):
    try:
        value = bare_scalar(text)
    except ValueError:
        return
    assert msgspec.json.decode(msgspec.json.encode(value)) == value
    assert json.loads(json.dumps(value, allow_nan=False)) == value


@given(st.integers(-(2**63), 2**64 - 1))
def test_whole_numbers_of_64_bits_are_kept(number):
    assert bare_scalar(str(number)) == number


@pytest.mark.parametrize("text", [str(2**64), str(-(2**63) - 1), "0x" + "f" * 17, "-1e400"])
def test_larger_numbers_are_refused(text):
    with pytest.raises(ValueError, match="beyond"):
        bare_scalar(text)


def test_kinds_have_names_for_people():
    kinds = [kind_of(value) for value in (None, True, 1, 1.5, "x", [], {})]
    assert len(set(kinds)) == 7
    assert kind_of(True) == "true or false", "not a number, though Python says so"
