"""One service from short and long syntax, `extends`, lists and mappings."""

import pytest

from speccompose.lint.compose_file import read_compose
from speccompose.lint.service import read_services


def services(text: str):
    (file,) = read_compose(text, "f")
    return {service.name: service for service in read_services(file)}


def only(body: str):
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    return services(f"services:\n  a:\n    image: x\n{indented}")["a"]


@pytest.mark.parametrize(
    ("ports", "wanted"),
    [
        ('["8000:8080"]', (None, 8000, 8080)),
        ("[8000:8080]", (None, 8000, 8080)),
        ('["127.0.0.1:8000:8080/tcp"]', ("127.0.0.1", 8000, 8080)),
        ('["[::1]:8000:8080"]', ("::1", 8000, 8080)),
        ("[8080]", (None, None, 8080)),
        ('["8000-8010:8000-8010"]', (None, None, None)),
        ('["${P:-8000}:8080"]', (None, 8000, 8080)),
        ("[{target: 8080, published: '8000', host_ip: 127.0.0.1}]", ("127.0.0.1", 8000, 8080)),
    ],
)
def test_a_port(ports, wanted):
    (port,) = only(f"ports: {ports}").ports
    assert (port.host_ip, port.published, port.target) == wanted


@pytest.mark.parametrize("ports", ['["$P:8080"]', "[[1]]", "5", "{a: b}", "[null]"])
def test_a_port_that_nobody_can_tell_is_left_out(ports):
    assert only(f"ports: {ports}").ports == ()


@pytest.mark.parametrize(
    ("volumes", "wanted"),
    [
        ("[./m:/models:ro]", ("./m", "/models")),
        ("[hub:/root/.cache]", ("hub", "/root/.cache")),
        ("[/models]", (None, "/models")),
        ('["${DIR:-/srv}:/models"]', ("/srv", "/models")),
        ("[{type: bind, source: /srv, target: /models}]", ("/srv", "/models")),
        ("[{type: tmpfs, target: /tmp}]", (None, "/tmp")),
    ],
)
def test_a_volume(volumes, wanted):
    (volume,) = only(f"volumes: {volumes}").volumes
    assert (volume.source, volume.target, volume.known) == (*wanted, True)


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ("{A: b, C: 1, D: true, E: null}", [("A", "b"), ("C", "1"), ("D", "true"), ("E", None)]),
        ("[A=b, C=d=e, E, F=]", [("A", "b"), ("C", "d=e"), ("E", None), ("F", "")]),
        ("text", []),
        ("['=x', '', 3]", [("3", None)]),
    ],
)
def test_the_environment(environment, wanted):
    found = only(f"environment: {environment}").environment
    assert [(each.name, each.value) for each in found] == wanted


def test_lines_are_those_of_the_keys():
    service = only("environment:\n  A: b\nports:\n  - 1:1\nprivileged: true")
    assert service.environment[0].line == 5
    assert service.ports[0].line == 7
    assert service.key_line("privileged") == 8
    assert service.key_line("absent") == service.line == 2


@pytest.mark.parametrize("asked", ["base", "{service: base}"])
def test_extends_in_the_same_file(asked):
    found = services(
        f"services:\n  base:\n    image: x\n    runtime: nvidia\n  a:\n    extends: {asked}\n"
        "    command: [b]\n"
    )
    assert found["a"].text("runtime") == "nvidia"
    assert found["a"].key_line("runtime") == 4
    assert found["a"].whole


@pytest.mark.parametrize(
    "body",
    ["extends: {file: other.yaml, service: x}", "extends: nothing", "extends: a", "extends: [a]"],
)
def test_what_comes_from_elsewhere_is_not_whole(body):
    found = services(f"services:\n  a:\n    image: x\n    {body}\n")
    assert found["a"].whole is (body == "extends: nothing")


def test_services_that_extend_each_other_end():
    found = services("services:\n  a: {extends: b, image: x}\n  b: {extends: a}\n")
    assert not found["a"].whole


def test_a_chain_of_services_without_end_is_left():
    links = "".join(f"  s{n}: {{extends: s{n + 1}, image: x}}\n" for n in range(2000))
    assert not services(f"services:\n{links}")["s0"].whole


@pytest.mark.parametrize("value", ["true", "yes", "on", '"true"', "${X:-true}"])
def test_a_switch_that_is_on(value):
    assert only(f"privileged: {value}").is_on("privileged")


@pytest.mark.parametrize("value", ["false", "no", "null", "${X}", "[true]"])
def test_a_switch_that_is_off_or_unknown(value):
    assert not only(f"privileged: {value}").is_on("privileged")
