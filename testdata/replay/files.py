"""Files as FORMATS.md describes them: keys and ciphertexts, NAME.program, NAME.client."""
import functools
import hashlib
import struct
from types import SimpleNamespace

import numpy as np

from ring import Ring

TABLE = []  # what eight zeros make of a byte
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0xc96c5795d7870f42 if byte & 1 else 0)
    TABLE.append(byte)

def crc64(data, value=2**64 - 1):
    """CRC-64 of ECMA-182, reflected."""
    for byte in data:
        value = TABLE[(value ^ byte) & 255] ^ value >> 8
    return value ^ 2**64 - 1

class Reader:
    """Numbers, texts and lists, one after another."""
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        assert count <= len(self.data) - self.at, 'the file ends early'
        self.at += count
        return self.data[self.at - count:self.at]

    def numbers(self, format_):
        return struct.unpack('<' + format_, self.take(struct.calcsize('<' + format_)))

    def one(self, format_):
        return self.numbers(format_)[0]

    def text(self):
        return self.take(self.one('I')).decode()

    def list(self, item):
        return [item() for _ in range(self.one('I'))]

    def differences(self, before):
        for place in range(len(before)):
            code, shift, byte = 0, 0, 128
            while byte >= 128:
                byte = self.one('B')
                code, shift = code | (byte & 127) << shift, shift + 7
            before[place] += -(code >> 1) - 1 if code & 1 else code >> 1
        return tuple(before)

    def array(self, type_):
        return np.frombuffer(self.take(self.one('I') * np.dtype(type_).itemsize), type_)

SECRET, EVALUATION, CIPHERTEXTS = 1, 3, 4  # kinds of files
RELINEARISATION, GALOIS, TO_EPHEMERAL, FROM_EPHEMERAL = 1, 2, 3, 4  # tags of evaluation keys

def read_container(path, kind, ring):
    """The records, as (tag, payload), of a file whose parameters are this ring's; and the key pair's fingerprint."""
    reader = Reader(open(path, 'rb').read())
    def checked(begin, what):
        assert crc64(reader.data[begin:reader.at]) == reader.one('Q'), f'{path}: the checksum of {what} is wrong'
    assert reader.take(8) == b'PSMCKKS\n' and reader.numbers('IIQ') == (1, kind, ring.fingerprint()), \
        f'{path}: not a file of kind {kind} for these parameters'
    pair, spec, insecure, _ = reader.one('Q'), reader.numbers('15i'), reader.one('I'), reader.text()
    checked(0, 'the header')
    records, tag = [], -1
    while tag != 0:
        begin = reader.at
        tag, size = reader.numbers('IQ')
        records.append((tag, reader.take(size if tag else 0)))
        checked(begin, f'record {len(records)}')
    assert size == len(records) - 1 and reader.at == len(reader.data), f'{path}: it has other records than it says'
    assert (spec, insecure) == (ring.numbers, ring.insecure), f'{path}: it has other parameters than it says'
    return records[:-1], pair

def read_polynomial(reader, basis):
    """Residue i of a limb is in bits [i b, (i + 1) b), b the bit length of q - 1."""
    limbs, n = [], basis.ring.n
    for q in basis.primes:
        bits = (q - 1).bit_length()
        packed = np.frombuffer(reader.take(n * bits // 8), np.uint8)
        limbs.append(np.unpackbits(packed, bitorder='little').reshape(n, bits) @ (1 << np.arange(bits)))
        assert (limbs[-1] < q).all(), 'a residue is not below its prime'
    return np.stack(limbs)

def chacha20(seed, nonces, blocks):
    """The first blocks of the streams of some nonces, a row of bytes each; counter and nonce have 64 bits."""
    words = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, *struct.unpack('<8I', seed)]
    start = np.zeros((16, len(nonces), blocks), np.uint32)
    start[:12] = np.array(words, np.uint32)[:, None, None]
    start[12] = np.arange(blocks, dtype=np.uint32)
    start[14:] = np.array([[nonce & 0xffffffff, nonce >> 32] for nonce in nonces], np.uint32).T[:, :, None]
    x = start.reshape(4, 4, -1).copy()
    def turned(a, b, by):
        a ^= b
        return a << np.uint32(by) | a >> np.uint32(32 - by)
    for half_round in range(20):
        for first, second in ((16, 12), (8, 7)):
            x[0] += x[1]
            x[3] = turned(x[3], x[0], first)
            x[2] += x[3]
            x[1] = turned(x[1], x[2], second)
        for row in (1, 2, 3):  # columns become diagonals, and diagonals columns
            x[row] = np.roll(x[row], row if half_round % 2 else -row, 0)
    stream = x.reshape(16, -1) + start.reshape(16, -1)
    return np.ascontiguousarray(stream.T).reshape(len(nonces), -1).view(np.uint8)

def expand(seed, digit, basis):
    """The uniform polynomial of a seed: w q / 2^52, w the low 52 bits of a word, where the rest is large enough."""
    n, low = basis.ring.n, np.uint64(2**52 - 1)
    words = chacha20(seed, [digit << 32 | index for index in basis.indices], n // 8 + 16).view(np.uint64) & low
    product = words * basis.q.astype(np.uint64)  # modulo 2^64
    estimate = (words * (basis.q / 2.0**52)).astype(np.int64)  # of the quotient, one off at most
    quotient = estimate + ((product >> np.uint64(52)).astype(np.int64) - estimate + 2048) % 4096 - 2048
    kept = product & low >= np.uint64(2**52) % basis.q.astype(np.uint64)
    return np.stack([row[keep][:n] for row, keep in zip(quotient, kept)])

class Key:
    """A key-switching key, expanded when it is first used."""
    def __init__(self, ring, payload):
        self.reader = Reader(payload)
        self.element, self.level, self.special, self.count = self.reader.numbers('4I')
        self.basis, self.seed = ring.basis(self.level, self.special), self.reader.take(32)

    @functools.cached_property
    def digits(self):
        """(b, a) of each digit."""
        return [(read_polynomial(self.reader, self.basis), expand(self.seed, digit, self.basis))
                for digit in range(self.count)]

def read_keys(path, ring):
    """Keys by role, element and band."""
    records, pair = read_container(path, EVALUATION, ring)
    keys = ((tag, Key(ring, payload)) for tag, payload in records)
    return {(tag, key.element, ring.band(key.level)): key for tag, key in keys}, pair

def read_secret(path, ring):
    """The coefficients, -1, 0 or 1."""
    ((_, payload),), pair = read_container(path, SECRET, ring)
    twos = np.frombuffer(payload, np.uint8)[:, None] >> np.arange(0, 8, 2, dtype=np.uint8) & 3
    return twos.reshape(-1)[:ring.n].astype(np.int64) - 1, pair

def read_ciphertexts(path, ring):
    """The note, and (c, scale) of each ciphertext, c an array of two polynomials."""
    (note, *records), pair = read_container(path, CIPHERTEXTS, ring)
    found = []
    for tag, payload in records:
        reader = Reader(payload)
        level, scale = reader.numbers('Id')
        basis, seed = ring.basis(level), reader.take(32) if tag == 3 else None
        c0 = read_polynomial(reader, basis)
        found.append((np.stack((c0, expand(seed, 0, basis) if seed else read_polynomial(reader, basis))), scale))
    reader = Reader(note[1])
    assert reader.one('I') == 1, f'{path}: its note is not of prompts or answers'
    program, request = reader.numbers('QQ')
    return SimpleNamespace(program=program, request=request, names=reader.list(reader.text)), found, pair

def read_lengths(path):
    """The lengths of a request's prompts, by group."""
    data = open(path, 'rb').read()
    assert crc64(data[:-8]) == struct.unpack('<Q', data[-8:])[0], f'{path}: the checksum is wrong'
    reader = Reader(data[:-8])
    assert reader.one('I') == 8, f'{path}: not a record of lengths'
    return reader.list(lambda: reader.array('<i4').tolist())

OPCODES = ('input add subtract negate times_i add_plain multiply_plain multiply sum_of_products rotate sum_of_rotations '
           'conjugate linear series refresh bootstrap').split()

def read_parameters(reader):
    reader.text()
    return Ring(reader.numbers('15i'), reader.one('B'))

def read_key_request(reader):
    reader.array('<i4'), [reader.list(lambda: (reader.one('Q'), reader.array('<i4'))) for _ in range(2)]

class Program:
    def __init__(self, path):
        data = open(path, 'rb').read()
        constants_at, constants_size, tables_at, tables_size = struct.unpack_from('<4Q', data, 16)
        tables, self.section = data[tables_at:], data[constants_at:constants_at + constants_size]
        self.digest = hashlib.sha256(data[:64] + bytes(32) + data[96:128] + tables).digest()
        assert data[:12] == b'PSMPROG\n\4\0\0\0', f'{path}: not a program of version 4'
        assert self.digest == data[64:96] and tables_size == len(tables), f'{path}: the digest is wrong'
        r = Reader(tables)
        self.ring, _ = read_parameters(r), r.text()
        pages, run, count = r.list(lambda: r.take(32)), [0, 0, 0], [0]
        assert len(pages) == (constants_size + 16383) // 16384, f'{path}: checksums of more or fewer pages'
        for page in range(len(pages)):
            found = hashlib.sha256(self.section[16384 * page:16384 * (page + 1)]).digest()
            assert found == pages[page], f'{path}: page {page} of the constants is damaged'
        self.runs = r.list(lambda: r.differences(run))
        self.constants = r.list(lambda: (*r.differences(count), *r.numbers('BBf')))
        self.first_runs = np.cumsum([0] + [constant[0] for constant in self.constants]).tolist()
        labels = r.list(r.text)
        self.transforms = r.list(lambda: (*r.numbers('iB'), self._terms(r)))
        self.series = r.list(lambda: r.array('<f8').tolist())
        self.entries = dict(r.list(lambda: (r.text(), self._entry(r, labels))))

    def _terms(self, r):
        term = [0] * 5
        return r.list(lambda: (*r.differences(term), r.one('B')))

    def _entry(self, r, labels):
        e = SimpleNamespace(values=r.list(lambda: r.numbers('BQQi')))  # real, period, block, level
        e.instructions = r.list(lambda: self._instruction(r, labels))
        e.argument_levels = r.numbers(f'{len(e.instructions)}i')
        e.inputs, e.outputs = (r.list(lambda: (r.text(), r.one('i'))) for _ in range(2))
        r.list(lambda: (r.numbers('idd'), r.text(), r.one('I')))  # range checks
        read_key_request(r)
        r.text(), r.one('i'), r.list(lambda: r.list(lambda: (r.numbers('II'), r.array('<i4'))))  # by argument
        return e

    def _instruction(self, r, labels):
        i = SimpleNamespace(opcode=OPCODES[r.one('B')], label=labels[r.one('I')])
        i.arguments, i.results = r.array('<i4').tolist(), r.array('<i4').tolist()
        i.data = (r.one('I') if i.opcode in ('add_plain', 'multiply_plain', 'linear', 'series') else
                  r.array('<i4').tolist() if i.opcode in ('rotate', 'sum_of_rotations') else
                  r.numbers('QQ') if i.opcode == 'bootstrap' else None)
        return i

    def constant(self, index):
        """One period, as real and imaginary parts."""
        first, (count, log2_period, kind, _) = self.first_runs[index], self.constants[index]
        parts, width = np.zeros((2, 1 << log2_period)), 1 if kind & 1 else 2
        for place, slot, slots in self.runs[first:first + count]:
            data = self.section[place:place + slots * width * (8 if kind & 2 else 4)]
            parts[:width, slot:slot + slots] = np.frombuffer(data, '<f8' if kind & 2 else '<f4').reshape(slots, width).T
        return parts

def read_client(path):
    data = open(path, 'rb').read()
    magic, version, _, size, checksum = struct.unpack_from('<8sIIQQ', data)
    assert (magic, version) == (b'PSMCLNT\n', 10), f'{path}: not a client file of version 10'
    r = Reader(data[32:32 + size])
    assert crc64(r.data) == checksum, f'{path}: the checksum is wrong'
    c = SimpleNamespace(program=r.take(32), ring=read_parameters(r))
    read_key_request(r)
    r.list(lambda: (r.text(), [r.list(lambda: (r.text(), r.one('i'))) for _ in range(2)], r.one('d')))  # entry points
    r.one('d'), r.array('u1')  # error of a logit, what prompts are
    r.list(r.text), r.array('u1'), r.numbers('BBii')  # answers in words
    _, _, c.width, _, _, _, _, c.epsilon, c.removes_mean, *_ = r.numbers('7id5B')
    c.tokens, c.features, _, _, _ = r.numbers('4iB')
    c.residual, weights = r.array('<f8'), r.list(r.text)
    r.numbers(f'{len(weights)}i')
    c.lists, place = {}, 32 + size
    for name in ('embedding positions types class_token patch_weight patch_bias '
                 'final_gamma final_beta unembedding').split():
        count, checksum = r.numbers('QQ')
        place = -(-place // 64) * 64 if count else place
        list_, place = data[place:place + 4 * count], place + 4 * count
        assert crc64(list_) == checksum or not count, f'{path}: its {name} is damaged'
        c.lists[name] = np.frombuffer(list_, '<f4').astype(np.float64)
    return c
