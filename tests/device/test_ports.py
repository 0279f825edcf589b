"""The world in one argument."""

from speccompose.device.ports import Progress, connect, real_ports, silent


def test_a_plan_is_reached_where_it_listens(board):
    server = connect(board.plan()._replace(bind="0.0.0.0", port=9), None)
    assert server.engine == "llama.cpp"
    assert server.health("/health").status == 0


def test_the_real_world_is_made_without_touching_it():
    assert real_ports().connect is connect
    assert silent(Progress("start", "nothing")) is None
