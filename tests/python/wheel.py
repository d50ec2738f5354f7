#!/usr/bin/env python3
"""Builds the wheel against the library of this build, installs it in a virtual environment, and runs cases.py, the code of
docs/python.md, table_cases.py and torch_cases.py there; in a build without CUDA also gpu_cases.py with a fake GPU."""
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ["ADJOINT_BIN_DIR"])
BUILD = BIN.parent
WORK = BUILD / "python"
PREFIX, PYTHON = WORK / "installed", WORK / "venv/bin/python"


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


if "-fsanitize" in (BUILD / "CMakeCache.txt").read_text():
    print("MESSAGE: skipped: a sanitizer is to be in the interpreter first")
    sys.exit(0)
# Debian's NumPy and h5py, which other tests take too.
venv.create(WORK / "venv", system_site_packages=True, clear=True, with_pip=True)
pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "--quiet"]
needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
if subprocess.run([str(part) for part in pip] + ["install", "--retries=1", *needed]).returncode:
    print(f"MESSAGE: skipped: pip cannot install {' and '.join(needed)}")
    sys.exit(bool(os.environ.get("CI")))
run("cmake", "--install", BUILD, "--prefix", PREFIX, "--component", "dev", stdout=subprocess.DEVNULL)
package = next(PREFIX.glob("lib*/**/adjointConfig.cmake")).parent
run(*pip, "install", "--no-build-isolation", "--no-deps", "--force-reinstall", f"--config-settings=build-dir={WORK / 'tree'}",
    f"--config-settings=cmake.define.adjoint_DIR={package}",
    f"--config-settings=cmake.define.ADJOINT_FAKE_GPU={ROOT / 'tests/python/fake_gpu.cpp'}", ROOT)
checkpoint = WORK / "gcn.h5"
run(BIN / "train_gcn", "--epochs", "30", "--quiet", "--checkpoint", checkpoint, stdout=subprocess.DEVNULL)
run(PYTHON, ROOT / "tests/python/cases.py", cwd=WORK)
run(PYTHON, ROOT / "tests/python/table_cases.py", cwd=WORK)
if (fake := WORK / "tree/fake_gpu").exists():
    run(PYTHON, ROOT / "tests/python/gpu_cases.py", env=os.environ | {"PYTHONPATH": str(fake)})
run(PYTHON, ROOT / "tests/python/torch_cases.py", cwd=WORK)
