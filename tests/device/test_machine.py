"""The real machine: only what must be true of any Linux."""

import os
import socket
from pathlib import Path

from speccompose.device.machine import Machine


def test_memory_and_disk_are_read_in_mib():
    memory = Machine().memory_mib()
    assert 0 < memory["MemAvailable"] <= memory["MemTotal"] < 100_000_000
    free = Machine().free_disk_mib(Path("/tmp/not/there/yet"))
    assert abs(free - Machine().free_disk_mib(Path("/tmp"))) < 1024


def test_a_taken_port_and_its_holder_are_seen():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert "in use" in Machine().bind_fault("127.0.0.1", port)
        assert "in use" in Machine().bind_fault("0.0.0.0", port)
        assert Machine().port_holder(port).endswith(f"(process {os.getpid()})")
    assert Machine().bind_fault("127.0.0.1", port) is None
    assert Machine().port_holder(port) is None


def test_an_address_of_another_machine():
    assert "no address of this machine" in Machine().bind_fault("192.0.2.1", 8080)


def test_a_port_just_given_up_counts_as_free():
    with socket.socket() as server, socket.socket() as client:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as every server does
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        client.connect(("127.0.0.1", port))
        other, _ = server.accept()
        other.close()  # this side closes first: the port goes through TIME_WAIT
    assert Machine().bind_fault("127.0.0.1", port) is None


def test_the_rest_is_what_the_kernel_says():
    machine = Machine()
    assert machine.architecture() == os.uname().machine
    assert machine.kernel() == os.uname().release
    assert isinstance(machine.has_raw_table(), bool)
    before = machine.now_s()
    machine.sleep(0.01)
    assert machine.now_s() - before >= 0.01
