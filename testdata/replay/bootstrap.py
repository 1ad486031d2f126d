"""Series and the bootstrap: FORMATS.md, "Series" and "Bootstrap"."""
import functools
import itertools
import math
from fractions import Fraction

import numpy as np

from files import TO_EPHEMERAL
from scheme import unit_root

# EvalMod's series in T_0, T_2, ... T_30 for an ephemeral secret of weight 32, in multiples of 2^-42, by the base-two
# logarithm of q_0 / S_m.
SERIES = {
    10: (1182740255910, 2603695816319, 2934755722401, 2045325630218, -1309150637680, -3307621919837, 3183470984877,
         -1339254353421, 347851906966, -63283990122, 8634628017, -923430762, 79711394, -5774696, 316865, -24886),
    11: (1182448664677, 2603269086082, 2934838168506, 2046129604890, -1308292440926, -3308072205109, 3183174580932,
         -1338966278663, 347743882406, -63259031561, 8630554350, -922927038, 79662380, -5770710, 316633, -24865)}
LAMBDAS = [float.fromhex(x) for x in ('0x1.0fefbe1c2b6c9p+0', '0x1.20dd750429b6dp-1', '0x1.45f306dc9c883p-3')]

def trim(series):
    return list(np.trim_zeros(series, 'b')) or [0.0]

class SeriesPlan:
    """Paterson and Stockmeyer's method on Chebyshev series, in as few levels as the degree allows.

    A node's value is rescale(sum of products + sum of integers times nodes) + constant.
    """

    def __init__(self, ring, series, level, scale, out_scale, babies):
        self.ring, self.babies, self.level, self.powers = ring, babies, level, {1: 0}
        self.nodes = [dict(level=level, scale=scale, products=[], terms=[])]
        self._evaluate(series, (len(series) - 1).bit_length(), out_scale)

    def _power(self, k):
        """T_k = 2 T_a T_b - T_{a-b}, a the largest power of two below k."""
        if k not in self.powers:
            depth = (k - 1).bit_length()
            a, level = 1 << depth - 1, self.level - depth
            left, right = self._power(a), self._power(k - a)
            terms = [(self._power(2 * a - k), -1.0)] if 2 * a != k else []
            total = self.nodes[left]['scale'] * self.nodes[right]['scale']
            self.nodes.append(dict(level=level, scale=total / float(self.ring.q[level + 1]), sum=total, doubled=True,
                                   products=[(left, right)], terms=terms, constant=-1.0 if 2 * a == k else 0.0))
            self.powers[k] = len(self.nodes) - 1
        return self.powers[k]

    def _evaluate(self, series, depth, scale):
        level = self.level - depth
        node = dict(level=level, scale=scale, sum=scale * float(self.ring.q[level + 1]), products=[], terms=[],
                    doubled=False)
        while len(series) > 1 and (len(series) > self.babies or (len(series) - 2).bit_length() >= depth):
            m = 1 << (len(series) - 1).bit_length() - 1
            quotient = [series[m]] + [2 * c for c in series[m + 1:]]  # series = quotient T_m + remainder
            remainder = list(series[:m])
            for i, c in enumerate(series[m + 1:], 1):
                remainder[m - i] -= c
            giant = self._power(m)
            if len(quotient) == 1:
                node['terms'].append((giant, quotient[0]))
            else:
                factor = self._evaluate(quotient, depth - 1, node['sum'] / self.nodes[giant]['scale'])
                node['products'].append((factor, giant))
            series = trim(remainder)
        node['terms'] += [(self._power(k), c) for k, c in enumerate(series) if k and c]
        self.nodes.append({**node, 'constant': series[0]})
        return len(self.nodes) - 1

def evaluate_series(scheme, series, x, scale, out_scale):
    """The series of x, which has this scale."""
    ring, level, values, series = scheme.ring, x.shape[1] - 1, [x], trim(series)
    babies = [1 << i for i in range(1, 7) if 1 << i <= 2 * (len(series) - 1)]
    plans = [SeriesPlan(ring, series, level, scale, out_scale, b).nodes for b in babies]
    nodes = min(plans, key=lambda nodes: (sum(node['level'] + 2 for node in nodes if node['products']),
                                          sum(len(node['products']) for node in nodes)))
    for node in nodes[1:]:
        limbs = node['level'] + 2
        basis, out = ring.basis(limbs - 1), np.zeros((3, limbs, ring.n), np.int64)
        if node['products']:
            out = scheme.tensor(*((values[a][:, :limbs], values[b][:, :limbs]) for a, b in node['products']))
            out = basis.add(out, out) if node['doubled'] else out
        for index, coefficient in node['terms']:
            factor = Fraction(coefficient * (node['sum'] / nodes[index]['scale']))
            integer = math.floor(abs(factor) + Fraction(1, 2)) * (1 if factor > 0 else -1)
            out[:2] = basis.add(out[:2], basis.mul(values[index][:, :limbs], basis.constant(integer)))
        value = scheme.relinearise(out) if node['products'] else scheme.rescale(out[:2])
        values.append(scheme.add_constant(value, node['constant'], 0.0, node['scale']))
    return values[-1]

def butterfly(slots, length, inverse):
    """Diagonals by offset, all slots of each, of one layer."""
    half, out = length // 2, {}
    tau = np.array([unit_root(pow(5, p, 4 * length), 4 * length) for p in range(half)]).T
    one, none, conjugate = np.array([[1.0], [0.0]]) + 0 * tau, 0 * tau, tau * [[1.0], [-1.0]]
    found = [(0, (one, -tau)), (half, (tau, none)), (-half, (none, one))]
    if inverse:
        found = [(0, (0.5 * one, -0.5 * conjugate)), (half, (0.5 * one, none)), (-half, (none, 0.5 * conjugate))]
    for offset, halves in found:  # half and -half are one offset of a layer that reaches all slots
        diagonal = np.tile(np.concatenate(halves, 1), slots // length)
        out[offset % slots] = out.get(offset % slots, 0) + diagonal
    return out

def matrix_product(a, b):
    """Of matrices by their diagonals, each product and each sum rounded once."""
    out = {}
    for (k, (re, im)), (l, e) in itertools.product(sorted(a.items()), sorted(b.items())):
        (x, y), offset = np.roll(e, -k, 1), (k + l) % e.shape[1]
        out[offset] = out.get(offset, 0) + np.stack((re * x - im * y, re * y + im * x))
    return out

def factors(slots, counts, inverse):
    """Each factor as (diagonals with offsets from 0 on, step, span, period); and the rotation that they leave."""
    parts, done, shift, out = [], 0, 0, []
    for count in counts:
        lengths = [slots >> i if inverse else 2 << i for i in range(done, done + count)]
        product = functools.reduce(lambda before, layer: matrix_product(layer, before),
                                   (butterfly(slots, length, inverse) for length in lengths))
        done, step, period = done + count, min(lengths) // 2, max(lengths)
        reach, whole = period // (2 * step) * 2 - 1, period == slots
        parts.append((product, step, reach + 1 if whole else 2 * reach + 1, 0 if whole else reach * step, period))
    for product, step, span, sigma, period in parts if inverse else parts[::-1]:
        by = shift + sigma if inverse else -shift
        out.append(({(k + sigma) % slots: np.roll(d, -by, 1) for k, d in product.items()}, step, span, period))
        shift += sigma
    return out if inverse else out[::-1], shift

def split(total, parts):
    """As even as can be, larger ones first."""
    return [total // parts + (i < total % parts) for i in range(parts)]

class Bootstrap:
    def __init__(self, scheme):
        self.scheme, self.ring = scheme, scheme.ring
        ring, s, log_slots = self.ring, self.ring.spec, self.ring.log_n - 1
        down = split(log_slots, s['stc_levels'])
        if down[0] > 6 and len(down) > 1:
            down = [6] + split(log_slots - 6, len(down) - 1)
        self.down, first = factors(ring.n // 2, down[::-1], False)
        self.up, second = factors(ring.n // 2, split(log_slots, s['cts_levels']), True)
        self.pre_rotation = -(first + second)
        self.message_scale = ring.scales[0] / (2 if s['weight'] else 1)
        ratio = float(ring.q[0]) / self.message_scale
        fitted, slope = round(math.log2(ratio)), 2 * math.pi / ratio
        assert s['ephemeral_weight'] == 32, 'FORMATS.md lists no series for other weights'
        self.series = [c for even in SERIES[fitted] for c in (even / 2.0**42, 0.0)]
        self.half_width, self.gain = 16 + 0.25 + 1 / 2.0**fitted, ratio * (1 + slope * slope / 8)

    def transform(self, x, factor_list, scales, raised=False):
        """Factors, each by baby steps and giant steps; a raised argument is under the ephemeral secret."""
        for (diagonals, step, span, period), before, after in zip(factor_list, scales, scales[1:]):
            babies, terms, weight_scale = 1, [], after * float(self.ring.q[x.shape[1] - 1]) / before
            def doubling_pays(b):  # a giant step from a raised argument takes the time of 15 babies
                return b + 15 * -(-span // (2 * b)) < 15 * -(-span // b) if raised else b * b < span
            while doubling_pays(babies):
                babies *= 2
            for offset, diagonal in sorted(diagonals.items()):
                baby = offset // step % babies * step
                giant = offset - baby
                terms.append((0, giant, 0, baby, False, np.roll(diagonal, giant, 1)[:, :period]))
            x, raised = self.scheme.linear([x], 1, terms, weight_scale, raised=raised)[0], False
        return x

    def mod_raise(self, x):
        """To the ephemeral secret at level 0, then the same integers modulo all primes."""
        ring = self.ring
        x = self.scheme.switch(np.stack((x[0], 0 * x[1])), x[1], self.scheme.keys[TO_EPHEMERAL, 0, 0])
        return ring.basis(ring.top).small(ring.basis(0).signed(x)[:, 0])

    def eval_mod(self, x):
        """From t / (K' q_0), K' the half width, to m / S_m, in slots that are real."""
        ring, s = self.ring, self.scheme
        scale, before = ring.scales[ring.compute] * self.gain, ring.scales[ring.evalmod]
        for level in range(ring.compute + 1, ring.compute + 4):
            scale = math.sqrt(scale * float(ring.q[level]))
        d = evaluate_series(s, self.series, s.add_constant(x, -0.25 / self.half_width, 0.0, before), before, scale)
        for angle in LAMBDAS:
            scale = scale * scale / float(ring.q[d.shape[1] - 1])
            d = s.add_constant(s.relinearise(s.tensor((d, d))), -angle, 0.0, scale)
        return d

    def parts(self, x, real=False):
        """The real and the imaginary part of every slot, the latter unless `real`."""
        ring, s, steps = self.ring, self.scheme, len(self.up)
        x = s.rotate(s.lower(x, ring.entry), self.pre_rotation)[0]
        x = self.transform(x, self.down, ring.scales[ring.entry:0:-1] + [self.message_scale])
        x = self.mod_raise(x)
        first, last = 2 * self.half_width * float(ring.q[0]), ring.scales[ring.evalmod]
        between = [float(np.float32(first * math.pow(last / first, i / steps))) for i in range(1, steps)]
        x = self.transform(x, self.up, [first, *between, last], raised=True)
        conjugate, basis = s.rotate(x, 0, conjugate=True)[0], s.basis(x)
        re = self.eval_mod(basis.add(x, conjugate))
        return re, None if real else self.eval_mod(s.times_i(basis.sub(x, conjugate), -1))
