"""Parameters and polynomials: FORMATS.md, "Parameters" and "Change of basis, division".

A polynomial is an array of int64: a row (limb) for each prime, a column for each residue.
"""
import functools
import math
import struct

import numpy as np

FIELDS = ('log_n', 'q0_bits', 'stc_levels', 'stc_bits', 'compute_levels', 'compute_bits', 'evalmod_levels',
          'evalmod_bits', 'cts_levels', 'cts_bits', 'p_count', 'p_bits', 'log_scale', 'weight', 'ephemeral_weight')

def is_prime(n):
    """Miller and Rabin's test; with these bases it is a proof below 2^64."""
    twos = ((n - 1) & (1 - n)).bit_length() - 1
    def passes(base):
        powers = [pow(base, n - 1 >> twos << i, n) for i in range(twos)]
        return powers[0] == 1 or n - 1 in powers
    return all(passes(base) for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37))

def take_prime(log_n, used, target):
    """The prime nearest to a target that is 1 modulo 2 N and not in use yet."""
    step, center = 2 << log_n, int(target / (2 << log_n))
    for distance in range(center // 2 + 2):
        both = [c * step + 1 for c in (center - distance, center + distance)]
        found = [p for p in both if step < p < 1 << 50 and p not in used and is_prime(p)]
        if found:
            used.append(min(found, key=lambda prime: abs(prime - target)))  # the lower one of two equally near
            return used[-1]
    raise ValueError('no prime is left')

def reversal(log_n):
    """The reversal of log_n bits, as a table."""
    table = np.zeros(1, np.int64)
    for _ in range(log_n):
        table = np.concatenate((2 * table, 2 * table + 1))
    return table

class Modulo:
    """Arithmetic of residues modulo primes below 2^50, an array of them that broadcasts."""
    def __init__(self, q):
        self.q, self.reciprocal = q, 1.0 / q

    def positive(self, x):
        return np.minimum(x.view(np.uint64), (x + self.q).view(np.uint64)).view(np.int64)  # negative ones are large

    def add(self, a, b):
        return self.positive(a + b - self.q)

    def sub(self, a, b):
        return self.positive(a - b)

    def mul(self, a, b):
        """The nearest quotient in doubles is less than one off, and a b less its multiple of q is exact modulo 2^64."""
        multiple = np.rint(a * (b * self.reciprocal)).astype(np.int64)
        return self.positive(a * b - multiple * self.q)

class Basis(Modulo):
    """Some primes of a ring, by their places in the list of all, one for each limb."""
    def __init__(self, ring, indices):
        self.ring, self.indices, self.limbs = ring, indices, len(indices)
        self.primes = [ring.primes[i] for i in indices]
        super().__init__(np.array(self.primes, np.int64)[:, None])
        self.across = Modulo(self.q[:, 0])  # limbs innermost
        self.roots, self.inverse_roots = ring.roots[:, list(indices)], ring.inverse_roots[:, list(indices)]

    def constant(self, value):
        """The residues of an integer of any size, or of one integer for each limb."""
        values = value if isinstance(value, list) else [value] * self.limbs
        return np.array([v % q for v, q in zip(values, self.primes)], np.int64)[:, None]

    def small(self, values):
        """Integers below 2^63 in absolute value, as coefficients of a polynomial, transformed."""
        return self.ntt(np.mod(np.asarray(values, np.int64)[..., None, :], self.q))

    def signed(self, x):
        """The coefficients, nearest to zero, of a polynomial with one limb."""
        x = self.intt(x)
        return np.where(x > self.q // 2, x - self.q, x)

    def ntt(self, x):
        """From coefficients to A[j] = a(psi^(2 brv(j) + 1)), for x[..., limb, n], n at most N."""
        def layer(even, odd, blocks):
            odd = self.across.mul(odd, self.roots[blocks:2 * blocks, None, :])
            return self.across.add(even, odd), self.across.sub(even, odd)
        return self._layers(x, range(x.shape[-1].bit_length() - 1), layer)

    def intt(self, x):
        def layer(even, odd, blocks):
            odd, even = self.across.sub(even, odd), self.across.add(even, odd)
            return even, self.across.mul(odd, self.inverse_roots[blocks:2 * blocks, None, :])
        x = self._layers(x, reversed(range(x.shape[-1].bit_length() - 1)), layer)
        return self.mul(x, self.constant([pow(x.shape[-1], -1, q) for q in self.primes]))

    def _layers(self, x, order, layer):
        x = np.ascontiguousarray(np.swapaxes(x, -1, -2))  # limbs innermost: all loops have one length
        for blocks in (1 << i for i in order):
            pairs = x.reshape(x.shape[:-2] + (blocks, 2, -1, self.limbs))
            x = np.stack(layer(pairs[..., 0, :, :], pairs[..., 1, :, :], blocks), -3).reshape(x.shape)
        return np.ascontiguousarray(np.swapaxes(x, -1, -2))

class Ring:
    """The primes, scales and digits that a specification names."""
    def __init__(self, spec, insecure=True):
        self.numbers, self.insecure = tuple(spec), int(insecure)
        s = self.spec = dict(zip(FIELDS, spec))
        self.log_n, self.n = s['log_n'], 1 << s['log_n']
        self.levels = self.numbers[2:10:2]  # of each part, from the lowest; its highest one:
        self.entry, self.compute, self.evalmod, self.top = np.cumsum(self.levels).tolist()
        take = functools.partial(take_prime, self.log_n, [])
        def nominal(level):
            name = 'cts_bits' if level > self.evalmod else 'evalmod_bits' if level > self.compute else 'log_scale'
            return 2.0**s[name] - (2.0**26 if s[name] == 50 and level > self.compute else 0)
        p = [take(2.0**s['p_bits']) for _ in range(s['p_count'])]
        q = [take(2.0**s['q0_bits'])] + [0] * self.top
        self.scales = [nominal(level) for level in range(self.top + 1)]
        for level in range(self.top, 0, -1):
            square = self.scales[level] * self.scales[level]
            q[level] = take(square / nominal(level))
            if nominal(level - 1) == nominal(level):
                self.scales[level - 1] = square / float(q[level])
        self.bands = self._bands([math.log2(prime) for prime in q], sum(math.log2(prime) for prime in p))
        p += [take(2.0**s['p_bits']) for _ in range(max(special for _, special, _ in self.bands) - len(p))]
        self.q, self.p, self.primes = q, p, q + p
        self.roots, self.inverse_roots = self._roots()

    def _bands(self, log2_q, log2_p):
        """(highest level, special primes, digits) of each, from the lowest."""
        s, tops, bands = self.spec, set(), []
        for levels, top in zip(self.levels, (self.entry, self.compute, self.evalmod, self.top)):
            tops |= ({top} if levels else set()) | ({top - levels // 2} if levels >= 8 else set())
        tops |= {s['stc_levels'] + 1} if s['stc_levels'] and s['compute_levels'] else set()
        tops |= {self.evalmod - 1} if s['evalmod_levels'] > 1 else set()
        for level in sorted(tops | set(range(self.evalmod + 1, self.top))):
            limbs, choices = level + 1, []
            for k in range(1, min(self.top + s['p_count'] - level, 15) + 1):
                digits = partition(log2_q[:limbs], k * s['p_bits'])
                conversions = 2 * (k + 1) * limbs + sum((e - b + 1) * (limbs + k - e + b) for b, e in digits)
                transforms = len(digits) * (limbs + k) + 2 * k + 2 * limbs
                cost = transforms + len(digits) * (limbs + k) / 3 + conversions / 32 + (limbs + k) / 2
                if digits and sum(log2_q[:limbs]) + k * s['p_bits'] <= sum(log2_q) + log2_p + 1e-3:
                    choices.append((cost, k, digits))
            best = (0, s['p_count'], partition(log2_q, log2_p)) if level == self.top else min(choices)
            bands.append((level, *best[1:]))
        return bands

    def band(self, level):
        return sum(top < level for top, _, _ in self.bands)

    def special(self, level):
        return self.bands[self.band(level)][1]

    def digits(self, level):
        """Pairs (first prime, one behind the last), cut off at the level."""
        return [(b, min(e, level + 1)) for b, e in self.bands[self.band(level)][2] if b <= level]

    def _roots(self):
        """psi^brv(i) in row i, a column for each prime; and the inverses."""
        self.brv, psis = reversal(self.log_n), []
        for q in self.primes:
            roots = (pow(g, (q - 1) // (2 * self.n), q) for g in range(2, q))
            psis.append(next(root for root in roots if pow(root, self.n, q) == q - 1))
        return [np.array([[pow(psi, sign * e, q) for psi, q in zip(psis, self.primes)] for e in self.brv.tolist()])
                for sign in (1, -1)]

    @functools.lru_cache(None)
    def indexed(self, indices):
        return Basis(self, indices)

    def basis(self, level, special=0):
        """q_0 .. q_level, then p_0 .. p_{special - 1}."""
        return self.indexed((*range(level + 1), *range(len(self.q), len(self.q) + special)))

    def rotation(self, offset, conjugate=False):
        """The Galois element that moves slot j + offset to slot j."""
        g = pow(5, offset % (self.n // 2), 2 * self.n)
        return 2 * self.n - g if conjugate else g

    @functools.lru_cache(None)
    def permutation(self, g):
        """Residue j of sigma_g(a) is residue permutation[j] of a: the root's exponent 2 brv(j) + 1 times g."""
        return self.brv[(g * (2 * self.brv + 1) % (2 * self.n) - 1) // 2]

    def fingerprint(self):
        value = 0xcbf29ce484222325
        words = [self.log_n, *self.q, 0, *self.p, *self.levels, *self.numbers[-3:], self.insecure]
        specials = [special for _, special, _ in self.bands]
        form = f'<{len(words)}Q{len(self.scales)}d{len(specials)}Q'
        for byte in struct.pack(form, *words, *self.scales, *specials):
            value = (value ^ byte) * 0x100000001b3 % 2**64
        return value

def partition(log2_q, p_bits):
    """Digits of these primes for special primes of p_bits together; none if a prime is larger."""
    digits, end = [], 0
    while end < len(log2_q):
        begin, bits = end, 0.0
        while end < len(log2_q) and end - begin < 16 and bits + log2_q[end] <= p_bits + (0.01 if end == begin else -8):
            bits, end = bits + log2_q[end], end + 1
        if end == begin:
            return []
        digits.append((begin, end))
    return digits

def convert(x, sources, targets):
    """Coefficients modulo the primes of `sources`, as integers in [-D/2, D/2], modulo those of `targets`."""
    product, multiple, out = math.prod(sources.primes), 0.0, np.zeros((targets.limbs, x.shape[-1]), np.int64)
    factors = sources.constant([pow(product // r, -1, r) for r in sources.primes])
    for y, r in zip(sources.mul(x, factors), sources.primes):
        multiple = multiple + y * (1.0 / r)
        out = targets.add(out, targets.mul(y[None], targets.constant(product // r)))
    return targets.sub(out, targets.mul(np.rint(multiple).astype(np.int64)[None], targets.constant(product)))

def divide(x, basis, targets):
    """round(x / D) modulo the primes of `targets`, D the product of the others of the basis, special ones first."""
    left = [i for i in range(basis.limbs) if basis.indices[i] not in targets.indices]
    left.sort(key=lambda i: (basis.indices[i] <= basis.ring.top, i))
    sources = basis.ring.indexed(tuple(basis.indices[i] for i in left))
    remainder = targets.ntt(convert(sources.intt(x[left]), sources, targets))
    inverse = targets.constant([pow(math.prod(sources.primes), -1, q) for q in targets.primes])
    return targets.mul(targets.sub(x[:targets.limbs], remainder), inverse)
