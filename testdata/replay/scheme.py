"""Encoding and the operations on ciphertexts: FORMATS.md, "Encoding", "Change of basis, division" and "Key switch".

A ciphertext at level l is an array of two polynomials with l + 1 limbs. An extended pair has the special primes'
limbs as well, and stands for itself divided by their product P.
"""
import functools
import math

import numpy as np

from files import FROM_EPHEMERAL, GALOIS
from ring import convert, divide, reversal

ONE = 10**70
PI = 31415926535897932384626433832795028841971693993751058209749445923078164  # in units of 1 / ONE

@functools.lru_cache(None)
def unit_root(k, n):
    """The doubles nearest to cos and sin of 2 pi k / n."""
    if 4 * k % n == 0:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[4 * k // n % 4]
    x, term, sums, power = 2 * PI * (k % n) // n, ONE, [0, 0], 0
    while term:
        sums[power % 2] += -term if power % 4 > 1 else term
        power += 1
        term = term * x // ONE // power
    return sums[0] / ONE, sums[1] / ONE  # a quotient of integers is rounded once

@functools.lru_cache(None)
def places(m):
    """Where slot j stands in the transform: its root's exponent is 5^j, those of the places are 1 + 4 brv."""
    return reversal(m.bit_length() - 1)[[(pow(5, j, 4 * m) - 1) // 4 for j in range(m)]]

@functools.lru_cache(None)
def twiddles(blocks):
    roots = [unit_root(1 + 4 * int(b), 8 * blocks) for b in reversal(blocks.bit_length() - 1)]
    return np.array(roots).T.reshape(2, blocks, 1)

def coefficients(parts, scale):
    """Integer coefficients, 2 m of them, of vectors of m slots: parts[..., 0 and 1, slot]."""
    x, shape, blocks = np.empty_like(parts), parts.shape[:-2] + parts.shape[-1:], parts.shape[-1]
    x[..., places(blocks)] = parts * (1.0 / blocks)
    re, im = x[..., 0, :], x[..., 1, :]
    while blocks > 1:
        blocks //= 2
        c, s = twiddles(blocks)
        (r0, r1), (i0, i1) = (np.moveaxis(v.reshape(shape[:-1] + (blocks, 2, -1)), -2, 0) for v in (re, im))
        dr, di = r0 - r1, i0 - i1
        re = np.stack((r0 + r1, dr * c + di * s), -2).reshape(shape)
        im = np.stack((i0 + i1, di * c - dr * s), -2).reshape(shape)
    x = np.concatenate((re, im), -1) * scale
    return np.where(np.abs(x) < 2.0**51, np.rint(x), np.trunc(x)).astype(np.int64)

def slots(x, scale):
    """The slots, real and imaginary parts, of N coefficients in doubles: the values at zeta^(5^j)."""
    n = len(x)
    at_odd_powers = n * np.fft.ifft(x * np.exp(1j * np.pi / n * np.arange(n))) / scale
    values = at_odd_powers[[pow(5, j, 2 * n) // 2 for j in range(n // 2)]]
    return values.real, values.imag

def encode(parts, scale, basis):
    """Plaintexts of vectors of one period: their residues modulo the primes of a basis."""
    residues = basis.small(coefficients(parts, scale))
    return np.repeat(residues, basis.ring.n // residues.shape[-1], -1)

class Scheme:
    def __init__(self, ring, keys):
        self.ring, self.keys = ring, keys

    def basis(self, c):
        return self.ring.basis(c.shape[1] - 1)

    def decrypt(self, c, scale, secret):
        """All slots: the coefficients of c_0 + c_1 s nearest to zero, with the secret modulo q_0 alone."""
        basis = self.ring.basis(0)
        return slots(basis.signed(basis.add(c[0, :1], basis.mul(c[1, :1], secret)))[0], scale)

    def gaussian(self, re, im, scale, basis):
        """The polynomial re + im X^(N/2), rounded at a scale: in every slot re + i im."""
        x = np.zeros(self.ring.n, np.int64)
        x[0], x[self.ring.n // 2] = np.rint(re * scale), np.rint(im * scale)
        return basis.small(x)

    def add_constant(self, c, re, im, scale):
        basis = self.basis(c)
        return np.stack((basis.add(c[0], self.gaussian(re, im, scale, basis)), c[1]))

    def times_i(self, c, sign=1):
        return self.basis(c).mul(c, self.gaussian(0, sign, 1, self.basis(c)))

    def rescale(self, c):
        """round(c / q_l), a level lower."""
        return self.contract(c, 0, True)

    def lower(self, c, level):
        """From the canonical scale of a level to that of one at most as high."""
        before, after, basis = self.ring.scales[c.shape[1] - 1], self.ring.scales[level], self.ring.basis(level + 1)
        if before == after:
            return c[:, :level + 1]
        factor = after * float(self.ring.q[level + 1]) / before
        return self.rescale(basis.mul(c[:, :level + 2], basis.constant(int(np.rint(factor)))))

    def decompose(self, x, special, raised=False):
        """The digits of a polynomial, a raised one whole, each modulo its primes and `special` special ones."""
        ring, digits = self.ring, []
        basis = ring.basis(len(x) - 1, special)
        for begin, end in [(0, 1)] if raised else ring.digits(len(x) - 1):
            own = ring.indexed(tuple(range(begin, end)))
            others = ring.indexed(tuple(i for i in basis.indices if not begin <= i < end))
            extended = others.ntt(convert(own.intt(x[begin:end]), own, others))
            digits.append(np.concatenate((extended[:begin], x[begin:end], extended[begin:])))
        return digits

    def inner(self, digits, key):
        """sum_d d (b_d, a_d)."""
        level = len(digits[0]) - key.special - 1
        basis, out = self.ring.basis(level, key.special), np.zeros((2, *digits[0].shape), np.int64)
        rows = [*range(level + 1), *range(key.level + 1, key.level + 1 + key.special)]
        for digit, (b, a) in zip(digits, key.digits):
            out = basis.add(out, basis.mul(digit, np.stack((b[rows], a[rows]))))
        return out

    def extend(self, c, limbs):
        """P c with so many limbs, P the product of the special primes; an extended pair stays as it is."""
        special = limbs - c.shape[1]
        if special == 0:
            return c
        product = self.basis(c).constant(math.prod(self.ring.p[:special]))
        return np.concatenate((self.basis(c).mul(c, product), np.zeros((2, special, self.ring.n), np.int64)), 1)

    def contract(self, pair, special, rescale=False):
        """round(pair / P), or round(pair / (P q_l)) a level lower."""
        level = pair.shape[1] - special - 1
        return np.stack([divide(x, self.ring.basis(level, special), self.ring.basis(level - rescale)) for x in pair])

    def switch(self, c, x, key, rescale=False):
        """c and what the key makes of x, another polynomial at the same level."""
        basis = self.ring.basis(len(x) - 1, key.special)
        pair = basis.add(self.inner(self.decompose(x, key.special), key), self.extend(c, basis.limbs))
        return self.contract(pair, key.special, rescale)

    def tensor(self, *pairs):
        """Sums of products as three polynomials, for powers 0, 1 and 2 of the secret."""
        basis, out = self.basis(pairs[0][0]), np.zeros((3, *pairs[0][0].shape[1:]), np.int64)
        for a, b in pairs:
            for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
                out[i + j] = basis.add(out[i + j], basis.mul(a[i], b[j]))
        return out

    def relinearise(self, product):
        """Back to two polynomials, rescaled."""
        return self.switch(product[:2], product[2], self.keys[1, 0, self.ring.band(product.shape[1] - 1)], True)

    def turned(self, level, c, digits, g, role=GALOIS):
        """sigma_g(c), extended; with the role FROM_EPHEMERAL, c is raised."""
        basis = self.ring.basis(level, self.ring.special(level))
        if (role, g) == (GALOIS, 1):
            return self.extend(c, basis.limbs)
        switched = self.inner(digits, self.keys[role, g, self.ring.band(level)])
        pair = self.extend(np.stack((c[0], 0 * c[1])), basis.limbs)
        return basis.add(pair, switched)[..., self.ring.permutation(g)]

    def rotate(self, c, *offsets, conjugate=False, add=False):
        """Rotations with one decomposition, or only their sum."""
        level, special = c.shape[1] - 1, self.ring.special(c.shape[1] - 1)
        digits, elements = self.decompose(c[1], special), (self.ring.rotation(k, conjugate) for k in offsets)
        turned = [self.turned(level, c, digits, g) for g in elements]
        sums = [functools.reduce(self.ring.basis(level, special).add, turned)] if add else turned
        return [self.contract(pair, special) for pair in sums]

    def linear(self, inputs, outputs, terms, weight_scale, divides_sources=False, raised=False):
        """out_o = sum_g rot_g(sum w . rot_b(x or conj x)); terms are (output, giant, input, baby, conjugate, parts)."""
        level, sums, sources = inputs[0].shape[1] - 1, {}, {}
        special = self.ring.special(level)
        digits, role = [self.decompose(c[1], special, raised) for c in inputs], FROM_EPHEMERAL if raised else GALOIS
        basis = self.ring.basis(level, 0 if divides_sources else special)
        for output, giant, source, baby, conjugate, parts in terms:
            g, place = self.ring.rotation(baby, conjugate), (output, giant)
            if (source, g) not in sources:
                turned = self.turned(level, inputs[source], digits[source], g, role)
                sources[source, g] = self.contract(turned, special) if divides_sources else turned
            product = basis.mul(sources[source, g], encode(parts, weight_scale, basis))
            sums[place] = basis.add(sums[place], product) if place in sums else product
        return [self._horner(sums, output, level, special) for output in range(outputs)]

    def _horner(self, sums, output, level, special):
        """Giants from the outermost to 0: the difference of two is the rotation. What a step leads to is extended."""
        basis = self.ring.basis(level, special)
        giants = sorted({giant for o, giant in sums if o == output} | {0})
        for chain in ([g for g in reversed(giants) if g >= 0], [g for g in giants if g <= 0]):
            for giant, following in zip(chain, chain[1:]):
                c, place = sums.pop((output, giant)), (output, following)
                x = divide(c[1], basis, self.ring.basis(level)) if c.shape[1] > level + 1 else c[1]
                moved = self.turned(level, c, self.decompose(x, special), self.ring.rotation(giant - following))
                sums[place] = basis.add(self.extend(sums[place], basis.limbs), moved) if place in sums else moved
        c = sums[output, 0]
        return self.contract(c, c.shape[1] - level - 1, rescale=True)
