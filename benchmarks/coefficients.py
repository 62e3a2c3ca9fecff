"""Find the coefficients in d2lhybrid/hybrid/prelude.c again: `python -m benchmarks.coefficients`.

For each function it prints the largest error of its approximation, relative to 2^-24, which is half
a unit in the last place, and the coefficients as C has them.

Least squares whose weights grow where the error is large come close to the least largest error
(C. Lawson, 1961). A quotient p / q is fitted as p - target * q, divided by the q that was found
before (C. Sanathanan and J. Koerner, 1963). A coefficient is then rounded to float32, and those
that are left make up for it.
"""

import math

import numpy as np


def fit(x, target, top, bottom=(), weight=1, rounds=100):
    """Return float32 coefficients, and the largest error in units of 2^-24.

    The sum of c * x^i over `top`, divided by 1 + the sum of d * x^j over `bottom`, comes close to
    `target`. The error is multiplied by `weight`.
    """
    found, denominator = [], 1
    columns = [x**i for i in top] + [-target * x**j for j in bottom]
    rest = target.copy()
    while columns:
        matrix = np.stack(columns, axis=1)
        scale = np.linalg.norm(matrix, axis=0)
        pull = np.full(len(x), 1 / len(x))
        best = np.inf, None
        for _ in range(rounds):
            each = np.sqrt(pull) * weight / denominator
            c = np.linalg.lstsq(matrix / scale * each[:, None], rest * each, rcond=None)[0] / scale
            d = np.array([*found, *c][len(top) :])
            denominator = 1 + sum(value * x**j for value, j in zip(d, bottom, strict=True))
            error = np.abs(weight / denominator * (matrix @ c - rest))
            best = min(best, (error.max(), c[0]))
            pull *= error / error.max() + 1e-9
            pull /= pull.sum()
        found.append(np.float32(best[1]))
        rest -= columns.pop(0) * float(found[-1])
    return found, np.abs(weight / denominator * rest).max() * 2**24


def points(low, high, count=600):
    """Return points that are close at the ends, where a polynomial's error would be largest."""
    return (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * (np.arange(count) + 0.5) / count)


def of_exp():
    """e^r - 1 - r, by r^2 ... r^6, relative to e^r."""
    r = points(-0.3467, 0.3467)
    return fit(r, np.expm1(r) - r, range(2, 7), weight=np.exp(-r))


def of_log():
    """(log(1 + f) - f + f^2 / 2) / f^3, by 1 ... f^7, relative to log(1 + f)."""
    f = points(math.sqrt(1 / 2) - 1, math.sqrt(2) - 1)
    log = np.log1p(f)
    series = 1 / 3 - f / 4 + f**2 / 5 - f**3 / 6
    target = np.where(np.abs(f) < 1e-3, series, (log - f + f**2 / 2) / f**3)
    return fit(f, target, range(8), weight=np.abs(f**3 / log))


def of_tanh():
    """tanh(x) / x - 1, by z ... z^7 with z = x^2, relative to tanh(x) / x."""
    z = points(0, 1)
    x = np.sqrt(z)
    series = -z / 3 + 2 / 15 * z**2 - 17 / 315 * z**3 + 62 / 2835 * z**4
    target = np.where(z < 1e-3, series, np.tanh(x) / x - 1)
    return fit(z, target, range(1, 8), weight=x / np.tanh(x))


def of_gelu():
    """The chance to be above a, over half of e^(-a^2 / 2): by 1 ... a^4, over 1 + (a ... a^5)."""
    a = points(0, 14.5)
    chance = np.array([math.exp(one * one / 2) * math.erfc(one / math.sqrt(2)) for one in a])
    return fit(a, chance, range(5), range(1, 6), weight=1 / chance)


def main():
    """Print all of them."""
    for find in (of_exp, of_log, of_tanh, of_gelu):
        c, error = find()
        print(f"{find.__name__[3:]}: off by {error:.3f}:", *[f"{float(x):.9g}f" for x in c])


if __name__ == "__main__":
    main()
