#!/usr/bin/env python3
"""CPU seconds that a cold build takes, by family: compiles the files of a built tree's compile_commands.json again,
without ccache and into a temporary folder, prints the sums and the slowest files, and writes bench/results/build.csv
(families that are not measured keep their rows). User and system time, so that a busy machine matters little.

    scripts/build_times.py build -j2 [--only REGEX]      REGEX of FOLDER/FILE, e.g. '^kernels/.*/cpu/'
"""

import argparse
import csv
import datetime
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
from results import FIELDS, RESULTS, ROOT, read  # noqa: E402


def family(file):
    """(part, family) of a source file, relative to the root."""
    if unit := re.search(r"/units/\w+/([a-z]+)_", file):  # several files of a layer
        return "library", unit[1]
    folders = file.split("/")[:-1]
    if folders[0] in ("apps", "tests"):
        return {"apps": "programs", "tests": "tests"}[folders[0]], "/".join(folders[:2])
    part = "CUDA" if "cuda" in folders else "library"
    if folders[0] == "kernels":
        return part, " ".join(["/".join(folders[:2]), *(["(CPU)"] if "cpu" in folders else [])])
    return part, "generated" if folders[0] not in os.listdir(ROOT) or file.startswith("build") else folders[0]


def command_of(entry, output):
    words = shlex.split(entry["command"])
    words[words.index("-o") + 1] = output
    return words


def cpu_seconds(entry, output):
    # -w: warnings are the build's matter.
    child = subprocess.Popen(command_of(entry, output) + ["-w"], cwd=entry["directory"],
                             env={**os.environ, "CCACHE_DISABLE": "1"})
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{entry['file']} does not compile: build the tree first")
    return usage.ru_utime + usage.ru_stime


def machine():
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{len(os.sched_getaffinity(0))} cores of {model.group(1) if model else 'an unknown CPU'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="folder of a finished build")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--only", default="", metavar="REGEX")
    options = parser.parse_args()
    tree = options.tree.resolve()
    entries = []
    for entry in json.loads((tree / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        file = f"build/{path.relative_to(tree)}" if path.is_relative_to(tree) else os.path.relpath(path, ROOT)
        if re.search(options.only, file):
            entries.append((file, entry))
    if not entries:
        raise SystemExit(f"no file of {tree} matches {options.only}")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        taken = list(pool.map(lambda i: cpu_seconds(entries[i][1], f"{folder}/{i}.o"), range(len(entries))))
    seconds, files = Counter(), Counter()
    for (file, _), time in zip(entries, taken):
        seconds[family(file)] += time
        files[family(file)] += 1
    slowest = sorted(zip(taken, (file for file, _ in entries)), reverse=True)[:10]
    for key, time in sorted(seconds.items()):
        print(f"{key[0]:10} {key[1]:30} {files[key]:4} files {time:8.1f} s")
    print("slowest: " + ", ".join(f"{file} {time:.1f} s" for time, file in slowest))
    print(f"total: {len(entries)} files, {sum(taken):.0f} CPU seconds")
    compiler = subprocess.run([command_of(entries[0][1], "")[0], "--version"], capture_output=True, text=True)
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    only = f" --only '{options.only}'" if options.only else ""
    row = dict.fromkeys(FIELDS, "") | {
        "area": "build", "device": machine(), "date": datetime.date.today().isoformat(), "commit": commit,
        "command": f"scripts/build_times.py build -j{options.jobs}{only}", "reproducible": "yes", "tool": compiler.stdout.splitlines()[0]}
    target = RESULTS / "build.csv"
    kept = [r for r in read("build") if (r["dataset"], r["op"]) not in seconds] if target.exists() else []
    for (part, name), time in seconds.items():
        for metric, value in (("files", str(files[part, name])), ("CPU seconds", f"{time:.1f}")):
            kept.append(row | {"dataset": part, "op": name, "metric": metric, "value": value})
    with open(target, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(kept, key=lambda r: (r["dataset"], r["op"])))


if __name__ == "__main__":
    main()
