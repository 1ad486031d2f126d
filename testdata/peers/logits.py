"""Our logits and those of the package transformers, of models with random shapes and weights:
python3 testdata/peers/logits.py [MODELS]"""

import json
import pathlib
import random
import sys
import tempfile

import peer

peer.need("torch", "transformers")
import torch
import transformers

random.seed(1)
torch.manual_seed(1)


def random_model(kind):
    heads = random.choice([1, 2, 4])
    shape = dict(hidden_size=heads * random.choice([8, 16]), num_attention_heads=heads, num_hidden_layers=random.choice([1, 2, 3]),
                 intermediate_size=random.choice([24, 40]), vocab_size=random.choice([50, 97]))
    if kind == "gpt_neox":
        config = transformers.GPTNeoXConfig(**shape, max_position_embeddings=32, rotary_pct=1.0)
        model = transformers.GPTNeoXForCausalLM(config)
    elif kind == "roberta":
        config = transformers.RobertaConfig(**shape, max_position_embeddings=34, type_vocab_size=1, num_labels=3)
        model = transformers.RobertaForSequenceClassification(config)
    else:
        config = transformers.LlamaConfig(**shape, num_key_value_heads=heads, max_position_embeddings=32)
        model = transformers.LlamaForCausalLM(config)
    for weight in model.parameters():
        weight.data.normal_(0, 0.2)
    return model.eval(), shape["vocab_size"]


worst = 0.0
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for i in range(int(sys.argv[1]) if len(sys.argv) > 1 else 6):
        kind = ("gpt_neox", "roberta", "llama")[i % 3]
        model, vocab = random_model(kind)
        model.save_pretrained(folder / "model")
        ids = [random.randrange(5, vocab) for _ in range(16)]
        peer.ours("import", "--from", folder / "model", "--out", folder / "model.safetensors")
        peer.ours("evaluate", "--model", folder / "model.safetensors", "--ids", ",".join(map(str, ids)), "--logits", folder / "logits")
        rows = json.loads((folder / "logits").read_text())["examples"][0]["trained"]
        with torch.no_grad():
            expected = model(torch.tensor([ids])).logits.reshape(len(rows), -1)
        difference = ((torch.tensor(rows) - expected).abs().max() / expected.abs().max()).item()
        print(f"{kind}: {difference:.1e} of the largest logit", flush=True)
        worst = max(worst, difference if difference == difference else float("inf"))
print(f"at most {worst:.1e}, transformers {transformers.__version__}")
sys.exit(worst > 1e-5)
