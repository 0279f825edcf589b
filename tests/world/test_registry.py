"""A tag becomes the digest and id of one platform; a registry that lies is not believed."""

import pytest

from speccompose.errors import MismatchError, SourceUnreachableError
from speccompose.world.registry import place_of, resolve_image
from tests.world.registry_stub import RegistryStub


@pytest.fixture
def registry():
    stub = RegistryStub()
    yield stub
    stub.shutdown()


def test_a_tag_of_two_platforms(registry):
    for architecture in ("arm64", "amd64"):
        found = resolve_image(f"{registry.host}/a/b:v1", architecture)
        assert found.image_id == registry.ids[architecture]
        assert found.architecture == architecture
        assert found.digest in registry.manifests
    assert registry.asked[0] == "/v2/a/b/manifests/v1"


def test_a_tag_of_one_image(registry):
    assert resolve_image(f"{registry.host}/a:single", "arm64").digest == registry.arm64


def test_a_digest_is_resolved_to_its_platform(registry):
    index = next(k for k, (kind, _) in registry.manifests.items() if k != "v1" and "index" in kind)
    found = resolve_image(f"{registry.host}/a:v1@{index}", "arm64")
    assert found.digest == registry.arm64


@pytest.mark.parametrize(
    ("tag", "fault", "code"),
    [
        ("amd-only", "", "no_such_platform"),
        ("none", "", "registry_refused"),
        ("broken", "", "registry_unusable"),
        ("text", "", "registry_unusable"),
        ("v1", "401", "registry_refused"),
        ("v1", "500", "registry_refused"),
    ],
)
def test_what_a_registry_does_not_give_is_status_18(registry, tag, fault, code):
    registry.fault = fault
    with pytest.raises(SourceUnreachableError) as caught:
        resolve_image(f"{registry.host}/a/b:{tag}", "arm64")
    assert (caught.value.status, caught.value.code) == (18, code)


def test_a_registry_that_sends_another_manifest_is_status_19(registry):
    registry.fault = "lie"
    with pytest.raises(MismatchError) as caught:
        resolve_image(f"{registry.host}/a/b:v1", "arm64")
    assert caught.value.status == 19
    assert registry.arm64 in caught.value.details[0]


def test_a_registry_that_is_not_there_is_status_18():
    with pytest.raises(SourceUnreachableError) as caught:
        resolve_image("127.0.0.1:9/a/b:v1", "arm64")
    assert caught.value.code == "registry_unreachable"


@pytest.mark.parametrize(
    ("reference", "base", "name", "what"),
    [
        ("vllm/vllm-openai:v1", "https://registry-1.docker.io", "vllm/vllm-openai", "v1"),
        ("debian", "https://registry-1.docker.io", "library/debian", "latest"),
        ("nvcr.io/a/b:1@sha256:2", "https://nvcr.io", "a/b", "sha256:2"),
        ("localhost:5000/x:y", "http://localhost:5000", "x", "y"),
        ("mirror.site:5000/x", "https://mirror.site:5000", "x", "latest"),
    ],
)
def test_where_a_reference_is_asked_for(reference, base, name, what):
    place = place_of(reference)
    assert (place.base, place.name, place.reference) == (base, name, what)
