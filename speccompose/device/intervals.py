"""Repeats of two arms become the ratio of their means, with an interval.

Layer: device (standard library, Python 3.8). Pure. Speeds have relative noise, so the comparison
is made on logarithms: a difference there is a ratio, and gains of +25 % and -20 % are the same
distance. With three repeats a bootstrap can only reshuffle three numbers and its intervals are
far too narrow; Student's t with Welch's degrees of freedom (the arms need not be equally noisy:
speculation depends on the prompt, the baseline does not) is right from two repeats on.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple, Sequence

_WIDEST = 700.0


class Spread(NamedTuple):
    """Logarithms of some repeats: their mean, variance and how many."""

    mean: float
    variance: float
    size: int


class Ratio(NamedTuple):
    """How many times as much, with both ends of the interval."""

    value: float
    low: float
    high: float

    def inverse(self) -> Ratio:
        """The same comparison the other way round (times instead of speeds)."""
        return Ratio(1.0 / self.value, 1.0 / self.high, 1.0 / self.low)


def spread_of(values: Sequence[float]) -> Spread:
    """Summarise repeats.

    Raises:
        ValueError: fewer than two repeats, or one that is not above zero.
    """
    if len(values) < 2 or min(values) <= 0.0:
        raise ValueError(f"wanted two or more repeats above zero, found {list(values)}")
    logs = [math.log(value) for value in values]
    mean = math.fsum(logs) / len(logs)
    variance = math.fsum((value - mean) ** 2 for value in logs) / (len(logs) - 1)
    return Spread(mean, variance, len(logs))


def ratio_of(other: Spread, base: Spread, *, low_tail: float, high_tail: float) -> Ratio:
    """Compare two arms: ``other`` divided by ``base``.

    ``low_tail`` and ``high_tail`` say how often the true ratio may lie below and above.
    """
    step = other.mean - base.mean
    a, b = other.variance / other.size, base.variance / base.size
    if a + b <= 0.0:
        return Ratio(math.exp(step), math.exp(step), math.exp(step))
    freedom = (a + b) ** 2 / (a * a / (other.size - 1) + b * b / (base.size - 1))
    error = math.sqrt(a + b)
    return Ratio(
        value=math.exp(step),
        low=_power(step - t_quantile(low_tail, freedom) * error),
        high=_power(step + t_quantile(high_tail, freedom) * error),
    )


def _power(exponent: float) -> float:
    """e to this, for ends of intervals that two wild repeats leave open: never an overflow."""
    return math.exp(max(-_WIDEST, min(_WIDEST, exponent)))


def t_quantile(tail: float, freedom: float) -> float:
    """The t that is exceeded with probability ``tail`` (below one half).

    Newton's method on logarithms, where the tail is nearly a straight line. It is concave there:
    whatever the first step does, all others come from the same side and cannot run away.
    """
    value = -NormalDist().inv_cdf(tail)
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    scale /= math.sqrt(freedom * math.pi)
    for _ in range(100):
        density = scale * (1.0 + value * value / freedom) ** (-(freedom + 1) / 2)
        exceeded = t_exceeded(value, freedom)
        step = math.log(exceeded / tail) * exceeded / (density * value)
        value *= math.exp(step)
        if abs(step) <= 1e-7:
            break
    return value


def t_exceeded(value: float, freedom: float) -> float:
    """Probability that Student's t exceeds ``value`` (not negative)."""
    return 0.5 * _incomplete_beta(freedom / (freedom + value * value), freedom / 2)


def _incomplete_beta(x: float, a: float) -> float:
    """Regularised incomplete beta function with b = 1/2, by its continued fraction."""
    b = 0.5
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(x, a, b) / a
    return 1.0 - front * _beta_fraction(1.0 - x, b, a) / b


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Lentz's method for the continued fraction of the incomplete beta function."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + term / c
            c = c if abs(c) > tiny else tiny
            result *= d * c
        if abs(d * c - 1.0) < 1e-13:
            break
    return result
