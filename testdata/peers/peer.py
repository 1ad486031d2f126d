"""What these scripts share: packages by name from the package index, our commands, and two figures by turns."""

import functools
import os
import pathlib
import re
import statistics
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]


def need(*packages):
    """Continues this script in a virtual environment that has these packages, in $PSM_PEERS or the user's cache."""
    folder = pathlib.Path(os.environ.get("PSM_PEERS", pathlib.Path.home() / ".cache" / "psm_peers"))
    python = folder / "bin" / "python3"
    if pathlib.Path(sys.prefix).resolve() == folder.resolve():
        return
    if not python.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        venv.create(folder, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    os.execv(python, [str(python), *sys.argv])


@functools.cache
def built(command):
    subprocess.run(["bazel", "build", "--ui_event_filters=-info", "--noshow_progress", f"//cmd:{command}"], cwd=ROOT, check=True)
    return next((ROOT / "bazel-bin" / "cmd").glob(f"*/{command}"))


def ours(command, *flags):
    """Runs a command of ours and returns what it prints."""
    run = subprocess.run([str(word) for word in (built(command), *flags)], text=True, capture_output=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return run.stdout


def number(pattern, text):
    return float(re.search(pattern, text).group(1).replace(",", ""))


def by_turns(rounds, unit, one, other, name):
    """Measures both in alternation and prints the medians and their ratio."""
    figures = [(one(), other()) for _ in range(rounds)]
    mine, theirs = (statistics.median(column) for column in zip(*figures))
    print(f"ours {mine:.4g} {unit}, {name} {theirs:.4g} {unit}, ratio {mine / theirs:.3f}; all: {figures}")
