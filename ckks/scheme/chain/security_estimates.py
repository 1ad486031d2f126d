"""Estimates what the known attacks cost against the moduli that security.h allows, by the lattice estimator.

    python3 ckks/scheme/chain/security_estimates.py FOLDER | tee ckks/scheme/chain/security_estimates.txt

FOLDER holds a checkout of the lattice estimator (Albrecht, Player, Scott; github.com/malb/lattice-estimator), none of
which is here; it needs Sage, or the wheels passagemath-standard-no-symbolics and passagemath-symbolics of PyPI. Ours was
made at the estimator's commit that the first line of the output names. On one core it takes hours, nearly all for the
hybrid attacks.

Where it is broken off, the text beside this file says so. Each line: the operations of one attack, log2, and the parameters that the estimator found best. LWE with N coefficients
of the secret and as many samples as the attack likes (ring structure gives attacks nothing known); the error is the
centred binomial one of ring/sampler.h.
"""

import functools
import importlib
import math
import pathlib
import subprocess
import sys

LOG_N = 16
ERROR_COINS = 21  # ring/sampler.h

# What security.h allows: a name, log2 of the modulus, the Hamming weight of the ternary secret (None: dense).
SETS = [
    ("ternary secret of weight 192", 1555, 192),
    ("dense ternary secret", 1747, None),
    ("ephemeral secret of weight 32", 121, 32),
]


def attacks(estimator):
    """Name, what it is, and the function of parameters and cost model."""
    primal = importlib.import_module("estimator.lwe_primal")
    dual = importlib.import_module("estimator.lwe_dual")
    hybrid = primal.primal_hybrid
    return [
        ("usvp", "primal, unique shortest vector", primal.primal_usvp),
        ("bdd", "primal, bounded-distance decoding", primal.primal_bdd),
        ("dual", "dual, distinguishing", dual.dual),
        ("dual_matzov", "dual with FFT and guessing (MATZOV 2022)", dual.matzov),
        ("dual_guess", "dual, part of a sparse secret guessed", dual.dual_hybrid),
        ("dual_mitm", "the same, met in the middle", functools.partial(dual.dual_hybrid, mitm_optimization=True)),
        ("bdd_guess", "primal, part of a sparse secret guessed", functools.partial(hybrid, mitm=False, babai=False)),
        ("bdd_mitm", "the same, met in the middle", functools.partial(hybrid, mitm=True, babai=True)),
    ]


def parameters(estimator, log2_modulus, weight):
    """The LWE parameters of one set."""
    nd, n = estimator.ND, 2**LOG_N
    secret = nd.Ternary if weight is None else nd.SparseTernary(weight // 2, weight - weight // 2)
    return estimator.LWE.Parameters(n=n, q=2**log2_modulus, Xs=secret, Xe=nd.CenteredBinomial(ERROR_COINS))


def main():
    if len(sys.argv) != 2 or not (pathlib.Path(sys.argv[1]) / "estimator").is_dir():
        sys.exit("usage: security_estimates.py FOLDER, a checkout of github.com/malb/lattice-estimator")
    sys.path.insert(0, sys.argv[1])
    estimator = importlib.import_module("estimator")
    estimator.Logging.set_level(estimator.Logging.CRITICAL)
    commit = subprocess.run(
        ["git", "-C", sys.argv[1], "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    print(f"lattice estimator {commit}, N = 2^{LOG_N}, centred binomial error of {ERROR_COINS} coins")
    print("lattice reduction as RC.MATZOV counts it (classical); core-SVP = 0.292 beta of the first line, for comparison\n")
    for name, log2_modulus, weight in SETS:
        print(f"{name}, modulus of {log2_modulus} bits", flush=True)
        least = math.inf
        for attack, what, cost in attacks(estimator):
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
        print(f"  least of these 2^{least:.1f}\n", flush=True)


if __name__ == "__main__":
    main()
