"""Tasks scored here and by the package lm_eval, with a random GPT-NeoX: python3 testdata/peers/harness.py [FOLDER [EXAMPLES]]

The folder has NAME.jsonl of each task, as train/harness/harness_tasks.h describes them. Without one, examples are random words."""

import json
import pathlib
import random
import sys
import tempfile

import peer

peer.need("torch", "transformers", "accelerate", "lm_eval")
import lm_eval
import torch
import transformers

TASKS = {  # how lm_eval reads our three forms
    "lambada_openai": dict(output_type="loglikelihood", doc_to_text="{{context.rstrip()}}", doc_to_target="{{' ' + continuation.strip()}}",
                           metric_list=[dict(metric="acc"), dict(metric="perplexity")]),
    "piqa": dict(output_type="multiple_choice", doc_to_text="{{query}}\nAnswer:", doc_to_choice="choices", doc_to_target="gold",
                 metric_list=[dict(metric="acc"), dict(metric="acc_norm")]),
    "winogrande": dict(output_type="multiple_choice", doc_to_text="gold", doc_to_choice="context_options", doc_to_target="continuation",
                       metric_list=[dict(metric="acc")]),
}

random.seed(1)
torch.manual_seed(1)
count = int(sys.argv[2]) if len(sys.argv) > 2 else 60


def words(least, most):
    return " ".join(random.choice(["the", "cat", "sat", "under", "a", "green", "table", "again", "slowly"]) for _ in range(random.randint(least, most)))


def example(task):
    if task == "lambada_openai":
        return dict(context=words(8, 20), continuation=words(1, 1))
    if task == "piqa":
        return dict(query="Question: " + words(4, 10), choices=[words(2, 8), words(2, 8)], gold=random.randrange(2))
    return dict(context_options=[words(4, 8), words(4, 8)], continuation=words(3, 8), gold=random.randrange(2))


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for task in TASKS:
        lines = [json.dumps(example(task)) for _ in range(count)]
        if len(sys.argv) > 1:
            lines = (pathlib.Path(sys.argv[1]) / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()[:count]
        (folder / f"{task}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "text").write_text("".join((folder / f"{task}.jsonl").read_text(encoding="utf-8") for task in TASKS), encoding="utf-8")
    config = transformers.GPTNeoXConfig(hidden_size=32, num_attention_heads=2, num_hidden_layers=2, intermediate_size=64, vocab_size=600,
                                        max_position_embeddings=512, rotary_pct=1.0)
    model = transformers.GPTNeoXForCausalLM(config)
    for weight in model.parameters():
        weight.data.normal_(0, 0.2)
    model.save_pretrained(folder / "model")
    peer.ours("tokenizer", "train", "--text", folder / "text", "--vocab", 600, "--out", folder / "model" / "tokenizer.json")
    transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "model" / "tokenizer.json"), eos_token="<|endoftext|>",
                                         bos_token="<|endoftext|>").save_pretrained(folder / "model")
    peer.ours("import", "--from", folder / "model", "--out", folder / "model.safetensors")
    peer.ours("evaluate", "--model", folder / "model.safetensors", "--tasks", ",".join(TASKS), "--dir", folder, "--json", folder / "scores")
    mine = json.loads((folder / "scores").read_text())["trained"]
    theirs = lm_eval.simple_evaluate(
        model="hf", model_args=dict(pretrained=str(folder / "model"), dtype="float32"), device="cpu", batch_size=1, bootstrap_iters=0,
        tasks=[dict(task=task, dataset_path="json", dataset_kwargs=dict(data_files=dict(test=str(folder / f"{task}.jsonl"))),
                    test_split="test", **form) for task, form in TASKS.items()])["results"]

worst = 0.0
for task, form in TASKS.items():
    for metric in (entry["metric"] for entry in form["metric_list"]):
        ours, other = mine[task][metric]["value"], theirs[task][metric + ",none"]
        print(f"{task} {metric}: ours {ours:.6g}, lm_eval {other:.6g}")
        apart = abs(ours - other) / max(abs(other), 1e-9) if ours != other else 0
        worst = max(worst, apart if apart == apart else float("inf"))  # not a number
print(f"at most {worst:.1e} apart, relative, in {count} examples of each task")
sys.exit(worst > 1e-4)
