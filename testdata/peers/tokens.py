"""Our tokens and those of the package tokenizers, of random texts: python3 testdata/peers/tokens.py [TOKENIZER.json]"""

import pathlib
import random
import sys
import tempfile

import peer

peer.need("tokenizers")
import tokenizers

TEXTS = 300
ALPHABETS = ["ab E's 019 ", " \n\t  \u00a0\u2003", "\u00e9\u00df\u0301\u0308 n\u0303", "\u4e2d\u65e5\u672c \uff01",
             "\u0928\u092e\u0938\u094d\u0924\u0947", "\U0001f600\U0001f468\u200d\U0001f469", "\u0661\u0662\u00b2\u2167 1"]

random.seed(1)
texts = ["".join(random.choice(random.choice(ALPHABETS)) for _ in range(random.randint(1, 60))) for _ in range(TEXTS)]
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    file = sys.argv[1] if len(sys.argv) > 1 else folder / "tokenizer.json"
    text = folder / "text"
    text.write_text("".join(texts), encoding="utf-8", newline="")
    if len(sys.argv) == 1:
        peer.ours("tokenizer", "train", "--text", text, "--vocab", 600, "--out", file)
    theirs = tokenizers.Tokenizer.from_file(str(file))
    different = 0
    for sample in texts + ["".join(texts)]:
        text.write_text(sample, encoding="utf-8", newline="")
        mine = peer.ours("tokenizer", "encode", "--tokenizer", file, "--text", text).split()
        different += [int(token) for token in mine] != theirs.encode(sample, add_special_tokens=False).ids
    print(f"{different} of {TEXTS + 1} texts have other tokens than tokenizers {tokenizers.__version__} gives")
    sys.exit(different > 0)
