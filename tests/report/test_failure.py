"""Errors as people see them: brief, details, hint; 80 columns; excerpts untouched."""

from speccompose.errors import ImageError
from speccompose.report.failure import failure_text


def test_shape():
    error = ImageError(
        "no image fits orin-nx-16gb on L4T 36.3.0",
        ["vllm-iot-r36  needs L4T 36.4 or newer, board has 36.3.0"],
        hint="upgrade to JetPack 6.1 or newer",
    )
    assert failure_text(error).splitlines() == [
        "error: no image fits orin-nx-16gb on L4T 36.3.0",
        "  vllm-iot-r36  needs L4T 36.4 or newer, board has 36.3.0",
        "  hint: upgrade to JetPack 6.1 or newer",
    ]


def test_long_lines_are_wrapped_and_words_stay_whole():
    error = ImageError("word " * 40, ["https://example.invalid/" + "x" * 90], hint="do " * 60)
    lines = failure_text(error).splitlines()
    assert all(len(line) <= 80 or "https" in line for line in lines)
    assert any("x" * 90 in line for line in lines)


def test_an_excerpt_keeps_its_caret_in_place():
    detail = "devices/a.yaml:4:14\n    4 |   total_mib: 16GB\n      |              ^^^^"
    lines = failure_text(ImageError("x", [detail])).splitlines()
    assert lines[3].index("^") == lines[2].index("16GB")


def test_a_detail_of_several_lines_is_indented_as_a_whole():
    """Preflight's findings are: what was wanted, and on the next line what was there."""
    text = failure_text(ImageError("two things", ["memory: 9 MiB needed\nMemAvailable is 3 MiB"]))
    assert text.splitlines()[1:] == ["  memory: 9 MiB needed", "  MemAvailable is 3 MiB"]
