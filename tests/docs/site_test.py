"""The site builds without a warning, none of its links or images is broken, and a browser shows it without an error.

Skipped, in a printed line, where Doxygen, its style or (for the last part) chromium is missing.
"""

import functools
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
SHOWN = ("index.html", "tutorial.html", "classadj_1_1Tensor.html")


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
        with tempfile.TemporaryDirectory() as profile:
            run = subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 f"--user-data-dir={profile}", "--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom",
                 f"http://127.0.0.1:{server.server_port}/{page}"],
                capture_output=True, text=True, timeout=120)
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
        found = sorted(set(broken(site)))
        browser = shutil.which("chromium")
        if browser:
            found += list(shown_badly(site, browser))
        else:
            print("MESSAGE: skipped: no chromium to look at the site with (scripts/install_deps.sh docs)")
            found += ["no chromium"] if os.environ.get("CI") else []
        print("\n".join(found[:40]) or f"{sum(1 for _ in site.rglob('*.html'))} pages: no problem")
        return 1 if found else 0


sys.exit(main())
