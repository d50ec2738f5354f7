"""The site builds without a warning, none of its links or images is broken, and a browser shows it without an error. Its search
finds words of the pages, its menu leads to every page and topic, and the reference has whole sentences and the users' includes.

Skipped, in a printed line, where Doxygen, its style or (for the last part) chromium is missing.
"""

import functools
import html
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs/site")]
import reference  # noqa: E402
from build import PAGES, name_of  # noqa: E402

SHOWN = ("index.html", "tutorial.html", "classadj_1_1Tensor.html")
FOUND = {  # what a search finds among its first results, in this order
    "pooling": ["quantized.html#quantized--models-of-graphs", "library.html#library--ops-on-var"],
    "csv": ["tutorial.html", "tutorial.html#tutorial--1-the-csv-files", "programs.html#programs--converted-datasets"],
    "early stopping": ["classadj_1_1optim_1_1EarlyStopping.html", "library.html#library--training"],
    "quantised model": ["quantized.html"],
    "GCNConv": ["classadj_1_1nn_1_1GCNConv.html", "library.html#library--layers-losses-metrics"],
    "--fanouts": ["programs.html#programs--mini-batches-of-sampled-neighbourhoods"],
    "edge_softmax": ["group__autograd.html#", "library.html#library--ops-on-var"],
    "xyzzy": [],
}
PARTS = {  # what is on pages
    "classadj_1_1nn_1_1GCNConv.html": ["#include &lt;adjoint/nn/conv/gcn_conv.h&gt;"],
    "group__graph__layers.html": ["2017, eq. 2; self-loops only where missing)."],
    "group__autograd.html": ["#include &lt;adjoint/autograd/edge.h&gt;"],
    "programs.html": ["Table of Contents"],
    "index.html": ["make demo", "apt-get install git make", "CapturedStep"],
}


def broken(site):
    """Links and images that lead nowhere within the site."""
    ids = {}
    for page in site.rglob("*.html"):
        ids[page.resolve()] = set(re.findall(r'\b(?:id|name)="([^"]+)"', page.read_text()))
    for page in ids:
        for target in re.findall(r'\b(?:href|src)="([^"]+)"', page.read_text()):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = urllib.parse.unquote(target).partition("#")
            destination = (page.parent / path).resolve() if path else page
            if not destination.exists():
                yield f"{page.name}: {target} does not exist"
            elif anchor and destination in ids and anchor not in ids[destination]:
                yield f"{page.name}: {target}: no such place"


def parts_missing(site):
    for page, parts in PARTS.items():
        text = (site / page).read_text()
        yield from (f"{page}: no {part}" for part in parts if part not in re.sub(r"</?(b|code)>", "", text))
    topics = html.unescape((site / "modules.html").read_text())
    for name, title, _ in reference.TOPICS:
        page = site / f"group__{name.replace('_', '__')}.html"
        if f">{title}</a>" not in topics or 'class="memberdecls"' not in page.read_text():
            yield f"no topic {title}, or nothing in it"
    # Words of commands are no names of the library; those of C++ are.
    linked = {}
    for page in ("programs", "library"):
        blocks = re.findall(r'<div class="fragment">.*?</div><!-- fragment -->', (site / f"{page}.html").read_text(), re.S)
        linked[page] = sum('<a class="code' in block for block in blocks)
    if linked["programs"] or not linked["library"]:
        yield f"code blocks with links: {linked}"


def miscounted():
    """Symbols without a text, counted by hand."""
    symbol = lambda name, text="", definition=None: reference.Symbol("function", name, "", text, definition or name)
    symbols = [symbol("A", "Has x and rows."), symbol("A::x"), symbol("A::row"), symbol("A::A"), symbol("A::~A", definition="A::~A()"),
               symbol("f"), symbol("g", "Does."), symbol("A::y", definition="A::y()=default"), symbol("B"), symbol("B::x"),
               symbol("g"), symbol("h"), symbol("h", "Does.")]
    found = [each.name for each in reference.undocumented(symbols)]
    return [] if found == ["A::row", "f", "B", "B::x"] else [f"without a text: {found}"]


def shown(browser, address):
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
             "--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom", address],
            capture_output=True, text=True, timeout=120)


def unfound(site, browser):
    """Searches that miss a page, in the folder without a server."""
    for query, expected in FOUND.items():
        page = shown(browser, f"{site.as_uri()}/index.html?search={urllib.parse.quote(query)}").stdout
        results = re.findall(r'href="([^"]+)"', re.search(r'id="search-results".*?</div>', page, re.S)[0])
        places = [next((i for i, found in enumerate(results) if found.startswith(address)), -1) for address in expected]
        if -1 in places or places != sorted(places) or (places and places[0] > 2) or (results and not expected):
            yield f"search for {query}: {results}"
    menu = re.search(r'id="main-menu".*?id="side-nav"', page, re.S)[0]  # of narrow screens
    yield from (f"not in the menu: {name_of(each)}" for each in PAGES if f'href="{name_of(each)}.html"' not in menu)


class Quiet(http.server.SimpleHTTPRequestHandler):
    missing = []

    def log_message(self, *args):
        pass

    def send_error(self, code, *args):
        self.missing.append(f"{self.path}: {code}")
        super().send_error(code, *args)


def shown_badly(site, browser):
    """Errors of some pages in a headless browser: errors of scripts, files that are missing."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for page in SHOWN:
        run = shown(browser, f"http://127.0.0.1:{server.server_port}/{page}")
        if run.returncode or "doxygen-awesome-dark-mode-toggle" not in run.stdout:
            yield f"{page}: not shown"
        for line in run.stderr.splitlines():
            if "CONSOLE" in line and re.search(r"error|warning|fail", line, re.I):
                yield f"{page}: {line}"
    server.shutdown()
    yield from Quiet.missing


def main():
    if not shutil.which("doxygen") or not Path("/usr/share/doxygen-awesome-css").is_dir():
        print("MESSAGE: skipped: the site needs doxygen and doxygen-awesome-css (scripts/install_deps.sh docs)")
        return bool(os.environ.get("CI"))
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "docs"
        subprocess.run([sys.executable, ROOT / "docs/site/build.py", site], check=True)
        found = sorted(set(broken(site))) + list(parts_missing(site)) + miscounted()
        browser = shutil.which("chromium")
        if browser:
            found += [*shown_badly(site, browser), *unfound(site, browser)]
        else:
            print("MESSAGE: skipped: no chromium to look at the site with (scripts/install_deps.sh docs)")
            found += ["no chromium"] if os.environ.get("CI") else []
        print("\n".join(found[:40]) or f"{sum(1 for _ in site.rglob('*.html'))} pages: no problem")
        return 1 if found else 0


sys.exit(main())
