"""How long a pass with speculation takes, as a multiple of one without -> speed-up.

Part of stage 5 (prediction). Pure arithmetic. speed-up = E / (v(K) + K c) for drafters that run
once per position, E / (v(K) + c) for those that draft a block at once (Leviathan et al., arXiv
2211.17192; DFlash, arXiv 2602.06036), with E the accepted length, v the time to verify and c the
time of a draft step, both in passes of one token.
"""

from speccompose.vocab.base import Frozen


class PassTime(Frozen, frozen=True, kw_only=True):
    """What the parts of a pass take, in milliseconds.

    ``one_token_ms``: a pass of the target without speculation. ``routed_ms``: the part of it that
    reads routed experts, of which several tokens need more. ``token_compute_ms``: arithmetic of
    one token; the larger of reading and computing counts. ``draft_ms``: one draft step, or the
    block of a ``parallel`` drafter. ``overhead_ms`` and ``step_overhead_ms``: see DraftingCost.
    """

    one_token_ms: float
    routed_ms: float = 0.0
    experts: int = 1
    experts_per_token: int = 1
    token_compute_ms: float = 0.0
    draft_ms: float = 0.0
    parallel: bool = False
    overhead_ms: float = 0.0
    step_overhead_ms: float = 0.0

    def verify_ratio(self, depth: int) -> float:
        """v(K): a target pass over K + 1 tokens, in passes of one token."""
        tokens = depth + 1
        more = distinct_experts(tokens, self.experts, self.experts_per_token) - 1.0
        reading = self.one_token_ms + self.routed_ms * more
        return max(reading, self.token_compute_ms * tokens) / self.one_token_ms

    def draft_ratio(self, depth: int) -> float:
        """K c of a sequential drafter, c of a parallel one."""
        runs = 1 if self.parallel else depth
        return runs * (self.draft_ms + self.step_overhead_ms) / self.one_token_ms

    def cost(self, depth: int) -> float:
        """A pass that drafts and verifies, in passes of one token."""
        overhead = self.overhead_ms / self.one_token_ms
        return self.verify_ratio(depth) + self.draft_ratio(depth) + overhead

    def speedup(self, length: float, depth: int, fire_share: float = 1.0) -> float:
        """Tokens per second, as a multiple of those without speculation.

        Passes in which nothing is drafted give one token at the price of one.
        """
        tokens = 1.0 + fire_share * (length - 1.0)
        passes = 1.0 + fire_share * (self.cost(depth) - 1.0)
        return tokens / passes


def distinct_experts(tokens: int, experts: int, per_token: int) -> float:
    """Experts that several tokens need together, in multiples of what one needs.

    n (1 - (1 - k/n)^t) of n experts when each token's k fall independently. Neighbouring tokens
    share some, so this is the most that it costs.
    """
    return experts * (1.0 - (1.0 - per_token / experts) ** tokens) / per_token
