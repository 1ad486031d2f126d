#!/usr/bin/env python3
"""Writes vectors.json and hostile.json with the implementation of ../replay: python3 make_vectors.py, no arguments.

Keys are made with the kernel's randomness replaced by a stream that repeats (README.md); they protect nothing.
"""
import hashlib
import json
import math
import os
import struct
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'replay'))
from bootstrap import Bootstrap, evaluate_series  # noqa: E402
from files import FROM_EPHEMERAL, chacha20, crc64, expand  # noqa: E402
from ring import Ring  # noqa: E402
from scheme import Scheme, coefficients, encode  # noqa: E402


# ---- fixed randomness ----------------------------------------------------------------------------------------------


class Kernel:
    """Word number i = 1, 2, ... of getrandom(2) is SplitMix64's for the state i 0x9e3779b97f4a7c15."""

    def __init__(self):
        self.position = 0

    def bytes(self, count):
        words = []
        for _ in range(count // 8):
            self.position += 1
            z = self.position * 0x9e3779b97f4a7c15 % 2**64
            z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 % 2**64
            z = (z ^ z >> 27) * 0x94d049bb133111eb % 2**64
            words.append(z ^ z >> 31)
        return struct.pack(f'<{len(words)}Q', *words)


class SecureRandom:
    """ChaCha20 whose key is replaced by the first 32 of every 4,096 bytes."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.renew()

    def renew(self):
        self.key, self.left = self.kernel.bytes(32), b''

    def words(self, count):
        out = b''
        while len(out) < 8 * count:
            if not self.left:
                block = chacha20(self.key, [0], 64).tobytes()
                self.key, self.left = block[:32], block[32:]
            taken = 8 * count - len(out)
            out, self.left = out + self.left[:taken], self.left[taken:]
        return np.frombuffer(out, np.uint64)

    def error(self, n):
        """21 fair coins less 21 fair coins."""
        coins = self.words(n)[:, None] >> np.arange(42, dtype=np.uint64) & np.uint64(1)
        return coins.sum(1).astype(np.int64) - 21

    def ternary(self, n, weight):
        if weight == 0:
            return np.array([(int(word) * 3 >> 64) - 1 for word in self.words(n)], np.int64)
        while True:  # a permutation by sorting random keys; the last two bits are the values
            words = self.words(n).copy()
            words[:weight] |= np.uint64(2)
            words[weight:] &= ~np.uint64(3)
            words.sort()
            if len(set((words >> np.uint64(2)).tolist())) == n:
                return np.array([(int(w) >> 1 & 1) * (1 - 2 * (int(w) & 1)) for w in words], np.int64)


class Party(Scheme):
    """Keys, made when they are first used, and encryption."""

    def __init__(self, ring, wanted):
        super().__init__(ring, Keys(self))
        self.kernel, s = Kernel(), ring.spec
        self.whole = ring.indexed(tuple(range(len(ring.primes))))
        self.secret = SecureRandom(self.kernel).ternary(ring.n, s['weight'])
        self.pair = struct.unpack('<Q', self.kernel.bytes(8))[0]
        self.s = self.whole.small(self.secret)
        self.errors, self.made = SecureRandom(self.kernel), []
        seed, top = self.kernel.bytes(32), ring.basis(ring.top)
        self.public = self.zero(expand(seed, 0, top), self.s, top)
        self.public = np.stack((self.public, expand(seed, 0, top)))
        self.encryption = SecureRandom(self.kernel)
        for key in wanted:
            self.keys[key]

    def zero(self, a, s, basis):
        """b = -a s + e."""
        self.errors.renew()
        e = basis.small(self.errors.error(self.ring.n))
        return basis.sub(e, basis.mul(a, s[list(basis.indices)]))

    def encrypt(self, plain):
        basis, ring = self.ring.basis(len(plain) - 1), self.ring
        self.encryption.renew()
        v = basis.small(self.encryption.ternary(ring.n, 0))
        e0, e1 = (basis.small(self.encryption.error(ring.n)) for _ in range(2))
        c0 = basis.add(basis.add(e0, basis.mul(v, self.public[0, :basis.limbs])), plain)
        return np.stack((c0, basis.add(e1, basis.mul(v, self.public[1, :basis.limbs]))))

    def encrypt_seeded(self, plain):
        basis, errors = self.ring.basis(len(plain) - 1), SecureRandom(self.kernel)
        a = expand(self.kernel.bytes(32), 0, basis)
        errors.renew()
        e = basis.small(errors.error(self.ring.n))
        return np.stack((basis.add(plain, basis.sub(e, basis.mul(a, self.s[:basis.limbs]))), a))


class Keys(dict):
    def __init__(self, party):
        super().__init__()
        self.party = party

    def __missing__(self, key):
        role, element, band = key
        party, ring = self.party, self.party.ring
        top = ring.bands[band][0]
        if role == 3:
            party.errors.renew()
            self.ephemeral = party.whole.small(party.errors.ternary(ring.n, ring.spec['ephemeral_weight']))
            self[key] = self._switching(3, 0, party.s, self.ephemeral, 0, 1)
        elif role == 1:
            self[key] = self._switching(1, 0, party.whole.mul(party.s, party.s), party.s, top, ring.special(top))
        else:
            source = party.s if role == 2 else self.ephemeral
            target = party.s[:, ring.permutation(pow(element, -1, 2 * ring.n))]
            self[key] = self._switching(role, element, source, target, top, ring.special(top))
        return self[key]

    def _switching(self, role, element, source, target, level, special):
        party, ring = self.party, self.party.ring
        basis, pairs, seed = ring.basis(level, special), [], party.kernel.bytes(32)
        product = math.prod(ring.p[:special])
        for d, (begin, end) in enumerate([(0, level + 1)] if role == 4 else ring.digits(level)):
            a = expand(seed, d, basis)
            b = party.zero(a, target, basis)
            own = ring.indexed(tuple(range(begin, end)))
            b[begin:end] = own.add(b[begin:end], own.mul(source[begin:end], own.constant(product)))
            pairs.append((b, a))
        key = MadeKey(element, level, special, pairs)
        b = np.stack([b for b, _ in pairs])
        party.made.append({'role': role, 'element': element, 'level': level, 'b': answer(b)})
        return key


class MadeKey:
    def __init__(self, element, level, special, pairs):
        self.element, self.level, self.special, self.digits = element, level, special, pairs


# ---- vectors -------------------------------------------------------------------------------------------------------


def answer(x):
    """SHA-256 of all residues as 64-bit words, and the first four of every polynomial."""
    data = np.ascontiguousarray(x, np.int64)
    return {'sha256': hashlib.sha256(data.tobytes()).hexdigest(),
            'first': [int(r) for polynomial in data.reshape(-1, *data.shape[-2:]) for r in polynomial[0, :4]]}


def sample(m):
    """Slots that all doubles hold exactly."""
    return np.array([[(55 * j + 11) % 101 / 64 - 50 / 64 for j in range(m)],
                     [(53 * j + 29) % 97 / 64 - 48 / 64 for j in range(m)]])


def transform(log_n, prime):
    """Coefficients (i + 3)^1000, transformed."""
    spec = (log_n, 50, 0, 40, 1, 40, 0, 50, 0, 50, 1, 50, 40, 8, 8)
    ring = Ring(spec, True)
    ring.primes[0] = prime
    ring.roots, ring.inverse_roots = ring._roots()
    basis = ring.basis(0)
    x = np.array([[pow(i + 3, 1000, prime) for i in range(ring.n)]], np.int64)
    return {'log_n': log_n, 'prime': prime, 'result': answer(basis.ntt(x))}


def of_ring(spec, wanted=None):
    """All of one ring. Keys are made before everything else, and the first round finds which are needed."""
    ring = Ring(spec, True)
    party = Party(ring, wanted or [])
    out = {'specification': list(spec), 'q': ring.q, 'p': ring.p,
           'scales': [scale.hex() for scale in ring.scales],
           'bands': [{'top': top, 'special': special, 'digits': [end for _, end in digits]}
                     for top, special, digits in ring.bands],
           'fingerprint': f'{ring.fingerprint():016x}', 'secret': party.secret.tolist(),
           'public': answer(party.public)}
    out['encodings'] = []
    for period, level, special, scale in ((1, 3, 0, 2.0**40), (4, ring.compute, ring.special(ring.compute), 2.0**45),
                                          (ring.n // 2, 1, 0, ring.scales[1])):
        parts, basis = sample(period), ring.basis(level, special)
        out['encodings'].append({'period': period, 'level': level, 'special': special, 'scale': scale.hex(),
                                 'coefficients': coefficients(parts, scale).tolist(),
                                 'residues': answer(encode(parts, scale, basis))})
    steps, values = [], {}

    def step(name, operation, result, of=(), **arguments):
        values[name] = result
        steps.append({'name': name, 'operation': operation, 'of': list(of), **arguments, 'result': answer(result)})

    def plain(period, level, scale=None):
        return encode(sample(period), scale or ring.scales[level], ring.basis(level))
    half, s, top, entry = ring.n // 2, party, ring.compute, ring.entry
    scales = ring.scales
    step('x', 'encrypt', s.encrypt(plain(half, top)), period=half, level=top)
    step('y', 'encrypt_seeded', s.encrypt_seeded(plain(8, top)), period=8, level=top)
    x, y = values['x'], values['y']
    step('sum', 'add', s.basis(x).add(x, y), 'xy')
    step('difference', 'subtract', s.basis(x).sub(x, y), 'xy')
    step('ix', 'times_i', s.times_i(x), 'x')
    step('constant', 'add_constant', s.add_constant(x, 0.375, -1.3, scales[top]), 'x', re=0.375, im=-1.3)
    step('plain', 'multiply_plain', s.rescale(s.basis(x).mul(x, plain(4, top))), 'x', period=4)
    step('product', 'multiply', s.relinearise(s.tensor((x, y))), 'xy')
    step('products', 'sum_of_products', s.relinearise(s.tensor((x, y), (y, y))), 'xyyy')
    step('switched', 'multiply_without_rescale',
         s.switch(s.tensor((x, y))[:2], s.tensor((x, y))[2], s.keys[1, 0, ring.band(top)]), 'xy')
    step('rescaled', 'rescale', s.rescale(values['switched']), ['switched'])
    step('dropped', 'drop_to_level', s.lower(x, 3), 'x', level=3)
    step('rotated', 'rotate', s.rotate(x, 3)[0], 'x', offset=3)
    step('turned', 'rotate_hoisted', s.rotate(x, 3, -1)[1], 'x', offset=-1)
    step('conjugated', 'conjugate', s.rotate(x, 0, conjugate=True)[0], 'x')
    step('rotations', 'sum_of_rotations', s.rotate(x, 0, 1, 2, 3, add=True)[0], 'x', offsets=[1, 2, 3])
    terms = [(o, giant, 0, baby, c, sample(4) * (1 + o + baby)) for o, giant, baby, c in
             ((0, 0, 0, False), (0, 0, 1, True), (0, 8, 0, False), (0, 4, 1, False), (0, -4, 2, False),
              (1, 0, 3, False))]
    weight = scales[top - 1] * float(ring.q[top]) / scales[top]
    for name, divides in (('linear', False), ('divided', True)):
        first, second = s.linear([x], 2, terms, weight, divides)
        step(name, 'linear', np.concatenate((first, second)), 'x', divides_sources=divides,
             terms=[[o, giant, baby, int(c), 1 + o + baby] for o, giant, _, baby, c, _ in terms])
    series = [0.1, 0.5, 0.0, -0.25, 0.0, 0.125, 0.3, 0.05, -0.02]
    step('series', 'series', evaluate_series(s, series, x, scales[top], scales[top - 4]), 'x', coefficients=series)
    low = s.encrypt(plain(half, 0))
    step('low', 'encrypt', low, period=half, level=0)
    bootstrap = Bootstrap(s)
    raised, special = bootstrap.mod_raise(low), ring.special(ring.top)
    back = s.turned(ring.top, raised, s.decompose(raised[1], special, raised=True), 1, FROM_EPHEMERAL)
    step('raised', 'mod_raise', s.contract(back, special), ['low'])
    level = ring.evalmod
    step('argument', 'encrypt', s.encrypt(plain(2, level)), period=2, level=level)
    step('reduced', 'eval_mod', bootstrap.eval_mod(values['argument']), ['argument'])
    step('entry', 'encrypt', s.encrypt(plain(half, entry)), period=half, level=entry)
    re, im = bootstrap.parts(values['entry'])
    step('bootstrapped', 'bootstrap', s.basis(re).add(re, s.times_i(im)), ['entry'])
    error = np.abs(np.array(s.decrypt(values['bootstrapped'], scales[top], s.s[:1])) - sample(half)).max()
    assert error < 1e-4, error  # and not only the same bits
    out['keys'], out['steps'] = party.made, steps
    return out if wanted else of_ring(spec, sorted(party.keys))


# ---- hostile files -------------------------------------------------------------------------------------------------


def packed(x, basis):
    """Residue i in bits [i b, (i + 1) b)."""
    out = b''
    for limb, q in zip(x.tolist(), basis.primes):
        bits = (q - 1).bit_length()
        out += sum(r << i * bits for i, r in enumerate(limb)).to_bytes(len(limb) * bits // 8, 'little')
    return out


def container(ring, records, magic=b'PSMCKKS\n', version=1, kind=4, fingerprint=None, name=b'hostile', insecure=1):
    header = magic + struct.pack('<IIQQ', version, kind, fingerprint or ring.fingerprint(), 7)
    header += struct.pack('<15iII', *ring.spec.values(), insecure, len(name)) + name
    data = header + struct.pack('<Q', crc64(header))
    for tag, payload in records:
        record = struct.pack('<IQ', tag, len(payload)) + payload
        data += record + struct.pack('<Q', crc64(record))
    end = struct.pack('<IQ', 0, len(records))
    return data + end + struct.pack('<Q', crc64(end))


def hostile():
    """A file that is in order, and what must be refused, each with what the refusal says."""
    ring = Ring((4, 50, 0, 40, 1, 40, 0, 50, 0, 50, 1, 50, 40, 8, 8), True)
    basis, note = ring.basis(0), (1, b'{}')
    polynomial = packed(expand(bytes(range(32)), 0, basis), basis)
    head = struct.pack('<Id', 0, ring.scales[0])
    good = [note, (2, head + 2 * polynomial), (3, head + bytes(range(32)) + polynomial)]
    whole = container(ring, good)
    changed = bytearray(whole)
    changed[-40] ^= 1
    in_header = bytearray(whole)
    in_header[24] ^= 1
    at_prime = struct.pack('<Q', ring.q[0])[:6] + bytes([polynomial[6] & 0xfc | ring.q[0] >> 48]) + polynomial[7:]
    cases = [
        ('in order', whole, ''),
        ('another kind of file', container(ring, good, magic=b'PSMPROG\n'), 'it is not a file of keys or ciphertexts'),
        ('a version that does not exist', container(ring, good, version=2), 'it has format version 2'),
        ('public keys', container(ring, good, kind=2), 'it holds a public key, expected ciphertexts'),
        ('other parameters', container(ring, good, fingerprint=1), 'parameters'),
        ('a changed header', bytes(in_header), 'its header is damaged (checksum)'),
        ('a name of 65 bytes', container(ring, good, name=65 * b'x'), 'its header is damaged'),
        ('a name that is not printable', container(ring, good, name=b'\33[2J'), 'plain text'),
        ('a flag of 2', container(ring, good, insecure=2), 'its header is damaged'),
        ('no note', container(ring, good[1:]), 'it does not say what it holds'),
        ('an unknown record', container(ring, good + [(9, b'')]), 'it holds an unknown record'),
        ('a record of three bytes', container(ring, [note, (2, b'abc')]), 'a ciphertext record is too short'),
        ('level 2 of 1', container(ring, [note, (2, struct.pack('<Id', 2, 2.0**40) + 2 * polynomial)]),
         "a ciphertext's level does not exist"),
        ('a scale that is not a number', container(ring, [note, (2, struct.pack('<Id', 0, math.nan) + 2 * polynomial)]),
         "a ciphertext's scale is impossible"),
        ('a scale of zero', container(ring, [note, (2, struct.pack('<Id', 0, 0.0) + 2 * polynomial)]),
         "a ciphertext's scale is impossible"),
        ('one polynomial of two', container(ring, [note, (2, head + polynomial)]), 'bytes where'),
        ('a residue that is its prime', container(ring, [note, (2, head + at_prime + polynomial)]),
         'a residue is not below its prime'),
        ('a changed residue', bytes(changed), 'it is damaged'),
        ('no end', whole[:-20], 'it is truncated'),
        ('half of it', whole[:len(whole) // 2], 'it is truncated'),
        ('a record of 2^60 bytes', container(ring, [note])[:-20] + struct.pack('<IQ', 2, 1 << 60) + bytes(64),
         'it is truncated'),
        ('a byte behind the end', whole + b'\0', 'there is something after its end'),
        ('more ciphertexts than are read', container(ring, good + good[1:] + good[1:]), 'it holds more than 4'),
    ]
    return {'specification': list(ring.spec.values()), 'read_at_most': 4,
            'files': [{'what': what, 'file': data.hex(), 'refusal': refusal}
                      for what, data, refusal in cases]}


def compact(value, depth=3):
    """JSON with a line for each member down to a depth."""
    if depth == 0 or not isinstance(value, (dict, list)):
        return json.dumps(value)
    inner = ([f'{json.dumps(key)}: {compact(member, depth - 1)}' for key, member in value.items()]
             if isinstance(value, dict) else [compact(item, depth - 1) for item in value])
    begin, end = '{}' if isinstance(value, dict) else '[]'
    return begin + '\n' + ',\n'.join(inner) + '\n' + end


def main():
    # Weight and levels differ; the second secret is dense.
    rings = [of_ring((6, 50, 2, 40, 13, 40, 8, 50, 4, 50, 6, 50, 40, 32, 32)),
             of_ring((8, 50, 2, 40, 6, 40, 8, 50, 3, 50, 9, 50, 40, 0, 32))]
    prime = 1125899906826241
    vectors = {'transforms': [transform(4, prime), transform(12, prime)], 'rings': rings}
    with open(os.path.join(HERE, 'vectors.json'), 'w') as file:
        file.write(compact(vectors))
    with open(os.path.join(HERE, 'hostile.json'), 'w') as file:
        file.write(compact(hostile()))


if __name__ == '__main__':
    main()
