"""The real reader: what must be true of any Linux, and that nothing raises."""

import http.server
import os
import threading

import pytest

from speccompose.device.host_reader import HostReader

READ = HostReader()


def test_absent_things_are_none(tmp_path):
    gone = str(tmp_path / "gone")
    assert READ.text(gone) is None
    assert READ.text(str(tmp_path)) is None
    assert READ.names(gone) is None
    assert READ.modified_s(gone) is None
    assert READ.lines_with(gone, ("x",)) is None
    assert READ.read_rate_mib_s(gone) is None
    assert READ.large_file(gone) is None
    assert not READ.exists(gone)
    for path in ("\0", ""):
        assert READ.text(path) is None


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert READ.text(str(tmp_path / "pipe")) is None


def test_texts_names_and_lines(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"one\ntwo \xff\n")
    assert READ.text(str(file)) == "one\ntwo \ufffd\n"
    assert READ.text(str(file), 3) is None
    assert READ.lines_with(str(file), ("two",)) == "two \ufffd\n"
    assert READ.names(str(tmp_path)) == ("a",)


def test_a_disk_is_told_for_a_folder_that_is_not_there_yet(tmp_path):
    here, later = READ.disk(str(tmp_path)), READ.disk(str(tmp_path / "x" / "y"))
    assert here.total_mib == later.total_mib > 0
    assert 0 <= here.free_mib <= here.total_mib
    assert READ.writable(str(tmp_path / "x")) is True


def test_a_program_that_is_missing_is_an_answer():
    assert READ.run(("no-such-program-at-all",), 5.0).returncode == 127
    assert READ.run(("true",), 5.0).returncode == 0


def test_the_host_itself():
    assert READ.user_id() == os.geteuid()
    assert READ.host_name()
    assert READ.wall_clock_s() > 1_700_000_000
    assert READ.conditions() is not None


def test_a_large_file_is_found_and_timed(tmp_path):
    folder = tmp_path / "org--model"
    folder.mkdir()
    (folder / "small").write_bytes(b"x")
    assert READ.large_file(str(tmp_path)) is None
    with (folder / "big").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    assert READ.large_file(str(tmp_path)) == str(folder / "big")
    assert READ.read_rate_mib_s(str(folder / "big")) > 0
    assert READ.read_rate_mib_s(str(folder / "small")) is None


@pytest.fixture
def site():
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(401)
            self.end_headers()

        def log_message(self, *words):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v2/"
    server.shutdown()
    server.server_close()


def test_any_answer_is_an_answer_and_tells_its_clock(site):
    found = READ.reach(site, 5.0)
    assert found.fault is None
    assert abs(found.date_s - READ.wall_clock_s()) < 3600


def test_nobody_there():
    for url in ("http://127.0.0.1:1/", "http://[::1", "nonsense", "http://x.invalid/"):
        assert READ.reach(url, 2.0).fault
