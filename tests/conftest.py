"""Fixtures for all tests: the shipped data and the catalog made of it."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from speccompose.catalog.load import load_catalog
from speccompose.vocab.catalog import Catalog

# The same examples every time: whoever lands a change must not stumble over another one's luck.
# HYPOTHESIS_PROFILE=default looks elsewhere.
settings.register_profile("steady", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# Who starts the tests in the background may have them ignore Ctrl-C, which some of them send.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The checkout: profiles/, images/ and compose/ lie here."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def catalog(
    data_root: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Catalog:
    """The shipped catalog; xdist's workers share one compiled form for the session."""
    base = tmp_path_factory.getbasetemp()
    session = base.parent if hasattr(request.config, "workerinput") else base
    return load_catalog(data_root, cache_dir=session / "catalog-cache")
