"""A wide bind without a key is refused; with one, the open routes are named."""

import pytest

from speccompose.errors import UsageError
from speccompose.plan.exposure import check_exposure, exposure_findings
from speccompose.vocab.request import StackRequest


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", "192.168.1.20", "fe80::1"])
def test_wide_bind_needs_a_key(bind):
    with pytest.raises(UsageError) as refused:
        check_exposure(StackRequest(model="m", bind=bind))
    assert refused.value.status == 2
    assert "--api-key-file" in refused.value.hint


@pytest.mark.parametrize("bind", ["127.0.0.1", "127.0.0.53", "::1"])
def test_loopback_needs_none(bind):
    check_exposure(StackRequest(model="m", bind=bind))


def test_a_name_is_no_address():
    with pytest.raises(UsageError, match="not an IP address"):
        check_exposure(StackRequest(model="m", bind="localhost"))


def test_key_or_insecure_lets_it_pass():
    check_exposure(StackRequest(model="m", bind="0.0.0.0", api_key_file="/k"))
    check_exposure(StackRequest(model="m", bind="0.0.0.0", insecure=True))


def test_open_routes_are_named_with_a_key(catalog):
    request = StackRequest(model="m", bind="0.0.0.0", api_key_file="/k")
    (found,) = exposure_findings(request, catalog.engines["vllm"])
    assert found.code == "unguarded_routes"
    assert "/metrics" in found.message


def test_insecure_is_a_warning(catalog):
    request = StackRequest(model="m", bind="0.0.0.0", insecure=True)
    (found,) = exposure_findings(request, catalog.engines["llama.cpp"])
    assert found.code == "insecure_bind"


def test_loopback_says_nothing(catalog):
    assert exposure_findings(StackRequest(model="m"), catalog.engines["vllm"]) == ()
