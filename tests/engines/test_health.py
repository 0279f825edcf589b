"""The health check asks with the image's tool, on the server's port, past proxies."""

import ast

import pytest

from speccompose.engines.health import health_command, probe_address


@pytest.mark.parametrize(
    ("host", "asked"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("192.168.1.20", "192.168.1.20"),
        ("::", "[::1]"),
        ("fd00::5", "[fd00::5]"),
    ],
)
def test_a_wildcard_is_asked_on_loopback(host, asked):
    assert probe_address(host) == asked


def test_python_form_is_one_program():
    """H-02: images of vLLM have python3 and may lack curl."""
    command = health_command("python3", host="0.0.0.0", port=8123)
    assert command[:3] == ("CMD", "python3", "-c")
    assert len(command) == 4
    assert "http://127.0.0.1:8123/health" in command[3]
    ast.parse(command[3])


def test_python_form_fails_on_refusal_and_passes_on_200(tmp_path):
    import http.server
    import subprocess
    import sys
    import threading

    class Answer(http.server.BaseHTTPRequestHandler):
        status = 200

        def do_GET(self):
            self.send_response(self.status if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = health_command("python3", host="0.0.0.0", port=server.server_port)[3]
    proxied = {"http_proxy": "http://127.0.0.1:9", "PATH": "/usr/bin:/bin"}

    def ask() -> int:
        return subprocess.run(
            [sys.executable, "-c", program], env=proxied, capture_output=True, check=False
        ).returncode

    assert ask() == 0
    Answer.status = 503
    assert ask() != 0
    server.shutdown()
    server.server_close()
    assert ask() != 0


def test_curl_form():
    command = health_command("curl", host="127.0.0.1", port=8080)
    assert command[:2] == ("CMD", "curl")
    assert "-fsS" in command
    assert command[-1] == "http://127.0.0.1:8080/health"
    assert command[command.index("--noproxy") + 1] == "*"
