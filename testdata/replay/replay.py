#!/usr/bin/env python3
"""Runs a compiled program on ciphertexts and compares every bit with what //cmd:infer made.

All is computed from the files, by what FORMATS.md says. Exits with 1 at the first difference."""
import argparse
import hashlib
import math
import sys
import time

import numpy as np

from bootstrap import Bootstrap, evaluate_series, trim
from files import Program, Reader, read_ciphertexts, read_client, read_keys, read_lengths, read_secret
from scheme import Scheme, encode

class Machine:
    def __init__(self, program, keys):
        self.program, self.ring, self.scheme = program, program.ring, Scheme(program.ring, keys)
        self.bootstrap = Bootstrap(self.scheme)

    def run(self, entry, inputs):
        """Yields every instruction with its results; then `outputs` are those of the program."""
        values = {value: self.scheme.lower(inputs[name], entry.values[value][3]) for name, value in entry.inputs}
        for i, level in zip(entry.instructions, entry.argument_levels):
            if i.opcode != 'input':
                x = [self.scheme.lower(values[a], level) for a in i.arguments]
                found = (self.refresh(i, entry.values[i.arguments[0]][0], *x) if i.opcode == 'bootstrap' else
                         self.results(i, x, self.ring.basis(level), level))
                values.update((r, self.scheme.lower(c, entry.values[r][3])) for r, c in zip(i.results, found))
            yield i, [values[r] for r in i.results]
        self.outputs = {name: values[value] for name, value in entry.outputs}

    def results(self, i, x, basis, level):
        s, scale = self.scheme, self.ring.scales[level]
        product_scale = self.ring.scales[level - 1] * float(self.ring.q[level]) / scale  # rescales to the canonical one
        if i.opcode in ('add_plain', 'multiply_plain'):
            parts = self.program.constant(i.data)
            if i.opcode == 'multiply_plain' and parts.shape[1] == 1 and abs(product_scale / scale - 1) >= 2.0**-46:
                scale = product_scale
            plain = s.gaussian(*parts[:, 0], scale, basis) if parts.shape[1] == 1 else encode(parts, scale, basis)
            if i.opcode == 'add_plain':
                return [np.stack((basis.add(x[0][0], plain), x[0][1]))]
            return [s.rescale(basis.mul(x[0], plain))]
        if i.opcode == 'linear':
            outputs, divides_sources, terms = self.program.transforms[i.data]
            terms = [(*term[:4], term[5], self.program.constant(term[4])) for term in terms]
            return s.linear(x, outputs, terms, product_scale, divides_sources)
        if i.opcode == 'series':
            series = trim(self.program.series[i.data])
            return [evaluate_series(s, series, x[0], scale, self.ring.scales[level - (len(series) - 1).bit_length()])]
        if i.opcode == 'rotate':
            return s.rotate(x[0], *i.data)
        return [{'add': lambda: basis.add(x[0], x[1]),
                 'subtract': lambda: basis.sub(x[0], x[1]),
                 'negate': lambda: basis.sub(0 * x[0], x[0]),
                 'times_i': lambda: s.times_i(x[0]),
                 'multiply': lambda: s.relinearise(s.tensor((x[0], x[1]))),
                 'sum_of_products': lambda: s.relinearise(s.tensor(*zip(x[::2], x[1::2]))),
                 'sum_of_rotations': lambda: s.rotate(x[0], 0, *i.data, add=True)[0],
                 'conjugate': lambda: s.rotate(x[0], 0, conjugate=True)[0]}[i.opcode]()]

    def refresh(self, i, real, x, y=None):
        basis = self.scheme.basis(x)
        assert i.data[0] == 0, 'sparse bootstraps are not replayed'
        if y is not None:
            return self.bootstrap.parts(basis.add(self.scheme.times_i(y), x))
        re, im = self.bootstrap.parts(x, real)
        return [re if real else self.scheme.basis(re).add(re, self.scheme.times_i(im))]

def digest(results):
    """The first eight bytes of SHA-256 over all residues, as 64-bit words, limb after limb."""
    return hashlib.sha256(b''.join(np.ascontiguousarray(c).tobytes() for c in results)).hexdigest()[:16]

def logits(client, outputs, lengths):
    """Final norm and unembedding of a causal language model, a row for each token; `outputs` as (re, im) in order."""
    width, tokens, features, left = client.width, client.tokens, client.features, client.width % (2 * client.features)
    rows, pairs = [], (width - left if left <= features <= width / 2 else width + 1) // 2
    for place in (prompt * tokens + t for prompt, length in enumerate(lengths) for t in range(length)):
        of_token = slice(place * features, (place + 1) * features)
        re, im = (np.concatenate([part[of_token] for part in side]) for side in zip(*outputs))
        x = np.concatenate([re[:pairs], im[:pairs], re[pairs:]])[:width] * client.residual
        x = x - (x.mean() if client.removes_mean else 0)
        x = x / math.sqrt((x * x).mean() + client.epsilon) * client.lists['final_gamma']
        x = x + client.lists['final_beta'] if len(client.lists['final_beta']) else x
        rows.append(client.lists['unembedding'].reshape(-1, width) @ x)
    return np.array(rows)

def require(condition, text):
    if not condition:
        sys.exit('error: ' + text)

def main():
    parser, start = argparse.ArgumentParser(description=__doc__), time.monotonic()
    for name in ('program', 'client', 'keys', 'prompts', 'digests', 'answers', 'logits'):
        parser.add_argument('--' + name, required=True)
    given = parser.parse_args()
    program, client = Program(given.program), read_client(given.client)
    ring, logits_file = program.ring, Reader(open(given.logits, 'rb').read())
    keys, owner = read_keys(given.keys + '/evaluation.keys', ring)
    secret, other = read_secret(given.keys + '/secret.key', ring)
    note, prompts, of_prompts = read_ciphertexts(given.prompts, ring)
    answer_note, answers, of_answers = read_ciphertexts(given.answers, ring)
    require(owner == other == of_prompts == of_answers, 'the files are of different key pairs')
    require(client.program == program.digest and note.program == int.from_bytes(program.digest[:8], 'little') and
            logits_file.take(16) == b'PSMLITS\n' + program.digest[:8], 'the files are of different programs')

    machine, expected = Machine(program, keys), open(given.digests).read().split()
    outputs, done, each = [], 0, len(note.names)
    for first in range(0, len(prompts), each):
        inputs = dict(zip(note.names, (c for c, _ in prompts[first:first + each])))
        for i, results in machine.run(program.entries['pass'], inputs):
            require(done < len(expected) and digest(results) == expected[done],
                    f'instruction {done}, {i.opcode} [{i.label}], has other bits than infer had')
            done += 1
        outputs += [machine.outputs[name] for name in answer_note.names]
    require(done == len(expected) and len(outputs) == len(answers), 'infer ran more instructions than these')
    for number, (mine, (theirs, scale)) in enumerate(zip(outputs, answers)):
        require(mine.shape == theirs.shape and (mine == theirs).all() and scale == ring.scales[mine.shape[1] - 1],
                f'answer {number} has other bits than infer had')

    lengths = read_lengths(f'{given.keys}/prompts-{note.request:016x}.record')
    lowest = ring.basis(0).small(secret)
    plain = iter([machine.scheme.decrypt(c, scale, lowest) for c, scale in answers])
    mine = np.concatenate([logits(client, [next(plain) for _ in answer_note.names], of) for of in lengths])
    theirs = np.array(logits_file.list(lambda: logits_file.array('<f8')))
    require(mine.shape == theirs.shape and np.abs(mine - theirs).max() < 1e-9 * np.abs(theirs).max(),
            'the logits are not those of decrypt')
    print(f'the same bits in all {done} instructions and {len(outputs)} answers, and the logits of decrypt, '
          f'in {time.monotonic() - start:.0f} s')

if __name__ == '__main__':
    main()
