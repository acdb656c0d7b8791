#!/usr/bin/env python3
"""Reference values of the diagnostics, written a second time from the published definitions.

    tools/check_diagnostics.py > tests/diagnose/reference.json

Vehtari, Gelman, Simpson, Carpenter, Buerkner (2021), Bayesian Analysis 16(2); Geyer (1992), Statistical Science 7.
Direct O(n^2) sums, ranks and quantiles from SciPy; slow and plain on purpose. Needs NumPy and SciPy.
Special cases are those the headers of drover/diagnose promise.
"""
import json
import math
import sys

import numpy
from scipy import signal, stats

NAN = float("nan")


def undiagnosable(x):
    return x.shape[0] == 0 or x.shape[1] < 4 or not numpy.isfinite(x).all() or (x == x[0, 0]).all()


def split(x):
    half = x.shape[1] // 2
    rows = []
    for chain in x:
        rows += [chain[:half], chain[len(chain) - half:]]
    return numpy.array(rows)


def scores(x):
    ranks = stats.rankdata(x, method="average").reshape(x.shape)
    return stats.norm.ppf((ranks - 3 / 8) / (x.size + 1 / 4))


def variances(x):
    """Within-chain variances; those of constant chains are exactly zero."""
    return numpy.array([0.0 if (chain == chain[0]).all() else numpy.var(chain, ddof=1) for chain in x])


def psrf(x):
    n = x.shape[1]
    within = variances(x).mean()
    between = n * numpy.var(x.mean(axis=1), ddof=1)
    if within == 0:
        return math.inf if between > 0 else NAN
    return math.sqrt(((n - 1) / n * within + between / n) / within)


def rhat(x):
    if undiagnosable(x):
        return NAN
    halves = split(x)
    folded = numpy.abs(halves - numpy.median(halves))
    values = [psrf(scores(halves))]
    if (folded != folded[0, 0]).any():
        values.append(psrf(scores(folded)))
    return max(values)


def autocovariance(chain, lag):
    centred = chain - chain.mean() if (chain != chain[0]).any() else numpy.zeros(len(chain))
    return float(sum(centred[t] * centred[t + lag] for t in range(len(chain) - lag))) / len(chain)


def tau(x):
    m, n = x.shape
    a = [numpy.mean([autocovariance(chain, lag) for chain in x]) for lag in range(n)]
    within = a[0] * n / (n - 1)
    total = a[0] + (numpy.var(x.mean(axis=1), ddof=1) if m > 1 else 0)
    rho = [1.0] + [1 - (within - a[t]) / total for t in range(1, n)]
    if n < 6:
        result = 1 + 2 * rho[1]
    else:
        pairs = []  # Geyer's initial positive sequence; the last pair is the one left out
        t = 0
        while True:
            pairs.append(rho[t] + rho[t + 1])
            if not (pairs[-1] > 0 and t < n - 5):
                break
            t += 2
        kept = numpy.minimum.accumulate(pairs[:-1]) if len(pairs) > 1 else numpy.zeros(0)
        last = rho[t] if pairs[-1] >= 0 or rho[t] > 0 else 0.0
        result = -1 + 2 * float(kept.sum()) + last
    return max(result, 1 / math.log10(m * n))


def ess(x):
    """Of chains that are split already."""
    return x.size / tau(x)


def ess_quantile(x, p):
    if undiagnosable(x):
        return NAN
    q = numpy.quantile(x, p)
    indicator = (x <= q).astype(float)
    if indicator.all():
        indicator = (x < q).astype(float)
    return NAN if (split(indicator) == split(indicator)[0, 0]).all() else ess(split(indicator))


def mcse_quantile(x, p):
    size = ess_quantile(x, p)
    if math.isnan(size):
        return NAN
    low, high = stats.beta.ppf([0.1586553, 0.8413447], size * p + 1, size * (1 - p) + 1)
    ordered = numpy.sort(x.ravel())
    low = ordered[max(int(numpy.rint(low * x.size)), 1) - 1]
    high = ordered[min(int(numpy.rint(high * x.size)), x.size) - 1]
    return float(high - low) / 2


def mcse_sd(x):
    squares = (x - x.mean()) ** 2
    if undiagnosable(x) or undiagnosable(squares):
        return NAN
    second, fourth = squares.mean(), (squares ** 2).mean()
    return math.sqrt((fourth - second ** 2) / ess(split(squares)) / (4 * second))


def reference(x):
    bad = undiagnosable(x)
    return {
        "rhat": rhat(x),
        "split_rhat": NAN if bad else psrf(split(x)),
        "psrf": NAN if bad or x.shape[0] < 2 else psrf(x),
        "ess_bulk": NAN if bad else ess(scores(split(x))),
        "ess_tail": min(ess_quantile(x, 0.05), ess_quantile(x, 0.95)),
        "ess_mean": NAN if bad else ess(split(x)),
        "ess_sd": NAN if bad or undiagnosable(abs(x - x.mean())) else ess(split(abs(x - x.mean()))),
        "ess_median": ess_quantile(x, 0.5),
        "mcse_mean": NAN if bad else float(numpy.std(x, ddof=1)) / math.sqrt(ess(split(x))),
        "mcse_sd": NAN if bad else mcse_sd(x),
        "mcse_median": mcse_quantile(x, 0.5),
        "mcse_q10": mcse_quantile(x, 0.1),
        "autocorrelation_1": NAN if bad or variances(x).max() == 0 else
        sum(autocovariance(c, 1) for c in x) / sum(autocovariance(c, 0) for c in x),
        "autocorrelation_3": NAN if bad or variances(x).max() == 0 else
        sum(autocovariance(c, 3) for c in x) / sum(autocovariance(c, 0) for c in x),
    }


def autoregression(random, phi, chains, draws):
    noise = random.standard_normal((chains, draws)) * math.sqrt(1 - phi * phi)
    start = random.standard_normal((chains, 1))
    return signal.lfilter([1], [1, -phi], noise, axis=1, zi=phi * start)[0]


def markov(random, p01, p10, chains, draws):
    x = numpy.zeros((chains, draws))
    x[:, 0] = random.random(chains) < p01 / (p01 + p10)
    for t in range(1, draws):
        u = random.random(chains)
        x[:, t] = numpy.where(x[:, t - 1] == 1, u >= p10, u < p01)
    return x


def cases():
    random = numpy.random.default_rng(20210401)
    normal = random.standard_normal
    yield "independent", normal((4, 50))
    yield "autoregression 0.9", autoregression(random, 0.9, 4, 100)
    yield "autoregression 0.5 odd draws", autoregression(random, 0.5, 3, 75)
    yield "autoregression 0.99 not mixed", autoregression(random, 0.99, 2, 60)
    yield "antithetic -0.7", autoregression(random, -0.7, 4, 60)
    yield "alternating", numpy.tile([1.0, -1.0], (2, 20)) + 1e-3 * normal((2, 40))
    yield "one chain", autoregression(random, 0.6, 1, 80)
    yield "different means", normal((3, 40)) + numpy.array([[0.0], [1.0], [3.0]])
    yield "different spreads", normal((4, 40)) * numpy.array([[1.0], [1.0], [1.0], [8.0]])
    yield "heavy tails", random.standard_cauchy((4, 60))
    yield "large offset", 1e9 + normal((2, 30))
    yield "binary", markov(random, 0.3, 0.2, 4, 70)
    yield "binary sticky odd", markov(random, 0.05, 0.05, 5, 41)
    yield "binary rare", markov(random, 0.02, 0.9, 4, 150)
    yield "binary common", 1 - markov(random, 0.02, 0.9, 4, 150)
    yield "binary long", markov(random, 0.1, 0.1, 2, 400)
    yield "fair coin", numpy.array([[0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0], [1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1.0]])
    yield "two values, not 0 and 1", 0.1 + 0.2 * markov(random, 0.4, 0.3, 2, 30)
    yield "three values", numpy.floor(3 * random.random((3, 33)))
    yield "ties", numpy.round(2 * normal((4, 40)))
    yield "one constant chain", numpy.vstack([numpy.zeros(20), normal(20)])
    yield "constant chains that differ", numpy.repeat([[0.1], [0.2], [0.7]], 10, axis=1)
    yield "constant", numpy.full((2, 10), 0.1)
    yield "with NaN", numpy.array([[1, 2, 3, NAN, 5, 6], [1, 2, 3, 4, 5, 6.0]])
    yield "with infinity", numpy.array([[1, 2, 3, math.inf, 5, 6], [1, 2, 3, 4, 5, 6.0]])
    yield "three draws", normal((4, 3))
    yield "four draws", normal((4, 4))
    yield "five draws", normal((2, 5))
    yield "eleven draws", autoregression(random, 0.5, 3, 11)
    yield "twelve draws", autoregression(random, 0.5, 3, 12)
    yield "thirteen draws, one chain", autoregression(random, 0.9, 1, 13)
    yield "trend", numpy.linspace(0, 1, 40) + 0.1 * normal((2, 40))


def encode(value):
    """JSON has no NaN and no infinity."""
    if isinstance(value, list):
        return [encode(v) for v in value]
    value = float(value)
    return value if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def main():
    out = []
    for name, x in cases():
        x = numpy.asarray(x, dtype=float)
        if name not in ("large offset", "two values, not 0 and 1"):
            x = numpy.round(x, 5)
        expected = {key: encode(value) for key, value in reference(x).items()}
        out.append({"name": name, "draws": encode(x.tolist()), "expected": expected})
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in out)
    sys.stdout.write("[\n" + lines + "\n]\n")


if __name__ == "__main__":
    with numpy.errstate(invalid="ignore", divide="ignore"):
        main()
