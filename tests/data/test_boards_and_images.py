"""Boards against images and releases: the table of rules section 2 must follow from the data."""

import re

import pytest

from speccompose.vocab.catalog import Catalog
from speccompose.vocab.device import DeviceProfile
from speccompose.vocab.image import ImageEntry
from speccompose.vocab.versions import version_key, within

RULE_DEFAULTS = [
    ("thor", "38.2.0", "vllm-upstream", "llamacpp-iot-cu13"),
    ("thor", "39.2.1", "vllm-upstream", "llamacpp-iot-cu13"),
    ("thor", None, "vllm-upstream", "llamacpp-iot-cu13"),
    ("agx-orin", "39.2.0", "vllm-upstream", "llamacpp-iot-cu13"),
    ("orin-nx", "39.2.0", "vllm-upstream", "llamacpp-iot-cu13"),
    ("orin-nano", "39.2.1", "vllm-upstream", "llamacpp-iot-cu13"),
    ("agx-orin", "40.0.0", "vllm-upstream", "llamacpp-iot-cu13"),
    ("agx-orin", "36.4.0", "vllm-iot-r36", "llamacpp-iot-r36"),
    ("orin-nx", "36.4.7", "vllm-iot-r36", "llamacpp-iot-r36"),
    ("orin-nano", "36.5.2", "vllm-iot-r36", "llamacpp-iot-r36"),
    ("agx-orin", "36.3.0", None, None),
    ("agx-orin", None, None, None),
    ("agx-orin", "38.2.0", None, None),
    ("thor", "36.4.3", None, None),
    ("dgx-spark", None, "vllm-upstream", "llamacpp-upstream"),
    ("generic", None, None, "llamacpp-cpu"),
    ("xavier", "35.4.1", None, None),
]
"""Table of rules section 2: family, L4T, best vLLM image, best llama.cpp image."""


def _runs(image: ImageEntry, family: str, l4t: str | None, *, automatic: bool = True) -> bool:
    """Whether any placement of the image covers the family and release."""
    return any(
        family in place.families
        and (place.automatic or not automatic)
        and (
            place.unknown_l4t
            if l4t is None
            else (place.l4t_since is not None and within(l4t, place.l4t_since, place.l4t_below))
        )
        for place in image.runs_on
    )


def _best(catalog: Catalog, engine: str, family: str, l4t: str | None) -> str | None:
    fitting = [
        image
        for image in catalog.images.values()
        if image.engine == engine
        and _runs(image, family, l4t)
        and any(build.automatic and not build.floating for build in image.builds)
    ]
    return min(fitting, key=lambda image: image.rank).id if fitting else None


def _supported(catalog: Catalog) -> list[DeviceProfile]:
    return [device for device in catalog.devices.values() if device.supported]


@pytest.mark.parametrize(("family", "l4t", "vllm", "llama_cpp"), RULE_DEFAULTS)
def test_best_image_is_that_of_the_rules(
    catalog: Catalog, family: str, l4t: str | None, vllm: str | None, llama_cpp: str | None
) -> None:
    assert _best(catalog, "vllm", family, l4t) == vllm
    assert _best(catalog, "llama.cpp", family, l4t) == llama_cpp


def test_every_supported_device_has_an_image_on_its_newest_release(catalog: Catalog) -> None:
    for device in _supported(catalog):
        rows = [row.l4t for row in catalog.releases if device.family in row.families]
        newest = rows[-1] if rows else None
        assert any(
            _runs(image, device.family, newest) and device.architecture in image.architectures
            for image in catalog.images.values()
        ), device.id


def test_placements_name_families_that_a_supported_device_has(catalog: Catalog) -> None:
    families = {device.family for device in _supported(catalog)}
    for image in catalog.images.values():
        assert image.runs_on, image.id
        for place in image.runs_on:
            assert set(place.families) <= families, image.id
            assert place.families, image.id
            bounded = place.l4t_since is not None or place.unknown_l4t
            assert bounded, image.id
        for build in image.builds:
            placed = {family for place in image.runs_on for family in place.families}
            assert set(build.evidence_on) <= placed, image.id


def test_orin_images_never_name_thor(catalog: Catalog) -> None:
    marks = re.compile(r"r3[2-6]|jetson-orin|igpu|cu12[69]")
    for image in catalog.images.values():
        if any(marks.search(build.reference) for build in image.builds):
            families = {family for place in image.runs_on for family in place.families}
            assert families <= {"agx-orin", "orin-nx", "orin-nano"}, image.id


def test_r36_images_on_l4t_39_are_for_those_who_ask(catalog: Catalog) -> None:
    image = catalog.images["vllm-iot-r36"]
    for family in ("agx-orin", "orin-nx", "orin-nano"):
        assert not _runs(image, family, "39.2.0")
        assert _runs(image, family, "39.2.0", automatic=False)
        assert not _runs(image, family, "40.0.0", automatic=False)


def test_images_need_no_newer_cuda_than_their_boards_have(catalog: Catalog) -> None:
    for image in catalog.images.values():
        if image.cuda is None or image.id == "vllm-ngc":  # ngc: by --image only, the rule refuses
            continue
        for place in image.runs_on:
            rows = [
                row
                for row in catalog.releases
                if set(row.families) & set(place.families)
                and place.l4t_since is not None
                and within(row.l4t, place.l4t_since, place.l4t_below)
            ]
            for row in rows:
                assert row.cuda is not None
                assert version_key(image.cuda) <= version_key(row.cuda), (image.id, row.l4t)


def test_images_hold_code_for_the_boards_they_run_on(catalog: Catalog) -> None:
    """8.0 code does not run on 8.7 (GH vllm-project/vllm#19328); GB10 alone takes a lower minor."""
    for image in catalog.images.values():
        for place in image.runs_on:
            for device in _supported(catalog):
                capability = catalog.socs[device.soc].compute_capability
                if device.family not in place.families or capability is None:
                    continue
                accepted = {capability, "12.0"} if device.family == "dgx-spark" else {capability}
                assert accepted & set(image.gpu_targets), (image.id, device.id)


def test_every_fact_is_dated_and_names_no_private_place(catalog: Catalog) -> None:
    sources = [row.source for row in catalog.releases]
    sources += [soc.source for soc in catalog.socs.values()]
    for device in catalog.devices.values():
        sources += [device.source, device.memory.source if device.memory else "rule"]
    for image in catalog.images.values():
        sources += [image.source, *(place.source for place in image.runs_on)]
        sources += [build.source for build in image.builds]
    for source in sources:
        assert len(source) >= 3
        assert not re.search(r"/(?:work|tmp)/|localhost|\bIX \d", source), source
