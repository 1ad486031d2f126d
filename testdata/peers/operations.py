"""Operations of CKKS by turns with another library, in rings of one size:
python3 testdata/peers/operations.py [desilofhe|openfhe [LOG_N]]

One thread, ciphertexts of 20 limbs. Below LOG_N = 16 neither ring is secure; DESILO FHE has none below. OpenFHE's package
is built for Python 3.10."""

import json
import os
import pathlib
import sys
import tempfile
import time

import peer

LIMBS, SECONDS = 20, 2
library = sys.argv[1] if len(sys.argv) > 1 else "desilofhe"
log_n = int(sys.argv[2]) if len(sys.argv) > 2 else 16
peer.need(library)
os.environ["OMP_NUM_THREADS"] = "1"


def openfhe_operations():
    import openfhe

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
    return lambda: context.EvalRotate(x, 1), lambda: context.EvalMult(x, x)


def desilofhe_operations():
    import desilofhe

    engine = desilofhe.Engine(max_level=LIMBS, thread_count=1)
    if engine.slot_count != 1 << (log_n - 1):
        sys.exit(f"with {LIMBS} limbs DESILO FHE takes a ring of 2^{engine.slot_count.bit_length()}; give that")
    secret = engine.create_secret_key()
    relinearisation, rotation = engine.create_relinearization_key(secret), engine.create_fixed_rotation_key(secret, 1)
    x = engine.encrypt([0.5] * engine.slot_count, secret, level=LIMBS - 1)
    return lambda: engine.rotate(x, rotation), lambda: engine.multiply(x, x, relinearisation)


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


operations = {"openfhe": openfhe_operations, "desilofhe": desilofhe_operations}[library]()
for name, operation in zip(("rotate", "multiply_relinearise"), operations):
    print(name, end=": ", flush=True)
    peer.by_turns(2, "ms", lambda: ours(name), lambda: theirs(operation), library)
