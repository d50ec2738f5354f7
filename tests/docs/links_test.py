"""Links, anchors, headers, members and programs that the documentation names exist; the README stays short."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "data/README.md")]
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b")  # FAMILY/NAME.h
TESTS = {"adjoint_tests", "hdf5_fuzz", "import_fuzz"}
FOLDERS = ("core", "kernels", "graph", "data", "autograd", "nn", "optim", "models", "training")
PAGES += sorted((ROOT / "docs").glob("*.md"))


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def anchors(page):
    """GitHub's anchors of the headings."""
    for heading in re.findall(r"^#+ +(.*)", without_code(page.read_text()), re.M):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", words))


def names(header):
    """The words of a header's code, without its comments."""
    return set(re.findall(r"\w+", re.sub(r"//.*", "", header.read_text())))


HEADERS = [names(header) for folder in FOLDERS for header in sorted((ROOT / folder).rglob("*.h"))]


def problems(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        destination = (page.parent / path).resolve() if path else page
        if not destination.exists():
            yield f"link to {target}, which does not exist"
        elif anchor and anchor not in anchors(destination):
            yield f"link to {target}, of which there is no such heading"
    for header in re.findall(r"`((?:\w+/)+\w+\.(?:h|hpp))`", text):
        if not (ROOT / header).exists() and not PLACEHOLDER.search(header):
            yield f"header {header}, which does not exist"
    if page.name != "CHANGELOG.md":  # also names removed members
        for owner, member in re.findall(r"\b([A-Z]\w+)::(\w+)", text):
            if not any({owner, member} <= words for words in HEADERS):
                yield f"{owner}::{member}, which no header has"
    for program in re.findall(r"build/bin/(\w+)", text):
        if not any(ROOT.glob(f"apps/{program}*")) and program not in TESTS and not PLACEHOLDER.search(program):
            yield f"program {program}, which does not exist"
    if page.name == "README.md" and page.parent == ROOT and text.count("\n") > 120:
        yield "more than 120 lines"


def main():
    found = [f"{page.relative_to(ROOT)}: {problem}" for page in PAGES for problem in problems(page)]
    print("\n".join(found) or f"{len(PAGES)} pages: no problem")
    return 1 if found else 0


sys.exit(main())
