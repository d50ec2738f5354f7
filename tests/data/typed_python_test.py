#!/usr/bin/env python3
"""Several types in Python: to_adjoint.py and from_adjoint.py beside h5py, `inspect`, and PyG and DGL if they are installed."""
import copy
import json
import types
import unittest

from peers import Case, h5py, library, np, same

from from_adjoint import read_dataset, read_typed_dataset, to_dgl, to_pyg
from to_adjoint import DataError, to_adjoint

torch, pyg, dgl = map(library, ("torch", "torch_geometric", "dgl"))
WROTE, CITES = ("author", "wrote", "paper"), ("paper", "cites / is cited", "paper")


def papers():
    """Three authors and four papers with all that types may have."""
    return {"name": "papers", "nodes": {
        "author": {"node_names": ["ann", "", "Zoë"], "num_nodes": 3},
        "paper": {"num_nodes": 4, "x": np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.float32), "feature_names": ["pages", "größe"],
                  "y": np.array([0, 2, -1, 1]), "class_names": ["a", "b", "c"], "num_classes": 3, "task": "node_class",
                  "splits": [{"train": [0], "val": [1], "test": [3]}], "times": np.array([2**53 + 1, -1, 0, -2**63])}},
        "edges": {
            WROTE: {"edge_index": np.array([[2, 0, 0], [0, 3, 1]]), "edge_weight": np.array([1, 2, 0.5], np.float32),
                    "edge_attr": np.array([[1], [2], [3]], np.float32), "attr_names": ["share"], "edge_y": np.array([1, 0, 1]),
                    "class_names": ["no", "yes"], "num_classes": 2, "task": "edge_class", "edge_times": np.array([5, 6, 7]),
                    "splits": [{"train": [2], "val": [0], "test": [1]}]},
            CITES: {"edge_index": np.array([[0, 1], [2, 2]])}}}


class Store(dict):
    def to_dict(self):
        return dict(self)


class Hetero:
    """What to_adjoint asks of a HeteroData."""

    def __init__(self, stores):
        self.stores = {kind: Store(store) for kind, store in stores.items()}
        self.node_types = [kind for kind in stores if isinstance(kind, str)]
        self.edge_types = [kind for kind in stores if isinstance(kind, tuple)]

    def __getitem__(self, kind):
        return self.stores[kind]

    def to_dict(self):
        return self.stores


class Heterograph:
    """What to_adjoint asks of a DGL graph of several types."""

    def __init__(self, nodes, edges):
        self.ntypes, self.canonical_etypes, self.counts = list(nodes), list(edges), {kind: count for kind, (count, _) in nodes.items()}
        self.ends = {kind: ends for kind, (ends, _) in edges.items()}
        frame = lambda parts: {kind: types.SimpleNamespace(data=data) for kind, (_, data) in parts.items()}
        self.nodes, self.frames, self.ndata, self.edata = frame(nodes), frame(edges), {}, {}

    def num_nodes(self, kind):
        return self.counts[kind]

    @property
    def edges(self):
        return Edges(self)


class Edges:
    def __init__(self, graph):
        self.graph = graph

    def __call__(self, etype):
        return self.graph.ends[etype]

    def __getitem__(self, etype):
        return self.graph.frames[etype]


def contents(path):
    """Every dataset, and the attributes of groups under "GROUP@name"."""
    found = {}
    with h5py.File(path) as file:
        def take(name, item):
            if isinstance(item, h5py.Dataset):
                found[name] = item[...]
            found.update({f"{name}@{key}": value for key, value in item.attrs.items()})
        file.visititems(take)
        return found | {f"@{key}": value for key, value in file.attrs.items()}


def mask(index, rows):
    return np.isin(np.arange(rows), index)


class Types(Case):
    def equal(self, found, expected):
        self.assertEqual(sorted(found, key=str), sorted(expected, key=str))
        for key, value in found.items():
            if isinstance(value, dict):
                self.equal(value, expected[key])
            elif key == "splits":
                for split, wanted in zip(value, expected[key], strict=True):
                    for part in wanted:
                        np.testing.assert_array_equal(split[part], wanted[part])
            else:
                np.testing.assert_array_equal(value, expected[key], str(key))

    def test_arrays(self):
        data = papers()
        written = to_adjoint(data, self.out)
        self.assertEqual((written.name, written.left_out), ("papers", []))
        self.equal(read_typed_dataset(self.out), data)
        report = json.loads(self.ok(self.run_program("inspect", self.out, "--json")).stdout)
        self.assertEqual((report["problems"], [kind["type"] for kind in report["nodes"]]), ([], ["author", "paper"]))
        before = contents(self.out)
        again = self.folder / "again.h5"
        to_adjoint(read_typed_dataset(self.out), again)
        same(self, contents(again), before)
        sparse = papers()
        del sparse["nodes"]["paper"]["x"]
        sparse["nodes"]["paper"] |= {"x_indptr": [0, 1, 1, 2, 2], "x_indices": [1, 0], "x_data": [2.0, 3.0], "x_cols": 2}
        to_adjoint(sparse, self.out, gzip=4)
        np.testing.assert_array_equal(read_typed_dataset(self.out)["nodes"]["paper"]["x_indices"], [1, 0])
        self.assertEqual(json.loads(self.ok(self.run_program("inspect", self.out, "--json")).stdout)["problems"], [])
        with self.assertRaisesRegex(DataError.__base__, "read_typed_dataset and to_pyg read several types"):
            read_dataset(self.out)

    def test_what_is_counted(self):
        to_adjoint({"nodes": {"a": {}, "b": {"x": np.ones((5, 1))}}, "edges": {("a", "r", "b"): {"edge_index": [[0, 6], [4, 0]]}}}, self.out)
        found = read_typed_dataset(self.out)["nodes"]
        self.assertEqual([found[kind]["num_nodes"] for kind in "ab"], [7, 5])

    def test_empty_and_damaged(self):
        data = papers()
        data["edges"]["author", "met", "author"] = {"edge_index": np.zeros((2, 0), int), "edge_attr": np.zeros((0, 2), np.float32)}
        to_adjoint(data, self.out)
        self.assertEqual(read_typed_dataset(self.out)["edges"]["author", "met", "author"]["edge_index"].shape, (2, 0))
        self.assertEqual(json.loads(self.ok(self.run_program("inspect", self.out, "--json")).stdout)["problems"], [])
        for damage, message in ((lambda f: f["nodes/author"].attrs.__delitem__("num_nodes"), "num_nodes"),
                                (lambda f: f["edges/wrote"].__delitem__("src"), "src")):
            to_adjoint(papers(), self.out)
            with h5py.File(self.out, "r+") as file:
                damage(file)
            with self.assertRaisesRegex(ValueError, message):
                read_typed_dataset(self.out)

    def test_libraries(self):
        """The same file from what PyG and DGL have."""
        data = papers()
        del data["nodes"]["author"]["node_names"]
        paper, wrote = data["nodes"]["paper"], data["edges"][WROTE]
        to_adjoint(data, self.out)
        expected = contents(self.out)
        stores = {"author": {"num_nodes": 3}, "paper": {
            **{key: paper[key] for key in ("x", "y", "class_names", "feature_names")}, "time": paper["times"],
            **{f"{part}_mask": mask(index, 4) for part, index in paper["splits"][0].items()}, "odd": 3},
            WROTE: {**{key: wrote[key] for key in ("edge_index", "edge_attr", "edge_weight", "attr_names", "class_names")},
                    "edge_label": wrote["edge_y"], "time": wrote["edge_times"],
                    **{f"{part}_mask": mask(index, 3) for part, index in wrote["splits"][0].items()}},
            CITES: dict(data["edges"][CITES])}
        written = to_adjoint(Hetero(stores), self.out, name="papers")
        self.assertEqual(written.left_out, ["paper: odd"])
        same(self, contents(self.out), expected)
        graph = Heterograph(
            {"author": (3, {}), "paper": (4, {"feat": paper["x"], "label": paper["y"],
                                              **{f"{part}_mask": mask(index, 4) for part, index in paper["splits"][0].items()}})},
            {WROTE: (wrote["edge_index"], {"weight": wrote["edge_weight"], "feat": wrote["edge_attr"], "label": wrote["edge_y"],
                                           **{f"{part}_mask": mask(index, 3) for part, index in wrote["splits"][0].items()}}),
             CITES: (data["edges"][CITES]["edge_index"], {})})
        to_adjoint(graph, self.out, name="papers")
        lost = [path for path in expected if path.endswith(("names", "names_offsets", "/time"))]
        same(self, contents(self.out), expected, lost)

    @unittest.skipUnless(torch and pyg, "torch_geometric")
    def test_pyg(self):
        to_adjoint(papers(), self.out)
        before = contents(self.out)
        data = to_pyg(self.out)
        self.assertEqual((data.node_types, data["paper"].x.shape), (["author", "paper"], (4, 2)))
        self.assertTrue(data.validate())
        to_adjoint(data, self.out, name="papers")
        same(self, contents(self.out), before)

    @unittest.skipUnless(torch and dgl, "dgl")
    def test_dgl(self):
        to_adjoint(papers(), self.out)
        before = contents(self.out)
        to_adjoint(to_dgl(self.out), self.out, name="papers")
        lost = [path for path in before if path.endswith(("name", "name_offsets", "names", "names_offsets", "/time"))]
        same(self, contents(self.out), before, lost)

    def test_what_is_wrong_is_said_and_nothing_is_written(self):
        def put(*path):
            def change(data):
                for key in path[:-2]:
                    data = data[key]
                data[path[-2]] = path[-1]
            return change

        for change, message in (
                (put("nodes", "paper", "x", np.full((4, 2), np.nan)), "nodes/paper/x: nan at"),
                (put("nodes", "paper", "x", np.ones((3, 2))), "nodes/paper/x: shape"),
                (put("nodes", "paper", "y", np.array([0, 9, 1, 1])), "nodes/paper/y: 9"),
                (put("nodes", "paper", "class_names", ["a"]), "nodes/paper/class_names: 1 names, expected 3"),
                (put("nodes", "paper", "splits", [{"train": [2], "val": [1], "test": [3]}]), "nodes/paper/splits/train: index 2"),
                (put("nodes", "paper", "task", "graph_class"), "attribute nodes/paper@task"),
                (put("nodes", "author", {"num_nodes": 0}), "attribute nodes/author@num_nodes: 0"),
                (put("nodes", "author", {"num_nodes": 10**9}), "attribute nodes/author@num_nodes: 1000000000, but there are no"),
                (put("nodes", "author", "size", 3), "nodes author: size: not known; the names are"),
                (put("nodes", "author", "edge_attr", np.ones((3, 1))), "nodes author: edge_attr: not known; the names are"),
                (put("edges", WROTE, "y", np.ones(3, int)), "edge_attr"),
                (put("edges", WROTE, "x", np.ones((3, 1))), "x: not known; the names are"),
                (put("nodes", "", {"num_nodes": 1}), "nodes: a type called ''"),
                (put("edges", WROTE, "edge_index", np.array([[3], [0]])), "edges/wrote/src: 3"),
                (put("edges", WROTE, "edge_index", np.array([[1], [4]])), "edges/wrote/dst: 4"),
                (put("edges", WROTE, "edge_attr", np.ones((2, 1))), "edges/wrote/attr: shape"),
                (put("edges", WROTE, "attr_names", ["a", "b"]), "edges/wrote/attr_names: 2 names"),
                (put("edges", WROTE, "edge_weight", np.ones(2)), "edges/wrote/weight: shape"),
                (put("edges", ("author", "x", "film"), {"edge_index": [[0], [0]]}), "edges/x/dst: nodes of a type 'film'"),
                (put("edges", "wrote", {"edge_index": [[0], [0]]}), "edges: a type 'wrote', expected (source type, name, target type)")):
            data = copy.deepcopy(papers())
            change(data)
            with self.subTest(message), self.assertRaises(DataError) as error:
                to_adjoint(data, self.out)
            self.assertIn(message, str(error.exception))
            self.assertFalse(self.out.exists())
        with self.assertRaisesRegex(DataError, "task: not for several types"):
            to_adjoint(papers(), self.out, task="node_class")


if __name__ == "__main__":
    unittest.main()
