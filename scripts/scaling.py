#!/usr/bin/env python3
"""Trains the same graphs on one and on several GPUs of this host and prints rows for bench/results/ranks.csv:

    scripts/scaling.py --gpus 1,2,4 --folder /tmp/scaling >> bench/results/ranks.csv

Graphs are generated into the folder, once. Each row is the median of the epochs behind the warm-up, all counts of GPUs
in turn; what fails or is cut off by --seconds is named on stderr and has no row.
"""

import argparse
import csv
import re
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COUNTS = {1: "one GPU", 2: "two GPUs", 4: "four GPUs", 8: "eight GPUs"}

# Name: the commands that write NAME.h5, each with its file, and the words in the table.
GRAPHS = {
    "products": ([("products.h5", "generate ogbn-products products.h5 --features 100 --classes 47")], "ogbn-products (generated)"),
    "communities": (
        [
            (
                "shuffled.h5",
                "generate planted shuffled.h5 --nodes 2449029 --classes 64 --degree 51 --homophily 0.98 --features 100",
            ),
            ("communities.h5", "reorder metis shuffled.h5 communities.h5 --parts 64"),
        ],
        "64 communities, as large, METIS order",
    ),
    "reddit": (
        [("reddit.h5", "generate power-law reddit.h5 --nodes 232965 --edges 114615892 --undirected --features 602 --classes 41")],
        "Reddit's size (power law)",
    ),
    "arxiv": ([("arxiv.h5", "generate arxiv arxiv.h5 --features 128 --classes 40")], "arxiv (generated)"),
}
DEEP = "--hidden 256 --layers 3 --norm batch --epochs 30 --eval-every 10"
SAMPLED = "--hidden 256 --layers 3 --loader neighbor --fanouts 15,10,5 --epochs 2 --eval-every 2 --evaluation graph"

# Graph, operation, dtype, program and options; {seeds}: 1,024 for each GPU.
RUNS = [
    ("products", "GCN 3x256, batch norm", "float32", f"train_gcn products.h5 {DEEP}"),
    ("products", "GCN 3x256, batch norm", "bfloat16", f"train_gcn products.h5 {DEEP} --precision bfloat16"),
    ("products", "GraphSAGE 3x256, batch norm", "float32", f"train_sage products.h5 {DEEP}"),
    ("products", "GraphSAGE 15,10,5, 1024 seeds a GPU", "float32", f"train_sage products.h5 {SAMPLED} --batch-size {{seeds}}"),
    ("communities", "GCN 3x256, batch norm", "float32", f"train_gcn communities.h5 {DEEP}"),
    ("reddit", "GAT 2 layers, 8x8", "float32", "train_gat reddit.h5 --hidden 8 --heads 8 --layers 2 --epochs 30 --eval-every 10"),
    ("arxiv", "GCN 3x256, batch norm", "float32", f"train_gcn arxiv.h5 {DEEP.replace('30', '100')}"),
]


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, options):
    words = command.split()
    words[0] = str(options.bin / words[0])
    try:
        return subprocess.run(words, cwd=options.folder, capture_output=True, text=True, timeout=options.seconds, check=True)
    except subprocess.CalledProcessError as error:
        say(f"{command}: {error.stderr.strip() or error.stdout.strip()}")
    except subprocess.TimeoutExpired:
        say(f"{command}: took more than {options.seconds} s")
    return None


def figures(text):
    """Time of an epoch in ms and peak memory in MB, as the programs print them."""
    found = re.findall(r"([\d.]+) ms per epoch; peak (\d+) MB", text)
    return found[-1] if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", default="1,2", help="counts of GPUs, as 1,2,4,8")
    parser.add_argument("--folder", type=Path, required=True, help="where the graphs are, or are written")
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="the programs")
    parser.add_argument("--graphs", default=",".join(GRAPHS), help=f"some of {', '.join(GRAPHS)}")
    parser.add_argument("--seconds", type=int, default=600, help="of a command, at most")
    options = parser.parse_args()
    counts = [int(count) for count in options.gpus.split(",")]
    graphs = options.graphs.split(",")
    unknown = [str(c) for c in counts if c not in COUNTS] + [g for g in graphs if g not in GRAPHS]
    if unknown:
        parser.error(f"{', '.join(unknown)}: expected GPUs of {', '.join(map(str, COUNTS))} and graphs of {', '.join(GRAPHS)}")
    options.bin, options.folder = options.bin.resolve(), options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)

    chip = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=True)
    chip = chip.stdout.splitlines()[0]
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    for graph in graphs:
        for file, command in GRAPHS[graph][0]:
            if not (options.folder / file).exists():
                say(command)
                run(command, options)
    out = csv.writer(sys.stdout, lineterminator="\n")
    for graph, op, dtype, program in RUNS:
        if graph not in graphs:
            continue
        for count in counts:
            devices = ",".join(f"cuda:{i}" for i in range(count))
            command = program.format(seeds=1024 * count) + (f" --devices {devices}" if count > 1 else " --device cuda")
            start = time.time()
            result = run(command, options)
            found = figures(result.stdout + result.stderr) if result else None
            say(f"{op}, {graph}, {count} GPUs: {found or 'no figures'} ({time.time() - start:.0f} s)")
            if not found:
                continue
            for metric, unit, value in (("epoch", "ms", found[0]), ("peak memory", "MB", found[1])):
                out.writerow(
                    ["several GPUs", GRAPHS[graph][1], op, "", dtype, f"{max(counts)} x {chip}", date.today(), commit, command,
                     "yes", COUNTS[count], metric, unit, value, ""]
                )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
