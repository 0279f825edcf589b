"""Which build of an image is taken, and what evidence it rests on."""

import msgspec
import pytest

from speccompose.plan.builds import Kin, Need, PickedBuild, kin_of, needs_of, pick_build
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.finding import Rejection
from speccompose.vocab.image import Build, ImageEntry
from speccompose.vocab.model import Checkpoint, Pairing
from speccompose.vocab.request import StackRequest
from tests.plan.image_cases import CHECKED, board, checkpoint, model

NVFP4 = checkpoint("nvfp4")


def build(version: str, *evidence_on: str, **more: object) -> Build:
    plain = Build(
        version=version,
        version_evidence="seen",
        reference=f"vllm/vllm-openai:v{version}",
        methods=("mtp", "ngram"),
        source="a test",
        checked=CHECKED,
    )
    return msgspec.structs.replace(plain, evidence_on=evidence_on, **more)


def image(catalog: Catalog, *builds: Build) -> ImageEntry:
    return msgspec.structs.replace(catalog.images["vllm-upstream"], builds=builds)


def pick(
    catalog: Catalog,
    device_id: str,
    entry: ImageEntry,
    *,
    item: Checkpoint = NVFP4,
    needs: tuple[Need, ...] = (),
    by_name: bool = False,
) -> PickedBuild | Rejection:
    device = board(catalog, device_id, None if device_id == "dgx-spark" else "39.2.0")
    kin = kin_of(device, catalog)
    return pick_build(device, entry, item, needs=needs, kin=kin, by_name=by_name)


def version(picked: PickedBuild | Rejection) -> str:
    assert isinstance(picked, PickedBuild)
    return picked.build.version


def test_families_of_the_same_soc_are_nearer_than_other_jetsons(catalog: Catalog) -> None:
    kin = kin_of(board(catalog, "orin-nx-16gb", "39.2.0"), catalog)
    assert kin.same_soc == {"agx-orin", "orin-nx", "orin-nano"}
    assert "thor" in kin.jetson
    assert "dgx-spark" not in kin.jetson
    distances = [kin.distance(build("1.0", *on)) for on in (["orin-nx"], ["agx-orin"], ["thor"])]
    assert distances == [0, 1, 2]
    assert kin.distance(build("1.0", "dgx-spark")) == 3


@pytest.mark.parametrize(
    ("device", "taken"),
    [
        ("agx-thor-t5000", "0.27.1"),
        ("agx-orin-64gb", "0.26.0"),
        ("orin-nx-16gb", "0.26.0"),
        ("dgx-spark", "0.27.1"),
    ],
)
def test_the_newest_build_proved_nearest_is_the_default(
    catalog: Catalog, device: str, taken: str
) -> None:
    entry = image(
        catalog, build("0.9.0", "thor"), build("0.26.0", "agx-orin"), build("0.27.1", "thor"),
        build("0.31.0"),
    )  # fmt: skip
    assert version(pick(catalog, device, entry)) == taken


def test_versions_are_compared_as_numbers(catalog: Catalog) -> None:
    entry = image(catalog, build("0.9.0", "thor"), build("0.20.0", "thor"))
    assert version(pick(catalog, "agx-thor-t5000", entry)) == "0.20.0"


def test_a_checkpoint_raises_the_build_by_the_smallest_step(catalog: Catalog) -> None:
    entry = image(catalog, build("0.27.1", "thor"), build("0.29.0"), build("0.31.0"))
    late = checkpoint("nvfp4", min_engine={"vllm": "0.28", "llama.cpp": "b99999"})
    picked = pick(catalog, "agx-thor-t5000", entry, item=late)
    assert version(picked) == "0.29.0"
    assert isinstance(picked, PickedBuild)
    assert [item.code for item in picked.findings] == ["newer_than_evidence"]
    assert "0.27.1 is the default" in picked.decision.rule


def test_a_build_proved_on_a_relative_beats_an_unproved_one(catalog: Catalog) -> None:
    entry = image(catalog, build("0.27.1", "orin-nx"), build("0.29.0"), build("0.31.0", "thor"))
    late = checkpoint("nvfp4", min_engine={"vllm": "0.28"})
    assert version(pick(catalog, "orin-nx-16gb", entry, item=late)) == "0.31.0"


def test_a_version_that_no_build_has_is_refused_with_both_numbers(catalog: Catalog) -> None:
    entry = image(catalog, build("0.27.1", "thor"))
    late = checkpoint("nvfp4", min_engine={"vllm": "0.28"})
    refused = pick(catalog, "agx-thor-t5000", entry, item=late)
    assert isinstance(refused, Rejection)
    assert "needs 0.28 or newer, image has 0.27.1" in refused.reason


def test_a_named_method_takes_a_proved_build_that_offers_it(catalog: Catalog) -> None:
    entry = image(
        catalog,
        build("0.26.0", "thor", methods=("eagle3",)),
        build("0.27.1", "thor"),
        build("0.29.0", methods=("eagle3",)),
    )
    eagle = (Need(method="eagle3", paired=True),)
    assert version(pick(catalog, "agx-thor-t5000", entry, needs=eagle)) == "0.26.0"
    newer = (Need(method="eagle3", version="0.28", paired=True),)
    assert version(pick(catalog, "agx-thor-t5000", entry, needs=newer)) == "0.29.0"


@pytest.mark.parametrize(
    ("need", "fit"),
    [
        (Need(method="mtp", paired=True), 0),
        (Need(method="mtp"), 1),
        (Need(method="dflash", paired=True), 2),
        (Need(method="mtp", version="0.99", paired=True), 2),
    ],
)
def test_a_method_that_no_build_offers_keeps_the_default(
    catalog: Catalog, need: Need, fit: int
) -> None:
    entry = image(catalog, build("0.27.1", "thor"))
    picked = pick(catalog, "agx-thor-t5000", entry, needs=(need,))
    assert isinstance(picked, PickedBuild)
    assert (picked.build.version, picked.method_fit) == ("0.27.1", fit)


def test_a_build_that_is_not_automatic_is_taken_by_name_only(catalog: Catalog) -> None:
    entry = image(catalog, build("0.27.1", "thor"), build("0.31.0", "thor", automatic=False))
    assert version(pick(catalog, "agx-thor-t5000", entry)) == "0.27.1"
    assert version(pick(catalog, "agx-thor-t5000", entry, by_name=True)) == "0.31.0"


def test_an_unresolved_floating_build_is_taken_by_nobody(catalog: Catalog) -> None:
    waiting = build("0.27.1", "thor", floating=True, automatic=False)
    entry = image(catalog, waiting)
    for by_name in (False, True):
        refused = pick(catalog, "agx-thor-t5000", entry, by_name=by_name)
        assert isinstance(refused, Rejection)
        assert "by digest" in refused.reason
    locked = image(catalog, msgspec.structs.replace(waiting, digest="sha256:" + "1" * 64))
    assert version(pick(catalog, "agx-thor-t5000", locked, by_name=True)) == "0.27.1"


def test_a_floating_build_warns(catalog: Catalog) -> None:
    picked = pick(catalog, "agx-thor-t5000", image(catalog, build("1.0", "thor", floating=True)))
    assert isinstance(picked, PickedBuild)
    assert [item.code for item in picked.findings] == ["floating_tag"]


@pytest.mark.parametrize(
    ("options", "needs"),
    [
        ({}, ()),
        ({"method": "none"}, ()),
        ({"method": "dflash"}, (("dflash", "0.28", True),)),
        ({"draft": "lab/draft"}, (("dflash", "0.28", True),)),
        ({"draft": "lab/other"}, ()),
        ({"method": "ngram"}, (("ngram", None, False),)),
        ({"method": "mtp"}, (("mtp", None, True),)),
    ],
)
def test_what_method_and_draft_ask_of_the_engine(
    catalog: Catalog, options: dict[str, str], needs: tuple[tuple[str, str | None, bool], ...]
) -> None:
    pair = Pairing(
        method="dflash",
        draft="lab/draft",
        engines=("vllm",),
        targets=("lab/Model",),
        min_engine={"vllm": "0.28"},
        source="a test",
        checked=CHECKED,
    )
    item = checkpoint("nvfp4", has_mtp=True)
    request = msgspec.structs.replace(StackRequest(model="model"), **options)
    got = needs_of(request, model(item, pairings=(pair,)), item, engine="vllm", catalog=catalog)
    told = tuple((need.method, need.version, need.paired) for need in got)
    known = {"ngram", "mtp"}
    assert tuple((name, None if name in known else since, p) for name, since, p in told) == needs


def test_a_pair_for_another_checkpoint_is_no_pair(catalog: Catalog) -> None:
    pair = Pairing(
        method="dflash",
        draft="lab/draft",
        engines=("vllm",),
        targets=("lab/Model-AWQ",),
        source="a test",
        checked=CHECKED,
    )
    entry = model(NVFP4, pairings=(pair,))
    request = StackRequest(model="model", method="dflash")
    needs = needs_of(request, entry, NVFP4, engine="vllm", catalog=catalog)
    assert not any(need.paired for need in needs)


def test_heads_that_are_known_to_be_missing_are_no_pair(catalog: Catalog) -> None:
    pair = Pairing(method="mtp", engines=("vllm",), source="a test", checked=CHECKED)
    request = StackRequest(model="model", method="mtp")
    for has_mtp, paired in ((True, True), (None, True), (False, False)):
        item = checkpoint("nvfp4", has_mtp=has_mtp)
        entry = model(item, pairings=(pair,))
        needs = needs_of(request, entry, item, engine="vllm", catalog=catalog)
        assert [need.paired for need in needs] == [paired]


def test_kin_is_a_value() -> None:
    none: frozenset[str] = frozenset()
    assert Kin(own="thor", same_soc=none, jetson=none).distance(build("1.0")) == 3
