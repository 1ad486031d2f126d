"""Our logits and those of the package transformers, of models with random shapes and weights:
python3 testdata/peers/logits.py [MODELS OF EACH KIND]"""

import json
import pathlib
import random
import struct
import sys
import tempfile

import peer

peer.need("torch", "transformers")
import torch
import transformers

random.seed(1)
torch.manual_seed(1)
KINDS = ("gpt_neox", "llama", "roberta", "bert", "vit")
count = int(sys.argv[1]) if len(sys.argv) > 1 else 2


def random_model(kind):
    heads = random.choice([1, 2, 4])
    shape = dict(hidden_size=heads * random.choice([8, 16]), num_attention_heads=heads, num_hidden_layers=random.choice([1, 2, 3]),
                 intermediate_size=random.choice([24, 40]))
    text = dict(**shape, vocab_size=random.choice([50, 97]))
    if kind == "gpt_neox":
        config = transformers.GPTNeoXConfig(**text, max_position_embeddings=32, rotary_pct=1.0)
        model = transformers.GPTNeoXForCausalLM(config)
    elif kind == "llama":
        config = transformers.LlamaConfig(**text, num_key_value_heads=heads, max_position_embeddings=32)
        model = transformers.LlamaForCausalLM(config)
    elif kind == "roberta":
        config = transformers.RobertaConfig(**text, max_position_embeddings=34, type_vocab_size=1, num_labels=3)
        model = transformers.RobertaForSequenceClassification(config)
    elif kind == "bert":
        config = transformers.BertConfig(**text, max_position_embeddings=32, sep_token_id=3, num_labels=3)
        model = transformers.BertForSequenceClassification(config)
    else:
        config = transformers.ViTConfig(**shape, image_size=(12, 8), patch_size=random.choice([2, 4]), num_channels=random.choice([1, 3]),
                                        num_labels=3)
        model = transformers.ViTForImageClassification(config)
    for weight in model.parameters():
        weight.data.normal_(0, 0.2)
    return model.eval()


def random_input(kind, config, folder):
    """Returns one input twice: as transformers takes it, and as flags of our command."""
    if kind == "vit":
        pixels = torch.randint(256, (1, config.num_channels, *config.image_size))
        (folder / "images").write_bytes(struct.pack(">5I", 0x804, *pixels.shape) + bytes(pixels.flatten().tolist()))
        return dict(pixel_values=pixels / 127.5 - 1), ("--prompts", folder / "images")
    ids, types = [random.randrange(5, config.vocab_size) for _ in range(16)], {}
    if kind == "bert":  # a pair of texts
        first = random.randrange(2, 14)
        ids[first - 1] = ids[-1] = config.sep_token_id
        types = dict(token_type_ids=torch.tensor([[0] * first + [1] * (16 - first)]))
    return dict(input_ids=torch.tensor([ids]), **types), ("--ids", ",".join(map(str, ids)))


def difference(kind, folder):
    """Returns the largest difference between the logits of one random model, divided by the largest logit."""
    model = random_model(kind)
    theirs, flags = random_input(kind, model.config, folder)
    model.save_pretrained(folder / "model")
    peer.ours("import", "--from", folder / "model", "--out", folder / "model.safetensors")
    peer.ours("evaluate", "--model", folder / "model.safetensors", *flags, "--logits", folder / "logits")
    rows = torch.tensor(json.loads((folder / "logits").read_text())["examples"][0]["trained"])
    with torch.no_grad():
        expected = model(**theirs).logits.reshape(rows.shape)
    return ((rows - expected).abs().max() / expected.abs().max()).item()


agree = True
with tempfile.TemporaryDirectory() as folder:
    for kind in KINDS:
        worst = torch.tensor([difference(kind, pathlib.Path(folder)) for _ in range(count)]).max()  # keeps a NaN, as max() does not
        print(f"{kind}: at most {worst:.1e} of the largest logit", flush=True)
        agree &= bool(worst <= 1e-5)
print(f"{count} models of each kind, transformers {transformers.__version__}, torch {torch.__version__}")
sys.exit(not agree)
