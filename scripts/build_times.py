#!/usr/bin/env python3
"""CPU seconds that a cold build takes, by family: as the compilers' launcher it runs a compiler and notes its user and
system time, so that a busy machine matters little; then it prints the sums and the slowest files, and writes
bench/results/build.csv (families that were not built keep their rows).

    cmake --preset release -DADJOINT_BUILD_TESTS=ON -DCMAKE_CXX_COMPILER_LAUNCHER="$PWD/scripts/build_times.py;launch" \
      -DCMAKE_CUDA_COMPILER_LAUNCHER="$PWD/scripts/build_times.py;launch" && ninja -C build
    scripts/build_times.py build
"""

import os
import sys


def launch(command):
    """Runs a compiler in the build folder and adds a line to compile_times.txt there."""
    child = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 0 and "-c" in command:
        output, source = (command[command.index(option) + 1] for option in ("-o", "-c"))
        with open("compile_times.txt", "a") as file:
            file.write(f"{usage.ru_utime + usage.ru_stime:.3f} {output} {os.path.abspath(source)}\n")
    sys.exit(code if code >= 0 else 1)


if __name__ == "__main__" and sys.argv[1:2] == ["launch"]:
    launch(sys.argv[2:])  # before the imports, which would take longer than a small file

import argparse  # noqa: E402
import csv  # noqa: E402
import datetime  # noqa: E402
import re  # noqa: E402
import subprocess  # noqa: E402
from collections import Counter  # noqa: E402
from pathlib import Path  # noqa: E402

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


def compilations(tree):
    """(CPU seconds, source file relative to the root) of the newest compilation of every object."""
    newest = {}
    for line in (tree / "compile_times.txt").read_text().splitlines():
        seconds, output, source = line.split(" ", 2)
        path = Path(source)
        file = f"build/{path.relative_to(tree)}" if path.is_relative_to(tree) else os.path.relpath(path, ROOT)
        newest[output] = float(seconds), file
    return sorted(newest.values(), reverse=True)


def machine():
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{len(os.sched_getaffinity(0))} cores of {model.group(1) if model else 'an unknown CPU'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="folder of a finished build")
    found = compilations(parser.parse_args().tree.resolve())
    seconds, files = Counter(), Counter()
    for time, file in found:
        seconds[family(file)] += time
        files[family(file)] += 1
    for key, time in sorted(seconds.items()):
        print(f"{key[0]:10} {key[1]:30} {files[key]:4} files {time:8.1f} s")
    print("slowest: " + ", ".join(f"{file} {time:.1f} s" for time, file in found[:10]))
    print(f"total: {len(found)} files, {sum(seconds.values()):.0f} CPU seconds")
    compiler = subprocess.run(["c++", "--version"], capture_output=True, text=True)
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    row = dict.fromkeys(FIELDS, "") | {
        "area": "build", "device": machine(), "date": datetime.date.today().isoformat(), "commit": commit,
        "command": "scripts/build_times.py build", "reproducible": "yes", "tool": compiler.stdout.splitlines()[0]}
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
