"""Texts and images that are held out for encrypted classifiers, from the files that data.json names.

    python3 testdata/held_out.py sst2 DATA OUT     400 phrases of SST-2: train.tsv, dev.tsv, prompts.txt, labels.txt
    python3 testdata/held_out.py mrpc DATA OUT     GLUE's 408 pairs of MRPC: train.txt, dev.txt, prompts.txt, labels.txt;
                                                   and pairs.tsv, sentences of the novels with edits of them
                                                   (DATA/glue/mrpc-dev-ids.tsv tells which pairs are GLUE's dev pairs)
    python3 testdata/held_out.py mnist DATA OUT    the 1,000 images that //cmd:train holds out: images.idx, labels.txt
    python3 testdata/held_out.py score DECRYPT.json LABELS    how many classes are right

Prompts are cut, by whole words, to 32 tokens (phrases) or 64 (pairs); tokens are those of the package tokenizers.
"""
import gzip
import json
import os
import random
import re
import struct
import sys

HELD_OUT, LEAST_WORDS, EDITED = 400, 12, 80000


def write(folder, name, text):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb" if isinstance(text, bytes) else "w") as file:
        file.write(text)


def shortener(data, tokens):
    """A function that cuts words off the longest part of a text, or of a pair, until it has so many tokens."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(f"{data}/tokenizer/bert-base-uncased-vocab.txt", lowercase=True)

    def cut(text):
        parts = [part.split(" ") for part in text.split("\t")]
        while len(tokenizer.encode(*map(" ".join, parts)).ids) > tokens:
            max(parts, key=lambda words: len(tokenizer.encode(" ".join(words)).ids)).pop()
        return "\t".join(map(" ".join, parts))

    return cut


def sst2(data, out):
    heading, *lines = open(f"{data}/glue/sst2-train.tsv", encoding="utf-8").read().splitlines()
    rows = [(text.strip(), label) for text, label in (line.split("\t") for line in lines)]
    long = [i for i, (text, _) in enumerate(rows) if len(text.split()) >= LEAST_WORDS]
    picked = [long[(2 * k + 1) * len(long) // (2 * HELD_OUT)] for k in range(HELD_OUT)]
    held = [f" {rows[i][0]} " for i in picked]
    together, of_word = "\0".join(held), {}
    for text in held:
        of_word.setdefault(text.split()[0], []).append(text)

    def shares(text):  # is a part of a held-out phrase, or has one as its part
        text = f" {text} "
        return text in together or any(h in text for w in set(text.split()) for h in of_word.get(w, ()))

    places = set(picked)
    kept = [row for i, row in enumerate(rows) if i not in places and not shares(row[0])]
    cut = shortener(data, 32)
    table = lambda some: f"{heading}\n" + "".join(f"{text} \t{label}\n" for text, label in some)
    write(out, "train.tsv", table(kept))
    write(out, "dev.tsv", table(rows[i] for i in picked))
    write(out, "prompts.txt", "".join(cut(rows[i][0]) + "\n" for i in picked))
    write(out, "labels.txt", "".join(rows[i][1] + "\n" for i in picked))


def edit(words, other, rng):
    """Runs of the words, with runs of another sentence in the places of some."""
    share, at, runs = rng.uniform(0.2, 1), 0, []
    while at < len(words):
        n = rng.randint(1, 4)
        if rng.random() < share:
            runs.append(words[at:at + n])
        else:
            begin, count = rng.randrange(len(other)), rng.randint(0, n + 1)
            runs.append(other[begin:begin + count])
        at += n
    if rng.random() < 0.3:
        rng.shuffle(runs)
    return [word for run in runs for word in run] or other[:5]


def mrpc(data, out):
    ids = {tuple(line.split("\t")[1:3]) for line in open(f"{data}/glue/mrpc-dev-ids.tsv", encoding="utf-8")}
    heading, *lines = open(f"{data}/glue/msr_paraphrase_train.txt", encoding="utf-8").read().splitlines(keepends=True)
    dev = [line for line in lines if tuple(line.split("\t")[1:3]) in ids]
    write(out, "train.txt", heading + "".join(line for line in lines if tuple(line.split("\t")[1:3]) not in ids))
    write(out, "dev.txt", heading + "".join(dev))
    cut = shortener(data, 64)
    write(out, "prompts.txt", "".join(cut("\t".join(line.rstrip("\n").split("\t")[3:5])) + "\n" for line in dev))
    write(out, "labels.txt", "".join(line.split("\t")[0] + "\n" for line in dev))

    # Whether two sentences share most of their words, in QNLI's form: what a BERT learns before MRPC.
    rng = random.Random(1)
    bare = lambda words: {word.lower().strip('.,;:!?"') for word in words}
    novels = open(f"{data}/text/gutenberg7-train.txt", encoding="utf-8").read().replace("\t", " ")
    sentences = [words for words in map(str.split, re.split(r"(?<=[.!?])\s+", novels)) if 10 <= len(words) <= 28]
    rows = []
    for i in range(EDITED):
        words, other = rng.choice(sentences), rng.choice(sentences)
        edited = edit(words, other, rng)
        alike = len(bare(words) & bare(edited)) > 0.6 * max(len(bare(words)), len(bare(edited)))
        pair = [words, edited]
        rng.shuffle(pair)
        rows.append("\t".join([str(i), *map(" ".join, pair), "entailment" if alike else "not_entailment"]) + "\n")
    write(out, "pairs.tsv", "index\tquestion\tsentence\tlabel\n" + "".join(rows))


def mnist(data, out):
    images, labels = (gzip.open(f"{data}/image/mnist-t10k-{name}.gz").read()
                      for name in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    size, places = 28 * 28, range(9, 10000, 10)
    write(out, "images.idx", struct.pack(">IIII", 0x803, len(places), 28, 28) +
          b"".join(images[16 + size * i:16 + size * (i + 1)] for i in places))
    write(out, "labels.txt", "".join(f"{labels[8 + i]}\n" for i in places))


def score(decrypted, labels):
    answers = json.load(open(decrypted))["answers"]
    right = sum(answer == f"class {label}" for answer, label in zip(answers, open(labels).read().split()))
    print(json.dumps({"right": right, "of": len(answers)}))


if __name__ == "__main__":
    parts = {"sst2": sst2, "mrpc": mrpc, "mnist": mnist, "score": score}
    if len(sys.argv) != 4 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    parts[sys.argv[1]](*sys.argv[2:])
