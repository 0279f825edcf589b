"""Where weights come from, as bundle and board say."""

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.incoming import incoming_folder
from speccompose.device.paths import Roots
from speccompose.device.release_file import board_token, hub_of

DIGEST = "sha256:" + "1" * 64


@pytest.fixture
def file(tmp_path):
    folder = incoming_folder("tiny", DIGEST, Roots(tmp_path))
    folder.mkdir(parents=True)
    return folder / "release.json"


def test_a_site_mirror_is_taken(tmp_path, file):
    assert hub_of("tiny", DIGEST, Roots(tmp_path)) is None
    file.write_text('{"counter": 1, "hub": "http://mirror.site:8080"}')
    assert hub_of("tiny", DIGEST, Roots(tmp_path)) == "http://mirror.site:8080"
    assert hub_of("tiny", None, Roots(tmp_path)) is None


@pytest.mark.parametrize("text", ["{", "[]", '{"hub": 7}', '{"hub": "file:///etc"}'])
def test_what_names_no_hub_is_status_3(tmp_path, file, text):
    file.write_text(text)
    with pytest.raises(DeviceError) as caught:
        hub_of("tiny", DIGEST, Roots(tmp_path))
    assert caught.value.status == 3


def test_the_token_is_the_boards_own(tmp_path):
    assert board_token(tmp_path / "none") is None
    (tmp_path / "token").write_text("hf_x\n")
    assert board_token(tmp_path / "token") == "hf_x"
