"""Writes ckks/scheme/testing/known_answers.h: what the transform, the encoder and one key switch must give.

    python3 ckks/scheme/testing/known_answers.py > ckks/scheme/testing/known_answers.h

Everything follows from the definitions in the headers (ntt.h, encoder.h, key_switch.h) on Python's integers and
decimals: sums over all terms, no fast transform, no residue number system, no table. known_answers_test.cc holds
every backend to the result.
"""

import decimal
import hashlib
import math


def residue(i, k, q):
    """Residue i of sample polynomial k modulo q; the test has the same line."""
    return pow(i + 3, 1000 + k, q)


def is_prime(n):
    """Miller and Rabin with the bases that decide below 3.3e24."""
    if n % 2 == 0:
        return n == 2
    d, twos = n - 1, 0
    while d % 2 == 0:
        d, twos = d // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41):
        x = pow(base, d, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def centred(x, modulus):
    x %= modulus
    return x - modulus if x > modulus // 2 else x


def digest(words):
    return hashlib.sha256(b"".join(word.to_bytes(8, "little") for word in words)).hexdigest()


# The transform: A[j] = a(psi^(2 brv(j) + 1)), psi the root that ntt.h fixes.


def root_of_unity(order, q):
    return next(
        root
        for root in (pow(g, (q - 1) // order, q) for g in range(2, q))
        if pow(root, order // 2, q) == q - 1
    )


def transform(a, q):
    n = len(a)
    bits = n.bit_length() - 1
    psi = root_of_unity(2 * n, q)
    out = []
    for j in range(n):
        x = pow(psi, 2 * int(format(j, f"0{bits}b")[::-1], 2) + 1, q)
        value = 0
        for coefficient in reversed(a):
            value = (value * x + coefficient) % q
        out.append(value)
    return out


# The encoder: coefficients m_k nearest to scale 2/N Re sum_j z_j zeta^(-k 5^j), zeta = exp(i pi / N).


def circle(n):
    """cos and sin of pi k / n, k < 2n, to some 70 digits, by halving the angle and by addition."""
    cosine, sine = decimal.Decimal(-1), decimal.Decimal(0)  # of pi
    for _ in range(n.bit_length() - 1):
        sine = ((1 - cosine) / 2).sqrt()
        cosine = ((1 + cosine) / 2).sqrt() if cosine > -1 else decimal.Decimal(0)
    points = [(decimal.Decimal(1), decimal.Decimal(0))]
    for _ in range(2 * n - 1):
        c, s = points[-1]
        points.append((c * cosine - s * sine, s * cosine + c * sine))
    return points


def slot(j):
    """Slot j of the sample vector, in 64ths; the test has the same line."""
    return (55 * j + 11) % 101 - 50, (53 * j + 29) % 97 - 48


def encode(n, log_scale):
    points = circle(n)
    out = []
    for k in range(n):
        total = decimal.Decimal(0)
        for j in range(n // 2):
            c, s = points[k * pow(5, j, 2 * n) % (2 * n)]
            re, im = slot(j)
            total += re * c + im * s  # of z conj(zeta^..)
        exact = total * 2 / n / 64 * 2**log_scale
        nearest = int(exact.to_integral_value(decimal.ROUND_HALF_EVEN))
        # Far enough from a half for any correct encoder in double precision.
        assert abs(exact - nearest) < decimal.Decimal("0.49"), exact
        out.append(nearest)
    return out


# Key switching: round((P a_0 + sum_i d_i b_i, P a_1 + sum_i d_i a_i) / (P or P q_l)), the digits d_i = c modulo D_i
# centred, then X -> X^g. Polynomials are lists of integers modulo X^N + 1.


def multiply(a, b, modulus):
    n = len(a)
    out = [0] * n
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            if i + j < n:
                out[i + j] += x * y
            else:
                out[i + j - n] -= x * y
    return [x % modulus for x in out]


def lift(k, n, primes):
    """Sample polynomial k as integers modulo the product of the primes (Chinese remainders)."""
    product = math.prod(primes)
    weights = [product // q * pow(product // q, -1, q) for q in primes]
    return [sum(residue(i, k, q) * w for q, w in zip(primes, weights)) % product for i in range(n)]


def automorphism(a, g):
    n = len(a)
    out = [0] * n
    for i, x in enumerate(a):
        j = i * g % (2 * n)
        out[j % n] = x if j < n else -x
    return out


def switch_key(n, q, p, digits, rescale, g):
    """Both polynomials of the result, limb after limb. Samples: 0 is c, 1 and 2 are a_0 and a_1, 3 + 2i and 4 + 2i are
    b_i and a_i of the key."""
    big_p, big_q = math.prod(p), math.prod(q)
    c = lift(0, n, q)
    divisor = big_p * (q[-1] if rescale else 1)
    left = q[:-1] if rescale else q
    out = []
    for half in (0, 1):
        total = [big_p * x for x in lift(1 + half, n, q)]
        for i, (begin, end) in enumerate(digits):
            d = [centred(x, math.prod(q[begin:end])) for x in c]
            key = lift(3 + 2 * i + half, n, q + p)
            total = [x + y for x, y in zip(total, multiply(d, key, big_q * big_p))]
        total = [x % (big_q * big_p) for x in total]
        quotient = automorphism([(x - centred(x, divisor)) // divisor for x in total], g)
        for prime in left:
            out += [x % prime for x in quotient]
    return out


def array(name, values, kind="uint64_t"):
    lines, line = [], "   "
    for value in values:
        word = f" {value}{'u' if kind == 'uint64_t' else ''},"
        if len(line) + len(word) > 108:
            lines.append(line)
            line = "   "
        line += word
    return "\n".join([f"inline constexpr {kind} {name}[] = {{"] + lines + [line, "};"])


def text(name, value):
    return f'inline constexpr char {name}[] =\n    "{value}";'


def main():
    decimal.getcontext().prec = 80
    # The largest prime of 50 bits for both transforms.
    ntt_prime = next(q for q in range(2**50 - 2**13 + 1, 0, -(2**13)) if is_prime(q))
    small = transform([residue(i, 0, ntt_prime) for i in range(16)], ntt_prime)
    large = transform([residue(i, 0, ntt_prime) for i in range(4096)], ntt_prime)

    # The chain of the test's parameters: q_0 of 50 bits and four of 40, two special primes of 50 bits, N = 64.
    n = 64
    q = [1125899906837633, 1099511622529, 1099511630593, 1099511621249, 1099511630209]
    p = [1125899906840833, 1125899906839937]
    digits = [(0, 2), (2, 4), (4, 5)]
    for prime in q + p:
        assert is_prime(prime) and prime % (2 * n) == 1, prime
    plain = switch_key(n, q, p, digits, False, 1)
    rotated = switch_key(n, q, p, digits, True, 5)

    print("// Written by known_answers.py: see there and known_answers_test.cc.")
    print("#pragma once\n\n#include <cstdint>\n\nnamespace psm::ckks::known_answers {\n")
    print(f"inline constexpr uint64_t kNttPrime = {ntt_prime}u;")
    print(array("kNtt16", small))
    print(text("kNtt4096", digest(large)) + "\n")
    print(array("kCoefficients", encode(n, 40), "int64_t") + "\n")
    print(array("kQ", q))
    print(array("kP", p))
    print(array("kSwitchedBegin", plain[:8]))
    print(text("kSwitched", digest(plain)))
    print(array("kRotatedBegin", rotated[:8]))
    print(text("kRotated", digest(rotated)))
    print("\n}  // namespace psm::ckks::known_answers")


if __name__ == "__main__":
    main()
