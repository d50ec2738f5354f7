"""Files of --run-dir: the page as a browser shows it, a trace, events as TensorBoard reads them, and `compare`.

Skipped, in a printed line, where there is no train_gcn, no chromium, or no virtual environment or index to install PyPI's tensorboard from.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("ADJOINT_BIN_DIR", ROOT / "build/bin")).resolve()
# Asks the page how large its figures are, and leaves the answer where --dump-dom shows it.
MEASURE = """<script>
const sizes = [...document.querySelectorAll("figure, figure > svg, polyline")].map(e => {
  const box = e.getBoundingClientRect();
  return e.tagName + ":" + Math.round(box.width) + "x" + Math.round(box.height);
});
document.body.dataset.sizes = sizes.join(" ");
document.body.dataset.paper = getComputedStyle(document.body).backgroundColor;
</script></body>"""
# Reads the scalars of a folder with the package that TensorBoard itself reads them with.
READ = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
print(json.dumps({tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}))
"""


def skipped(what):
    print(f"MESSAGE: skipped: {what}", flush=True)
    assert not os.environ.get("CI"), what


def program(name, *words):
    return subprocess.run([BIN / name, *words], capture_output=True, text=True, check=True).stdout


def shown(browser, page, *flags):
    """The page's document in a headless browser, and its console output."""
    with tempfile.TemporaryDirectory() as profile:
        run = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                              f"--user-data-dir={profile}", "--enable-logging=stderr", "--virtual-time-budget=5000",
                              *flags, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120)
    return run.stdout, [line for line in run.stderr.splitlines() if "CONSOLE" in line]


class RunFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = Path(cls.temporary.name)
        cls.a, cls.b = cls.folder / "a", cls.folder / "b"
        cls.output = program("train_gcn", "--run-dir", cls.a, "--profile", "--epochs", "30", "--lr", "0.02")
        program("train_gcn", "--run-dir", cls.b, "--epochs", "20", "--runs", "2", "--quiet", "--json")
        cls.rows = [line.split(",") for line in (cls.a / "metrics.csv").read_text().splitlines()]

    def test_files(self):
        names = {path.name for path in self.a.iterdir()}
        self.assertLessEqual({"run.json", "metrics.csv", "checkpoint.h5", "report.html", "trace.json"}, names)
        self.assertEqual({path.name for path in self.b.glob("run-*")}, {"run-1", "run-2"})
        run = json.loads((self.a / "run.json").read_text())
        self.assertEqual((run["program"], run["device"], run["options"]["lr"]), ("train_gcn", "cpu", "0.02"))
        self.assertEqual(run["options"]["profile"], "true")
        copy = shutil.copytree(self.a, self.folder / "copy")
        program("train_gcn", "--run-dir", copy, "--epochs", "30", "--lr", "0.02", "--resume", copy / "checkpoint.h5")
        again = subprocess.run([BIN / "train_gcn", "--run-dir", self.a], capture_output=True, text=True)
        self.assertEqual(again.returncode, 1)
        self.assertIn("already holds a run", again.stderr)

    def test_profile(self):
        self.assertRegex(self.output, r"(?m)^op +forward +ms +backward")
        self.assertRegex(self.output, r"(?m)^aggregate ")
        events = json.loads((self.a / "trace.json").read_text())["traceEvents"]
        self.assertEqual({e["cat"] for e in events}, {"forward", "backward", "kernel"})
        # Two layers forward in 30 steps and 30 evaluations at least, backward in the steps.
        self.assertGreaterEqual(sum(e["name"] == "aggregate" and e["cat"] == "forward" for e in events), 120)
        self.assertEqual(sum(e["name"] == "aggregate" and e["cat"] == "backward" for e in events), 60)

    def test_compare(self):
        output = program("compare", self.a, self.b)
        cells = {}  # by run and column
        for table in output.split("\n\n"):
            lines = [line.replace("*", " ").split() for line in table.splitlines()]
            heads = [k for k, line in enumerate(lines) if line[0] == "run"]
            for line in lines[heads[0]:heads[0] + 3] if heads else []:
                cells.setdefault(line[0], {}).update(zip(lines[heads[0]], line))
        result = json.loads((self.a / "run.json").read_text())["result"]
        self.assertEqual(set(cells), {"run", "a", "b"})
        self.assertAlmostEqual(float(cells["a"]["test_acc"]), result["test_acc"], places=4)
        self.assertEqual([cells[run]["lr"] for run in "ab"], ["0.02", "0.01"])
        self.assertEqual([cells[run]["runs"] for run in "ab"], ["1", "2"])
        self.assertNotIn("dropout", cells["run"])
        self.assertNotIn("run-dir", cells["run"])

    def test_page(self):
        browser = shutil.which("chromium")
        if not browser:
            return skipped("no chromium to look at a report with (scripts/install_deps.sh docs)")
        _, errors = shown(browser, self.a / "report.html")
        self.assertEqual(errors, [])
        text = (self.a / "report.html").read_text()
        headings = ["Run", "Data", "Training", "Classes", "Degrees", "Columns by importance", "Embeddings", "Time and memory by op"]
        self.assertEqual(re.findall("<h2>(.*)</h2>", text), headings)
        measured = self.folder / "measured.html"  # without the policy that forbids scripts
        measured.write_text(re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</body>", MEASURE))
        papers = set()
        for scheme in ("0", "1"):  # dark, light
            dom, errors = shown(browser, measured, f"--blink-settings=preferredColorScheme={scheme}")
            self.assertEqual(errors, [])
            papers.add(re.search(r'data-paper="([^"]+)"', dom).group(1))
            sizes = re.findall(r"(\w+):(\d+)x(\d+)", re.search(r'data-sizes="([^"]+)"', dom).group(1))
            self.assertEqual(sum(tag == "FIGURE" for tag, *_ in sizes), len(headings) - 1)  # no importance of 1,000 columns
            self.assertEqual(sum(tag == "svg" for tag, *_ in sizes), 3)
            for tag, width, height in sizes:
                if tag != "polyline":
                    self.assertTrue(int(width) >= 200 and int(height) >= 50, (tag, width, height))
            curves = [tag for tag, width, height in sizes if tag == "polyline" and int(width) > 100 and int(height) > 5]
            self.assertGreaterEqual(len(curves), 7)  # three measured, three smoothed, one by degree
        self.assertEqual(len(papers), 2)

    def test_tensorboard(self):
        home = self.folder / "venv"
        try:
            venv.create(home, with_pip=True)
        except (ImportError, subprocess.CalledProcessError):
            return skipped("no virtual environment to install tensorboard in (Debian: python3-venv)")
        pip = subprocess.run([home / "bin/pip", "install", "-q", "--retries", "0", "tensorboard", "setuptools<81"],
                             capture_output=True, text=True)
        if pip.returncode:
            return skipped(f"pip cannot install tensorboard: {pip.stderr.strip().splitlines()[-1][:80]}")
        read = subprocess.run([home / "bin/python", "-c", READ, self.b / "run-2"], capture_output=True, text=True,
                              check=True)
        scalars = json.loads(read.stdout)
        self.assertEqual(set(scalars), {"loss/train", "loss/validation", "accuracy/validation", "learning_rate",
                                        "seconds"})
        rows = [line.split(",") for line in (self.b / "metrics.csv").read_text().splitlines()]
        rows = [row for row in rows if row[0] == "1"]
        for tag, column in (("loss/train", 2), ("loss/validation", 3), ("accuracy/validation", 4)):
            self.assertEqual([step for step, _ in scalars[tag]], [int(row[1]) for row in rows])
            for (_, value), row in zip(scalars[tag], rows):
                self.assertAlmostEqual(value, float(row[column]), places=5)
        for _, rate in scalars["learning_rate"]:
            self.assertAlmostEqual(rate, 0.01, places=6)


if __name__ == "__main__":
    if not (BIN / "train_gcn").exists() or not (BIN / "compare").exists():
        skipped("no train_gcn or compare")
        sys.exit(0)
    unittest.main()
