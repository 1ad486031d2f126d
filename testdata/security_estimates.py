"""Estimates what the known attacks cost against the moduli that ckks/scheme/chain/security.h allows.

    python3 testdata/security_estimates.py ESTIMATOR MEET | tee testdata/security_estimates.txt

ESTIMATOR is a checkout of the lattice estimator (Albrecht, Player, Scott; github.com/malb/lattice-estimator), MEET one of
github.com/yonghaason/PrimalMeetLWE, at the commits that the output names; nothing of either is here. They need Sage, or
the wheels passagemath-standard-no-symbolics and passagemath-symbolics of PyPI, and numpy and scipy. The dual attacks
take hours on one core, the others minutes.

Each line: the operations of one attack, log2, and the parameters that the estimator found best. LWE with N coefficients
of the secret and as many samples as the attack likes (ring structure gives attacks nothing known); the error is the
centred binomial one of ckks/ring/sampler.h. The hybrid attacks on sparse secrets are there: a part of the secret is
guessed, or met in the middle, and lattice reduction, primal or dual, finds the rest. Meet-LWE guesses by
representations (ePrint 2022/1473).
"""

import contextlib
import functools
import importlib
import importlib.util
import math
import pathlib
import subprocess
import sys

import numpy
from scipy import special

LOG_N = 16
ERROR_COINS = 21  # ckks/ring/sampler.h

# What security.h allows: a name, log2 of the modulus, the Hamming weight of the ternary secret (None: dense).
SETS = [
    ("ternary secret of weight 192", 1555, 192),
    ("dense ternary secret", 1746, None),
    ("ephemeral secret of weight 32", 121, 32),
]


def use_numpy():
    """Lets numpy compute what the estimator computes for every vector of a basis, one after another: a basis has 10^5
    vectors, and a search reads thousands of bases. Returns the shape of a reduced basis (geometric series assumption).
    """
    simulator, prob = (importlib.import_module(f"estimator.{name}") for name in ("simulator", "prob"))
    delta = importlib.import_module("estimator.reduction").delta

    def gsa(d, n, q, beta, xi=1, tau=1, dual=False):
        """Squared lengths after reduction, at most 2^1000, which no probability below can tell from infinity."""
        volume = math.log2(q) * (d - n - bool(tau)) + math.log2(xi) * n + math.log2(tau or 1)
        logs = (d - 1 - 2 * numpy.arange(d)) * math.log2(delta(beta)) + volume / d
        return numpy.exp2(numpy.clip(2 * logs, -1000, 1000))

    def babai(r, norm):
        miss = special.betainc((len(r) - 1) / 2, 0.5, numpy.clip(1 - r / float(2 * norm) ** 2, 0, 1))
        with numpy.errstate(divide="ignore"):
            return float(numpy.exp(numpy.log1p(-miss).sum()))

    def mitm_babai(r, stddev, fast=False):
        x = numpy.minimum(numpy.sqrt(r / 2) / float(stddev), 1e9)
        factors = special.erf(x) + numpy.expm1(-(x**2)) / (x * math.sqrt(math.pi))
        with numpy.errstate(divide="ignore"):
            return float(numpy.exp(numpy.log(numpy.maximum(factors, 0)).sum()))

    faster = {simulator.GSA: gsa, prob.babai: babai, prob.mitm_babai_probability: mitm_babai}
    for name, module in list(sys.modules.items()):
        for key, value in list(vars(module).items()) if name.startswith("estimator.") else []:
            if callable(value) and getattr(value, "__hash__", None) and value in faster:
                setattr(module, key, faster[value])
    return gsa


def hybrid(params, red_cost_model, red_shape_model, middle):
    """Primal attack that guesses zeta coefficients. A dense secret has 3^zeta of them, and meeting in the middle tries
    3^(zeta/2) at least, at 2^32 operations each. So more than 200 cost beyond 2^190, and the search ends there.
    """
    primal = importlib.import_module("estimator.lwe_primal")
    models = {"red_cost_model": red_cost_model, "red_shape_model": red_shape_model}
    if params.Xs.is_sparse:
        return primal.primal_hybrid(params, mitm=middle, babai=middle, **models)
    models |= {"m": 2 * params.n, "mitm": middle, "babai": middle, "optimize_d": False}
    params = primal.LWEParameters.normalize(params)
    costs = [primal.PrimalHybrid.cost_zeta(zeta, params, **models) for zeta in range(0, 204, 4)]
    return min(costs, key=lambda cost: cost["rop"])


def meet_lwe(folder, log2_modulus, weight):
    """The cheapest of levels 1 and 2, log2, with its parameters, as its authors estimate it. Their search goes by halves
    and misses the cheapest, so grids take its place, each finer than the one before. The bases are numpy's, and without the
    long vectors at their beginning, which no probability depends on.
    """
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("meet_lwe", folder / "estimator.py")
    theirs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(theirs)

    def gsa(q, d, d1, beta, nu=1):
        places = numpy.arange(max(0, d - 4000), d)
        logs = (d - 1 - 2 * places) * math.log2(theirs.delta_0(beta)) + math.log2(q) * (d - d1 - 1) / d
        return numpy.exp2(numpy.minimum(logs, 1000)).tolist()

    theirs.GSA = gsa
    n, q, deviation = 2**LOG_N, 2**log2_modulus, math.sqrt(ERROR_COINS / 2)

    def cheapest(level, zetas, betas, shares):
        """Over guessed coefficients, block sizes, and dimensions as shares of the usual best one."""
        best = {"cost": math.inf}
        for zeta in sorted(set(zetas)):
            probabilities = theirs.probs_hw_precompute(n, zeta, weight)
            for beta in betas:
                usual = math.sqrt((n - zeta) * log2_modulus / math.log2(theirs.delta_0(beta)))
                for d in (min(int(share * usual), 2 * n - zeta) for share in shares):
                    cost = theirs.cost_beta(
                        beta, d=zeta, n=n, q=q, m=d, stddev=deviation, w=weight, t=level, probs_hw=probabilities, param_specified={}
                    )
                    found = {"level": level, "beta": beta, "zeta": zeta, "d": d}
                    best = min(best, found | {"cost": cost["cost"]}, key=lambda cost: cost["cost"])
        return best

    best = {"cost": math.inf}
    for level in (1, 2):
        parts = [int(n / 2 ** (i / 2)) for i in range(2, 11)]
        coarse = cheapest(level, parts + [n - part for part in parts], range(60, 401, 20), [1])
        if not coarse["cost"] < math.inf:
            continue
        for fraction, reach, stride in ((40, 16, 2), (100, 10, 1)):
            zeta, beta = coarse["zeta"], coarse["beta"]
            step = max(1, min(zeta, n - zeta) // fraction)
            zetas = range(max(weight, zeta - reach * step), min(n - 1, zeta + (reach + 1) * step), step)
            betas = range(max(40, beta - reach), beta + reach + 1, stride)
            coarse = min(coarse, cheapest(level, zetas, betas, [0.94, 0.97, 1, 1.03]), key=lambda cost: cost["cost"])
        best = min(best, coarse, key=lambda cost: cost["cost"])
    return best


def attacks(estimator):
    """Name, what it is, and the function of parameters and cost models."""
    primal = importlib.import_module("estimator.lwe_primal")
    dual = importlib.import_module("estimator.lwe_dual")
    shape = use_numpy()
    return [
        ("usvp", "primal, unique shortest vector", functools.partial(primal.primal_usvp, red_shape_model=shape)),
        ("bdd", "primal, bounded-distance decoding", functools.partial(primal.primal_bdd, red_shape_model=shape)),
        ("dual", "dual, distinguishing", dual.dual),
        ("dual_matzov", "dual with FFT and guessing (MATZOV 2022)", dual.matzov),
        ("dual_guess", "dual, part of a sparse secret guessed", dual.dual_hybrid),
        ("dual_mitm", "the same, met in the middle", functools.partial(dual.dual_hybrid, mitm_optimization=True)),
        ("bdd_guess", "primal, part of a secret guessed", functools.partial(hybrid, red_shape_model=shape, middle=False)),
        ("bdd_mitm", "the same, met in the middle", functools.partial(hybrid, red_shape_model=shape, middle=True)),
    ]


def parameters(estimator, log2_modulus, weight):
    """The LWE parameters of one set."""
    nd, n = estimator.ND, 2**LOG_N
    secret = nd.Ternary if weight is None else nd.SparseTernary(weight // 2, weight - weight // 2)
    return estimator.LWE.Parameters(n=n, q=2**log2_modulus, Xs=secret, Xe=nd.CenteredBinomial(ERROR_COINS))


def main():
    folders = [pathlib.Path(path) / "estimator" for path in sys.argv[1:]]
    if len(folders) != 2 or not all(folder.is_dir() for folder in folders):
        sys.exit("usage: security_estimates.py ESTIMATOR MEET, checkouts of lattice-estimator and PrimalMeetLWE")
    sys.path.insert(0, sys.argv[1])
    estimator = importlib.import_module("estimator")
    estimator.Logging.set_level(estimator.Logging.CRITICAL)
    for name, folder in zip(("lattice estimator", "PrimalMeetLWE"), folders):
        command = ["git", "-C", folder, "rev-parse", "HEAD"]
        print(name, subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    print(f"N = 2^{LOG_N}, centred binomial error of {ERROR_COINS} coins")
    print("lattice reduction as RC.MATZOV counts it (classical); core-SVP = 0.292 beta of the first line, for comparison\n")
    all_attacks = attacks(estimator)
    for name, log2_modulus, weight in SETS:
        print(f"{name}, modulus of {log2_modulus} bits", flush=True)
        least = math.inf
        for attack, what, cost in all_attacks:
            try:
                found = cost(parameters(estimator, log2_modulus, weight), red_cost_model=estimator.RC.MATZOV)
            except Exception as error:  # the estimator's own refusals come in many types
                print(f"  {attack:12} no estimate: {type(error).__name__}: {error}  ({what})", flush=True)
                continue
            if not found["rop"] < math.inf:
                print(f"  {attack:12} beyond the largest lattices that the estimator counts  ({what})", flush=True)
                continue
            bits = float(math.log2(found["rop"]))
            least = min(least, bits)
            shown = ", ".join(f"{key} {found[key]}" for key in ("beta", "eta", "zeta", "d", "h1") if key in found)
            core = f", core-SVP 2^{0.292 * float(found['beta']):.1f}" if attack == "usvp" else ""
            print(f"  {attack:12} 2^{bits:.1f}  {shown}{core}  ({what})", flush=True)
        if weight is not None:
            found = meet_lwe(folders[1], log2_modulus, weight)
            least = min(least, found["cost"])
            print(
                f"  meet_lwe     2^{found['cost']:.1f}  beta {found['beta']}, zeta {found['zeta']}, d {found['d']}, "
                f"level {found['level']}  (primal, part of a sparse secret guessed by Meet-LWE)",
                flush=True,
            )
        print(f"  least of these 2^{least:.1f}\n", flush=True)


if __name__ == "__main__":
    main()
