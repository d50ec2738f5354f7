"""docs/benchmarks.md and its plots equal the output of scripts/results.py for bench/results, and every figure has an origin."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
import results  # noqa: E402

FORMS = {
    "date": r"(\d{4}-\d\d-\d\d)?",
    "commit": r"([0-9a-f]{8})?",
    "reproducible": r"yes|no",
    "value": r"-?\d+(\.\d+)?",
    "tool": r".+",
    "metric": r".+",
}

PLACEHOLDER = re.compile(r"\b(OP|FILE|FOLDER|OPTIONS|DATA|NAME|N)\b")


def problems():
    outputs = results.generated()
    for path, text in outputs.items():
        if not (ROOT / path).exists() or (ROOT / path).read_text() != text:
            yield f"{path} is not what scripts/results.py makes: make results"
    for image in (ROOT / "docs/images").glob("bench_*.svg"):
        if str(image.relative_to(ROOT)) not in outputs:
            yield f"{image.name}: no plot of the page"
    for file in sorted(results.RESULTS.glob("*.csv")):
        for number, row in enumerate(results.read(file.stem), 2):
            if list(row) != results.FIELDS or None in row.values():
                yield f"{file.name}, line {number}: not the columns {' '.join(results.FIELDS)}"
                continue
            for field, form in FORMS.items():
                if not re.fullmatch(form, row[field]):
                    yield f"{file.name}, line {number}: {field} is '{row[field]}'"
            if row["reproducible"] == "yes" and (not row["command"] or PLACEHOLDER.search(row["command"])):
                yield f"{file.name}, line {number}: reproducible without a whole command"


found = list(problems())
print("\n".join(found) or "no problem")
sys.exit(1 if found else 0)
