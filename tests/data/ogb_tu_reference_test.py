#!/usr/bin/env python3
"""Compares `convert ogb` and `convert tu` with the readers that define these layouts, the ogb package's and PyG's, on
small folders in each layout."""
import gzip
import unittest

from peers import PARTS, Case, contents, library, np

ogb, pyg = library("ogb.io.read_graph_raw"), library("torch_geometric.io")


def read_ogb(folder, binary, inverse, tables):
    graphs = ogb.read_binary_graph_raw(folder) if binary else ogb.read_csv_graph_raw(folder, inverse, additional_node_files=tables)
    first = np.cumsum([0] + [graph["num_nodes"] for graph in graphs])
    arrays = {"offsets": first, "edges": np.concatenate([graph["edge_index"] + a for graph, a in zip(graphs, first)], axis=1)}
    for name in ["edge_feat", "node_feat"] + tables:
        if graphs[0][name] is not None:
            arrays[name] = np.concatenate([graph[name] for graph in graphs]).astype(np.float32)
    return arrays


def by_edge(edges, *values):
    """Sorted by target, source, then values."""
    rows = np.concatenate([np.asarray(edges, np.float64)] + [np.asarray(v, np.float64).T for v in values])
    return rows[:, np.lexsort(rows[::-1][:-2].tolist() + [rows[0], rows[1]])]


class Reference(Case):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(7)

    def write(self, name, values, form="%s"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(",".join(form % v for v in np.atleast_1d(row)) + "\n" for row in values)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())

    def convert(self, form, *options):
        self.ok(self.run_program("convert", form, self.folder, self.out, "--quiet", *options))
        return contents(self.out)

    def same_edges(self, ours, theirs, attr):
        self.assertEqual("edges/attr" in ours, attr is not None)
        one, other = ([] if attr is None else [ours["edges/attr"]]), ([] if attr is None else [attr])
        np.testing.assert_array_equal(by_edge([ours["edges/src"], ours["edges/dst"]], *one), by_edge(theirs, *other))


@unittest.skipUnless(ogb, "ogb")
class Ogb(Reference):
    def folder_of(self, nodes, edges, features=True, integers=False):
        """Graphs of these numbers of nodes and edges, with loops and parallel edges."""
        ends = np.concatenate([self.rng.integers(0, n, (m, 2)) for n, m in zip(nodes, edges)])
        arrays = {"edge": ends, "num-node-list": nodes, "num-edge-list": edges}
        if features:
            x = self.rng.integers(0, 9, (sum(nodes), 3)) if integers else np.float32(self.rng.normal(size=(sum(nodes), 3)))
            arrays |= {"node-feat": x, "edge-feat": np.arange(2 * len(ends)).reshape(-1, 2)}
            arrays["node_year"] = self.rng.integers(1990, 2020, (sum(nodes), 1))
        for name, values in arrays.items():
            self.write(f"raw/{name}.csv.gz", values, "%.9g" if np.asarray(values).dtype == np.float32 else "%s")
        return arrays

    def compare(self, binary=False, inverse=False, tables=()):
        theirs = read_ogb(str(self.folder / "raw"), binary, inverse, list(tables))
        ours = self.convert("ogb", *["--add-inverse-edges"] * inverse, *["--node-tables", *tables][:2 * len(tables)])
        self.same_edges(ours, theirs["edges"], theirs.get("edge_feat"))
        x = [theirs[name] for name in ("node_feat", *tables) if name in theirs]
        self.assertEqual("nodes/x" in ours, bool(x))
        if x:
            np.testing.assert_allclose(ours["nodes/x"], np.concatenate(x, axis=1), rtol=1e-6)
        if "graphs/offsets" in ours:
            np.testing.assert_array_equal(ours["graphs/offsets"], theirs["offsets"])
        return ours

    def test_node_property(self):
        self.folder_of([50], [300])
        y = self.rng.integers(0, 5, 50)
        self.write("raw/node-label.csv.gz", y)
        parts = np.split(self.rng.permutation(50), [30, 40])
        for name, part in zip(("train", "valid", "test"), parts):
            self.write(f"split/time/{name}.csv.gz", part)
        for inverse in (False, True):
            ours = self.compare(inverse=inverse)
            self.holds(ours, {"nodes/y": y, **{f"splits/{name}": part for name, part in zip(PARTS, parts)}})
        self.compare(tables=["node_year"])

    def test_graph_property(self):
        nodes, edges = [4, 1, 7, 3], [6, 0, 12, 1]
        for features, integers in ((True, True), (True, False)):
            self.folder_of(nodes, edges, features, integers)
            self.write("raw/graph-label.csv.gz", [1, 0, 0, 1])
            for inverse in (False, True):
                self.holds(self.compare(inverse=inverse), {"graphs/y": [1, 0, 0, 1]})

    def test_nothing_but_edges(self):
        self.folder_of([9], [20], features=False)
        self.write("raw/node-label.csv.gz", self.rng.integers(0, 2, (9, 4)))
        self.assertEqual(self.compare()["@task"], "node_multilabel")

    def test_binary(self):
        arrays = self.folder_of([12, 5], [40, 9])
        np.savez_compressed(self.folder / "raw/data.npz", edge_index=arrays["edge"].T, num_nodes_list=np.array([12, 5]),
                            num_edges_list=np.array([40, 9]), node_feat=arrays["node-feat"], edge_feat=arrays["edge-feat"])
        np.savez(self.folder / "raw/graph-label.npz", graph_label=np.array([[1], [0]]))
        self.compare(binary=True)


@unittest.skipUnless(pyg, "torch_geometric")
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
            data, slices, sizes = pyg.read_tu_data(str(self.folder), "T")
            first, edge_offsets = slices["x"].numpy(), slices["edge_index"]
            edges = data.edge_index.numpy().copy()
            for g in range(len(first) - 1):
                edges[:, edge_offsets[g]:edge_offsets[g + 1]] += first[g]
            for nodes, attributes in ((0, 0), (1, 0), (0, 1), (1, 1)):
                # Like TUDataset without use_node_attr and use_edge_attr.
                x = data.x[:, 0 if nodes else sizes["num_node_attributes"]:].numpy()
                attr = data.edge_attr[:, 0 if attributes else sizes["num_edge_attributes"]:].numpy()
                ours = self.convert("tu", *["--node-attributes"] * nodes, *["--edge-attributes"] * attributes)
                self.same_edges(ours, edges, attr)
                np.testing.assert_allclose(ours["nodes/x"], x, rtol=1e-6)
                self.holds(ours, {"graphs/offsets": first, "graphs/y": data.y.numpy()})


if __name__ == "__main__":
    unittest.main(warnings="ignore")
