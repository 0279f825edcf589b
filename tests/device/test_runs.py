"""The contract's form of one run."""

from speccompose.device.runs import Run


def test_contract_fields():
    run = Run("speculative", 8, 2, 123.45678, 7.123456, None, 2.5, ("ignored here",))
    assert run.as_dict() == {
        "arm": "speculative",
        "concurrency": 8,
        "repeat": 2,
        "output_tokens_s": 123.457,
        "tpot_ms_p50": 7.123,
        "ttft_ms_p50": None,
        "mean_accepted_length": 2.5,
    }
    assert run.label == "speculative, concurrency 8, repeat 2"
