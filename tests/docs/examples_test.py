"""The code blocks of the tutorial, the how-tos and the page of errors run and print the pages' output.

On a page, in order, in one folder: ```python NAME writes the file NAME; ```sh run runs with the programs in the path;
```cpp run is compiled against the build's library and run; ```sh fails ends in an error. A block ```output behind one
holds what it prints, # for any number. Other blocks are for the reader.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("ADJOINT_BIN_DIR", ROOT / "build/bin")).resolve()
PAGES = [Path(page).resolve() for page in sys.argv[1:]]  # or else:
PAGES = PAGES or [ROOT / f"docs/{name}.md" for name in ("tutorial", "howto", "errors")]


def compiled(source, folder):
    """Compiles and links like the build's predict_c, with other sources."""
    tree = BIN.parent
    commands = subprocess.run(["ninja", "-C", tree, "-t", "commands", "bin/first_gcn"], check=True, text=True,
                              capture_output=True).stdout.splitlines()
    compile = next(line for line in commands if line.endswith("first_gcn.cpp"))
    link = next(line for line in reversed(commands) if "-o bin/first_gcn" in line)
    program = folder / source.stem
    compile = re.sub(r" -MD -MT \S+ -MF \S+", "", compile)
    compile = re.sub(r"-o \S+ -c \S+$", f"-o {program}.o -c {source}", compile)
    compile = re.sub(r" -O\d", " -O0", compile)
    link = re.sub(r"\S+first_gcn\.cpp\.o", f"{program}.o", link).replace("-o bin/first_gcn", f"-o {program}")
    for command in (compile, link):
        subprocess.run(command, shell=True, cwd=tree, check=True)
    return program


def without_numbers(text, expected):
    """`text` with # where `expected`, line by line, has # for a number."""
    lines = text.splitlines()
    for at, line in enumerate(expected.splitlines()):
        pattern = re.escape(line).replace(r"\#", r"(?:\#|[\d.]+)")
        if at < len(lines) and re.fullmatch(pattern, lines[at]):
            lines[at] = line
    return "\n".join(lines)


def run_page(page, folder):
    environment = {**os.environ, "PATH": f"{BIN}:{Path(sys.executable).parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    blocks = re.findall(r"^```(\S*) ?(\S*)\n(.*?)^```$", page.read_text(), re.S | re.M)
    run, printed = 0, None
    for language, mark, text in blocks:
        if language == "output":
            said = without_numbers(printed, text)
            if said.strip() != text.strip():
                sys.exit(f"{page.relative_to(ROOT)}: printed\n{printed}\ninstead of\n{text}")
        elif language == "python" and mark:
            (folder / mark).write_text(text)
        elif mark in ("run", "fails"):
            run += 1
            if language == "cpp":
                source = folder / f"example_{run}.cpp"
                source.write_text(text)
                text = str(compiled(source, folder))
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env=environment, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True)
            printed = done.stderr if mark == "fails" else done.stdout
            if bool(done.returncode) != (mark == "fails"):
                sys.exit(f"{page.relative_to(ROOT)}: failed:\n{text}\n{done.stdout}{done.stderr}")
    return run


for page in PAGES:
    with tempfile.TemporaryDirectory() as folder:
        count = run_page(page, Path(folder))
    if not count:
        sys.exit(f"{page.relative_to(ROOT)}: no block runs")
    print(f"{page.relative_to(ROOT)}: {count} blocks as the page says")
