"""Operations of CKKS by turns with OpenFHE, in rings of one size: python3.10 testdata/peers/operations.py [LOG_N]

One thread, ciphertexts of 20 limbs. Below LOG_N = 16 neither ring is secure. The package is built for Python 3.10."""

import json
import os
import pathlib
import sys
import tempfile
import time

import peer

peer.need("openfhe")
os.environ["OMP_NUM_THREADS"] = "1"
import openfhe

LIMBS, SECONDS = 20, 2
log_n = int(sys.argv[1]) if len(sys.argv) > 1 else 16

parameters = openfhe.CCParamsCKKSRNS()
parameters.SetRingDim(1 << log_n)
parameters.SetSecurityLevel(openfhe.SecurityLevel.HEStd_NotSet)
parameters.SetMultiplicativeDepth(LIMBS - 1)
parameters.SetFirstModSize(50)
parameters.SetScalingModSize(40)
parameters.SetScalingTechnique(openfhe.ScalingTechnique.FIXEDMANUAL)
context = openfhe.GenCryptoContext(parameters)
for feature in (openfhe.PKESchemeFeature.PKE, openfhe.PKESchemeFeature.KEYSWITCH, openfhe.PKESchemeFeature.LEVELEDSHE):
    context.Enable(feature)
keys = context.KeyGen()
context.EvalMultKeyGen(keys.secretKey)
context.EvalRotateKeyGen(keys.secretKey, [1])
x = context.Encrypt(keys.publicKey, context.MakeCKKSPackedPlaintext([0.5] * (1 << (log_n - 1))))


def theirs(operation):
    """The least milliseconds of several runs: others share the machine."""
    least, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begin = time.perf_counter()
        operation()
        least = min(least, time.perf_counter() - begin)
    return 1000 * least


def ours(name):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "figures.json"
        insecure = ["--insecure", "--log-n", log_n] if log_n < 16 else []
        peer.ours("bench", "--suite", "ckks", "--repetitions", 5, "--bootstrap-repetitions", 1, "--threads", 1, "--json", file, *insecure)
        return next(row["min_ms"] for row in json.loads(file.read_text()) if row["name"] == name and row["limbs"] == LIMBS)


for name, operation in (("rotate", lambda: context.EvalRotate(x, 1)), ("multiply_relinearise", lambda: context.EvalMult(x, x))):
    print(name, end=": ", flush=True)
    peer.by_turns(2, "ms", lambda: ours(name), lambda: theirs(operation), "OpenFHE")
