"""What tests/data/peers.py offers to the tests of programs, which run in a new folder."""
import os
import pathlib
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "data")]
from peers import *  # noqa: E402, F401, F403  (adds data/ to the path)

folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
