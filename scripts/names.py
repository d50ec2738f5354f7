#!/usr/bin/env python3
"""Counts declared names that are prepositions, participles or places, and lists them: names are nouns, those of functions
verbs. Functions called `to` and `at` are the field's own (PyTorch, the standard library). Needs universal-ctags.

    scripts/names.py [FOLDER...] [--list]
"""

import argparse
import subprocess
from collections import Counter
from signal import SIG_DFL, SIGPIPE, signal
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORDS = set("of to at from by on there here given made own beside besides within into said".split())
SUFFIXES = (".h", ".cuh", ".cpp", ".cu", ".py")


def declared(files):
    """(name, kind, file, line) of all declarations, also of local variables and parameters."""
    command = ["ctags", "--languages=C++,Python", "--map-C++=+.cu", "--map-C++=+.cuh", "--map-C++=+.h", "--kinds-C++=+lzp", "--kinds-Python=+lz", "-x",
               "--_xformat=%N\t%K\t%F\t%n", "-L", "-"]
    done = subprocess.run(command, cwd=ROOT, input="\n".join(files), capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        name, kind, file, number = line.split("\t")
        yield name, kind, file, int(number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=["."])
    parser.add_argument("--list", action="store_true", help="every place")
    options = parser.parse_args()
    files = subprocess.run(["git", "ls-files", *options.folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [file for file in files.split() if file.endswith(SUFFIXES)]
    found = [(name, kind, file, line) for name, kind, file, line in declared(files)
             if name.strip("_") in WORDS and not (kind in ("function", "prototype", "method", "member") and name in ("to", "at"))]
    if options.list:
        for name, kind, file, line in sorted(found, key=lambda place: (place[2], place[3])):
            print(f"{file}:{line}: {kind} {name}")
    lines = sum((ROOT / file).read_text().count("\n") for file in files)
    folders = Counter(file.split("/")[0] for _, _, file, _ in found)
    print(f"{len(found)} names in {lines} lines: {1e4 * len(found) / lines:.1f} in 10,000")
    print(", ".join(f"{folder} {count}" for folder, count in folders.most_common()))
    print(", ".join(f"{name} {count}" for name, count in Counter(name for name, *_ in found).most_common()))


if __name__ == "__main__":
    signal(SIGPIPE, SIG_DFL)  # of a pager that ends first
    main()
