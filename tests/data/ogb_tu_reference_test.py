#!/usr/bin/env python3
"""Compares `convert ogb` and `convert tu` with the readers that define these layouts, the ogb package's and PyG's, on
small folders in each layout. Needs ADJOINT_BIN_DIR, h5py and numpy; the readers run under the interpreter that
ADJOINT_PYTHON_PEERS names, or this one, and what it cannot import is skipped, saying so."""
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy as np
except ImportError as error:
    print(f"skipped: {error} (python3-h5py)")
    sys.exit(0)

BIN = pathlib.Path(os.environ.get("ADJOINT_BIN_DIR", "build/bin"))
PEERS = os.environ.get("ADJOINT_PYTHON_PEERS", sys.executable).split(":")

# Both run under the peers' interpreter: FOLDER OUT.npz ARGUMENT...
OGB = """
import sys, numpy as np
from ogb.io.read_graph_raw import read_csv_graph_raw, read_binary_graph_raw
folder, out, form, inverse, extra = sys.argv[1:]
files = [extra] if extra else []
graphs = (read_binary_graph_raw(folder) if form == "binary" else
          read_csv_graph_raw(folder, inverse == "1", additional_node_files=files))
first = np.cumsum([0] + [g["num_nodes"] for g in graphs])
made = {"offsets": first,
        "edges": np.concatenate([g["edge_index"] + first[k] for k, g in enumerate(graphs)], axis=1)}
for name in ["edge_feat", "node_feat"] + files:
    if graphs[0][name] is not None:
        made[name] = np.concatenate([g[name] for g in graphs]).astype(np.float32)
np.savez(out, **made)
"""
TU = """
import sys, numpy as np
from torch_geometric.io import read_tu_data
folder, out, name = sys.argv[1:]
data, slices, sizes = read_tu_data(folder, name)
nodes = slices["x"].numpy()
edges = data.edge_index.numpy().copy()
for g in range(len(nodes) - 1):
    edges[:, slices["edge_index"][g]:slices["edge_index"][g + 1]] += nodes[g]
np.savez(out, offsets=nodes, edges=edges, x=data.x.numpy(), attr=data.edge_attr.numpy(), y=data.y.numpy(),
         node_attributes=sizes["num_node_attributes"], edge_attributes=sizes["num_edge_attributes"])
"""


def interpreter_with(module):
    """The first of the peers' interpreters that has it, or None."""
    for python in PEERS:
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    print(f"skipped: {' and '.join(PEERS)} cannot import {module} (ADJOINT_PYTHON_PEERS names other interpreters)")
    return None


HAS_OGB, HAS_PYG = interpreter_with("ogb.io.read_graph_raw"), interpreter_with("torch_geometric.io")


def by_edge(edges, *values):
    """Sorted by target, source, then values."""
    rows = np.concatenate([np.asarray(edges, np.float64)] + [np.asarray(v, np.float64).T for v in values])
    return rows[:, np.lexsort(rows[::-1][:-2].tolist() + [rows[0], rows[1]])]


class Reference(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rng = np.random.default_rng(7)

    def write(self, name, values, form="%s"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(",".join(form % v for v in np.atleast_1d(row)) + "\n" for row in values)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())

    def convert(self, form, folder, *options):
        out = self.folder / "out.h5"
        result = subprocess.run([BIN / "convert", form, folder, out, "--quiet", *options], capture_output=True, text=True,
                                timeout=300)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        file = h5py.File(out)
        self.addCleanup(file.close)
        return file

    def peer(self, script, folder, *arguments):
        out = self.folder / "peer.npz"
        python = HAS_OGB if script is OGB else HAS_PYG
        result = subprocess.run([python, "-c", script, folder, out, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        return np.load(out)

    def same_edges(self, ours, theirs, name="edge_feat"):
        attr = [theirs[name]] if name in theirs else []
        self.assertEqual("edges/attr" in ours, bool(attr))
        np.testing.assert_array_equal(
            by_edge(np.stack([ours["edges/src"][:], ours["edges/dst"][:]]), *([ours["edges/attr"][:]] if attr else [])),
            by_edge(theirs["edges"], *attr))


@unittest.skipUnless(HAS_OGB, "no ogb")
class Ogb(Reference):
    def folder_of(self, nodes, edges, features=True, integers=False):
        """Graphs of so many nodes and edges, loops and parallel edges among them."""
        ends = np.concatenate([self.rng.integers(0, n, (m, 2)) for n, m in zip(nodes, edges)])
        arrays = {"edge": ends, "num-node-list": nodes, "num-edge-list": edges}
        if features:
            x = self.rng.integers(0, 9, (sum(nodes), 3)) if integers else np.float32(self.rng.normal(size=(sum(nodes), 3)))
            arrays |= {"node-feat": x, "edge-feat": np.arange(2 * len(ends)).reshape(-1, 2)}
            arrays["node_year"] = self.rng.integers(1990, 2020, (sum(nodes), 1))
        for name, values in arrays.items():
            self.write(f"raw/{name}.csv.gz", values, "%.9g" if np.asarray(values).dtype == np.float32 else "%s")
        return arrays

    def compare(self, form="text", options=(), inverse="0", extra=""):
        theirs = self.peer(OGB, self.folder / "raw", form, inverse, extra)
        ours = self.convert("ogb", self.folder, *options)
        self.same_edges(ours, theirs)
        x = [theirs[name] for name in ("node_feat", extra) if name in theirs]
        self.assertEqual("nodes/x" in ours, bool(x))
        if x:
            np.testing.assert_allclose(ours["nodes/x"][:], np.concatenate(x, axis=1), rtol=1e-6)
        if "graphs/offsets" in ours:
            np.testing.assert_array_equal(ours["graphs/offsets"][:], theirs["offsets"])
        return ours

    def test_node_property(self):
        self.folder_of([50], [300])
        y = self.rng.integers(0, 5, 50)
        self.write("raw/node-label.csv.gz", y)
        parts = np.split(self.rng.permutation(50), [30, 40])
        for name, part in zip(("train", "valid", "test"), parts):
            self.write(f"split/time/{name}.csv.gz", part)
        for inverse in (False, True):
            ours = self.compare(options=["--add-inverse-edges"] if inverse else [], inverse=str(int(inverse)))
            np.testing.assert_array_equal(ours["nodes/y"][:], y)
            for name, part in zip(("train", "val", "test"), parts):
                np.testing.assert_array_equal(ours[f"splits/{name}"][:], part)
        self.compare(options=["--node-tables", "node_year"], extra="node_year")

    def test_graph_property(self):
        nodes, edges = [4, 1, 7, 3], [6, 0, 12, 1]
        for features, integers in ((True, True), (True, False)):
            self.folder_of(nodes, edges, features, integers)
            self.write("raw/graph-label.csv.gz", [1, 0, 0, 1])
            for inverse in (False, True):
                ours = self.compare(options=["--add-inverse-edges"] if inverse else [], inverse=str(int(inverse)))
                np.testing.assert_array_equal(ours["graphs/y"][:], [1, 0, 0, 1])

    def test_nothing_but_edges(self):
        self.folder_of([9], [20], features=False)
        self.write("raw/node-label.csv.gz", self.rng.integers(0, 2, (9, 4)))
        self.assertEqual(self.compare().attrs["task"], "node_multilabel")

    def test_binary(self):
        arrays = self.folder_of([12, 5], [40, 9])
        np.savez_compressed(self.folder / "raw/data.npz", edge_index=arrays["edge"].T, num_nodes_list=np.array([12, 5]),
                            num_edges_list=np.array([40, 9]), node_feat=arrays["node-feat"], edge_feat=arrays["edge-feat"])
        np.savez(self.folder / "raw/graph-label.npz", graph_label=np.array([[1], [0]]))
        self.compare(form="binary")


@unittest.skipUnless(HAS_PYG, "no torch_geometric")
class Tu(Reference):
    def folder_of(self, label_columns=1):
        sizes = [3, 6, 1, 10]
        first = np.cumsum([0] + sizes)
        edges = np.concatenate([self.rng.integers(first[g], first[g + 1], (4 * sizes[g], 2)) for g in range(len(sizes))])
        n, m = first[-1], len(edges)
        self.write("T_A.txt", edges + 1)
        self.write("T_graph_indicator.txt", np.repeat(np.arange(len(sizes)), sizes) + 1)
        self.write("T_graph_labels.txt", [3, -1, 3, 8])
        self.write("T_node_labels.txt", 2 * self.rng.integers(1, 4, (n, label_columns)))
        self.write("T_edge_labels.txt", self.rng.integers(-1, 3, (m, label_columns)))
        self.write("T_node_attributes.txt", np.float32(self.rng.normal(size=(n, 2))), "%.9g")
        self.write("T_edge_attributes.txt", self.rng.integers(0, 50, (m, 2)))

    def test_as_pyg(self):
        for label_columns in (1, 2):
            self.folder_of(label_columns)
            read = dict(self.peer(TU, self.folder, "T"))
            for nodes, edges in ((0, 0), (1, 0), (0, 1), (1, 1)):
                # As TUDataset does without use_node_attr and use_edge_attr.
                theirs = read | {"x": read["x"][:, 0 if nodes else read["node_attributes"]:],
                                 "attr": read["attr"][:, 0 if edges else read["edge_attributes"]:]}
                ours = self.convert("tu", self.folder, *["--node-attributes"] * nodes, *["--edge-attributes"] * edges)
                self.same_edges(ours, theirs, "attr")
                np.testing.assert_allclose(ours["nodes/x"][:], theirs["x"], rtol=1e-6)
                np.testing.assert_array_equal(ours["graphs/offsets"][:], theirs["offsets"])
                np.testing.assert_array_equal(ours["graphs/y"][:], theirs["y"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
