"""Texts and images that are held out for encrypted classifiers, from the files that data.json names.

    python3 testdata/held_out.py sst2 DATA OUT     400 phrases of SST-2: train.tsv, dev.tsv, prompts.txt, labels.txt
    python3 testdata/held_out.py mnist DATA OUT    the 1,000 images that //cmd:train holds out: images.idx, labels.txt
    python3 testdata/held_out.py score DECRYPT.json LABELS    how many classes are right

Prompts are cut to 32 tokens, as training cuts them; tokens are those of the package tokenizers.
"""
import gzip
import json
import os
import struct
import sys

HELD_OUT, LEAST_WORDS, TOKENS = 400, 12, 32


def write(folder, name, text):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb" if isinstance(text, bytes) else "w") as file:
        file.write(text)


def sst2(data, out):
    from tokenizers import BertWordPieceTokenizer

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
    tokenizer = BertWordPieceTokenizer(f"{data}/tokenizer/bert-base-uncased-vocab.txt", lowercase=True)

    def cut(text):
        words = text.split(" ")
        while len(tokenizer.encode(" ".join(words)).ids) > TOKENS:
            words.pop()
        return " ".join(words)

    table = lambda some: f"{heading}\n" + "".join(f"{text} \t{label}\n" for text, label in some)
    write(out, "train.tsv", table(kept))
    write(out, "dev.tsv", table(rows[i] for i in picked))
    write(out, "prompts.txt", "".join(cut(rows[i][0]) + "\n" for i in picked))
    write(out, "labels.txt", "".join(rows[i][1] + "\n" for i in picked))


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
    parts = {"sst2": sst2, "mnist": mnist, "score": score}
    if len(sys.argv) != 4 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    parts[sys.argv[1]](*sys.argv[2:])
