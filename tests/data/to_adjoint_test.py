#!/usr/bin/env python3
"""Compares data/to_adjoint.py with what Adjoint reads, and with PyG, DGL, NetworkX and scipy if they are installed."""
import contextlib
import io
import os
import re
import unittest
import warnings

from peers import PARTS, Case, contents, dense, h5py, have_data, library, np, planetoid_release, same

import to_adjoint as script
from to_adjoint import DataError, to_adjoint

rng = np.random.default_rng(20260101)
torch, pyg, dgl, networkx, sparse = map(library, ("torch", "torch_geometric", "dgl", "networkx", "scipy.sparse"))
Data = pyg and pyg.data.Data


def arrays(**more):
    """A small valid dataset, changed by `more`; None omits one."""
    entries = {
        "edge_index": np.array([[1, 2, 0, 3, 3], [0, 1, 2, 0, 0]]), "x": np.arange(12, dtype=np.float32).reshape(4, 3),
        "y": np.array([0, 1, 1, 0]), "splits": {"train": [0, 1], "val": [2], "test": [3]}, "num_nodes": 4, "name": "tiny",
    } | more
    return {name: value for name, value in entries.items() if value is not None}


class Arrays(Case):
    def test_a_dataset_is_what_was_given(self):
        to_adjoint(arrays(edge_weight=np.arange(5.0), edge_attr=np.arange(10).reshape(5, 2)), self.out)
        found = self.loaded()
        self.holds(found, {"edges/src": [0, 1, 2, 3, 3], "edges/dst": [2, 0, 1, 0, 0], "edges/weight": [2, 0, 1, 3, 4],
                           "edges/attr": [[4, 5], [0, 1], [2, 3], [6, 7], [8, 9]], "nodes/x": np.arange(12).reshape(4, 3),
                           "nodes/y": [0, 1, 1, 0], "splits/train": [0, 1], "splits/val": [2], "splits/test": [3]})
        self.assertEqual([found[f"@{n}"] for n in ("task", "num_nodes", "num_classes", "undirected", "name")],
                         ["node_class", 4, 2, 0, "tiny"])

    def test_every_task_by_the_labels_it_has(self):
        many = {"graph_offsets": [0, 2, 4], "edge_index": [[0, 3], [1, 2]], "splits": None}
        for task, more in (("node_class", {"y": [[1], [0], [1], [0]]}), ("node_class", {"y": [True, False, True, False]}),
                           ("node_multilabel", {"y": [[1, 0], [0, 1], [1, 1], [0, 0]]}),
                           ("node_multilabel", {"y": np.array([[1, 0], [0, 1], [1, 1], [0, 0.0]])}),
                           ("node_regression", {"y": np.array([1.5, 2, 3, 4])}), ("node_regression", {"y": np.ones((4, 2)) * 0.5}),
                           ("graph_class", {**many, "y": None, "graph_y": [1, 0]}),
                           ("graph_regression", {**many, "y": None, "graph_y": [[0.5], [1.0]]}),
                           ("none", {"y": None}), ("none", {"y": [7, -3, 2**31 - 2, 0], "task": "none"}),
                           ("node_class", {"y": np.array([np.nan, 1, 0, 2]), "task": "node_class", "splits": None}),
                           ("node_regression", {"y": [0, 1, 2, 3], "task": "node_regression"})):
            data = to_adjoint(arrays(**more), self.out)
            self.assertEqual(data.task, task)
            self.assertEqual(self.loaded()["@task"], task)
        to_adjoint(arrays(y=np.array([np.nan, 1, 0, 2]), task="node_class", splits=None), self.out)
        np.testing.assert_array_equal(self.loaded()["nodes/y"], [-1, 1, 0, 2])

    def test_one_hot_labels_are_classes(self):
        nan = float("nan")
        for y, expected in (([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]], [1, 2, 0, 1]),
                            (np.array([[0, 1.0], [nan, nan], [1, 0], [0, 1]]), [1, -1, 0, 1])):
            with self.assertWarnsRegex(UserWarning, 'nodes/y: one 1 in every row, taken as [23] classes; task="node_multilabel"'):
                data = to_adjoint(arrays(y=y, splits=None), self.out)
            self.assertEqual((data.task, data.num_classes), ("node_class", np.shape(y)[1]))
            np.testing.assert_array_equal(self.loaded()["nodes/y"], expected)
            self.assertEqual(to_adjoint(arrays(y=y, task="node_multilabel", splits=None), self.out).task, "node_multilabel")
        with self.assertWarns(UserWarning):
            data = to_adjoint(arrays(graph_offsets=[0, 2, 4], edge_index=[[0, 3], [1, 2]], y=None, splits=None,
                                     graph_y=[[1, 0], [0, 1]]), self.out)
        self.assertEqual((data.task, list(data.graph_y)), ("graph_class", [0, 1]))

    def test_classes_without_a_label_are_said(self):
        with self.assertWarnsRegex(UserWarning, r"nodes/y: 31 classes, as the largest label is 30; no label is 0, 1, 2, 3, 4 and 23 more"):
            to_adjoint(arrays(y=[10, 20, 30, 10]), self.out)
        with self.assertWarnsRegex(UserWarning, r"no label is 1 \(num_classes="):
            to_adjoint(arrays(y=[0, 2, -1, 0], splits=None), self.out)
        for y, more in (([0, 1, 1, 0], {}), ([10, 20, 30, 10], {"num_classes": 31})):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                to_adjoint(arrays(y=y, **more), self.out)

    def test_numbers_that_become_0_are_said(self):
        for x, many in (([[1e-50], [-1e-60], [0], [1]], "2 numbers are"), ([[1e-50], [0], [0], [1e-44]], "1 number is")):
            with self.assertWarnsRegex(UserWarning, f"nodes/x: {many} 0 as float32, which has none so small"):
                to_adjoint(arrays(x=np.array(x)), self.out)

    def test_numbers_that_float32_rounds_are_said(self):
        nan, times = float("nan"), 1289241911 + 10.0 * np.arange(5)
        degrees = [[37.81, 1], [37.82, 2], [37.83, 3], [37.84, 4]]
        for more, message in (({"x": times[:4, None]}, "nodes/x: 4 numbers are rounded to float32, by 63 at most"),
                              ({"x": np.array(degrees) + [100, 0]}, r"nodes/x: 4 numbers are rounded to float32, by [0-9.e]+-06 at most"),
                              ({"y": np.array([1.5, 2.0**24 + 1, nan, 2]), "splits": None}, "nodes/y: 1 number is rounded to float32, by 1 at most"),
                              ({"edge_weight": times}, "edges/weight: 5 numbers are"),
                              ({"edge_attr": np.stack([times, times - times[0]], 1)}, "edges/attr: 5 numbers are")):
            with self.assertWarnsRegex(UserWarning, message):
                to_adjoint(arrays(**more), self.out)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for x in ([[0.1], [0.2], [0.3], [1e6]], [[1 / 3]] * 4, np.float32(times[:4, None]), [[2.0**24]] * 4, np.zeros((4, 0))):
                to_adjoint(arrays(x=np.array(x)), self.out)

    def test_labels_that_are_missing_in_some_columns(self):
        nan = float("nan")
        to_adjoint(arrays(y=np.array([[nan, 1], [0, nan], [1, 1], [nan, nan]]), task="node_multilabel",
                          splits={"train": [0], "val": [1], "test": [2]}), self.out)
        np.testing.assert_array_equal(self.loaded()["nodes/y"], [[nan, 1], [0, nan], [1, 1], [nan, nan]])

    def test_masks_of_several_splits(self):
        masks = rng.permuted(np.tile([[0], [1], [2], [0]], (1, 5)), axis=0)
        to_adjoint(arrays(splits=None, **{f"{p}_mask": masks == k for k, p in enumerate(PARTS)}), self.out)
        found = self.loaded()
        for k in range(5):
            for number, part in enumerate(PARTS):
                np.testing.assert_array_equal(found[f"splits/{k}/{part}" if k else f"splits/{part}"],
                                              np.flatnonzero(masks[:, k] == number))
        one = np.array([False, False, False, True])  # the same test nodes for several splits
        two = np.array([[1, 0], [0, 1], [0, 0], [0, 0]], bool)
        to_adjoint(arrays(splits={"train": two, "valid": two[[1, 0, 2, 3]], "test": one}), self.out)
        found = self.loaded()
        self.assertEqual([found[p].tolist() for p in ("splits/train", "splits/1/train", "splits/test", "splits/1/test")],
                         [[0], [1], [3], [3]])

    def test_compressed_alike(self):
        dataset = arrays(x=np.zeros((4, 500), np.float32))
        to_adjoint(dataset, self.out)
        plain, size = contents(self.out), self.out.stat().st_size
        to_adjoint(dataset, self.out, gzip=9)
        self.assertLess(self.out.stat().st_size, size)
        same(self, contents(self.out), plain)
        same(self, self.loaded(), plain)

    def test_a_list_of_edges_alone(self):
        dataset = arrays()
        to_adjoint(dataset.pop("edge_index"), self.out, **dataset)
        one = self.loaded()
        to_adjoint(arrays(), self.out)
        same(self, self.loaded(), one)
        self.assertRaisesRegex(DataError, "attribute num_nodes: missing", to_adjoint, np.array([[0, 1], [1, 0]]), self.out)
        self.assertRaisesRegex(DataError, "lable: not for dict", to_adjoint, arrays(), self.out, lable="club")

    def test_names_of_nodes(self):
        to_adjoint(arrays(node_ids=[7, -2, 2**40, 0]), self.out)
        np.testing.assert_array_equal(contents(self.out)["nodes/id"], [7, -2, 2**40, 0])
        to_adjoint(arrays(node_names=["a", "", "Zoë", "d d"]), self.out)
        found = contents(self.out)
        self.assertEqual(found["nodes/name"].tobytes(), "aZoëd d".encode())
        np.testing.assert_array_equal(found["nodes/name_offsets"], [0, 1, 1, 5, 8])
        self.assertEqual((found["nodes/name"].dtype, found["nodes/name_offsets"].dtype), (np.uint8, np.int64))
        self.loaded()

    def test_names_of_classes(self):
        to_adjoint(arrays(x=np.ones((4, 2)), feature_names=["age", "größe"]), self.out)
        self.assertEqual(contents(self.out)["nodes/x_names"].tobytes(), "agegröße".encode())
        to_adjoint(arrays(edge_attr=np.ones((5, 2)), attr_names=["age", "größe"]), self.out)
        self.assertEqual(contents(self.out)["edges/attr_names"].tobytes(), "agegröße".encode())
        self.loaded()
        to_adjoint(arrays(y=[0, 1, 1, 0], class_names=["Zoë", "d d"]), self.out)
        found = contents(self.out)
        self.assertEqual(found["nodes/class_names"].tobytes(), "Zoëd d".encode())
        np.testing.assert_array_equal(found["nodes/class_names_offsets"], [0, 4, 7])
        self.loaded()
        to_adjoint({"edge_index": [[0, 3], [1, 2]], "graph_offsets": [0, 2, 4], "graph_y": [1, 0], "class_names": "xy"}, self.out)
        self.assertEqual(contents(self.out)["graphs/class_names"].tobytes(), b"xy")
        self.loaded()
        to_adjoint({"edge_index": [[0, 3], [1, 2]], "graph_offsets": [0, 2, 4], "graph_names": ["salt", "ice"]}, self.out)
        copy = self.loaded()
        self.assertEqual((copy["graphs/name"].tobytes(), copy["graphs/name_offsets"].tolist()), (b"saltice", [0, 4, 7]))

    def test_what_is_wrong_is_said_and_nothing_is_written(self):
        nan, big = float("nan"), 1e39
        x = np.arange(12, dtype=np.float64).reshape(4, 3)
        put = lambda values, at, value: (copy := np.array(values, dtype=np.float64), copy.__setitem__(at, value))[0]
        many = {"graph_offsets": [0, 2, 4], "edge_index": [[0, 3], [1, 2]], "y": None, "graph_y": [1, 0], "splits": None}
        sparse = {"x": None, "x_indptr": [0, 1, 1, 2, 3], "x_indices": [0, 4, 1], "x_data": [1.0, 2.0, 3.0], "x_cols": 5}
        for more, message in (
                ({"edge_index": [[0, 4], [1, 1]]}, "edges/src: 4 at position 1, expected 0 to 3"),
                ({"edge_index": [[0, 1], [-1, 1]]}, "edges/dst: -1 at position 0, expected 0 to 3"),
                ({"edge_index": [[0, 1]]}, "edge_index: int64 [1, 2], expected integers [2, *]"),
                ({"edge_index": [[0.0, 1.0], [0.0, 1.0]]}, "edges/src: float64 [2], expected integers [*]"),
                ({"edge_index": None}, "edges/src: missing"),
                ({"edge_index": None, "src": [0, 1], "dst": [0]}, "edges/dst: 1 edges, but edges/src has 2"),
                ({"edge_index": [[0, 1], [0]]}, "edge_index: "),
                ({"edge_weight": [1, 2, nan, 4, 5]}, "edges/weight: nan at position 2, expected finite numbers"),
                ({"edge_weight": [1, 2]}, "edges/weight: shape [2], expected [5]"),
                ({"edge_attr": np.ones((4, 2))}, "edges/attr: shape [4, 2], expected [5, *]"),
                ({"edge_attr": put(np.ones((5, 2)), (3, 1), np.inf)}, "edges/attr: inf at row 3, column 1, expected finite numbers"),
                ({"x": put(x, (1, 2), nan)}, "nodes/x: nan at row 1, column 2, expected finite numbers"),
                ({"x": put(x, (1, 2), big)}, "nodes/x: 1e+39 at row 1, column 2, expected finite numbers"),
                ({"x": x[:3]}, "nodes/x: shape [3, 3], expected [4, *]"),
                ({"x": np.full((4, 1), 2**24 + 1)}, "nodes/x: 16777217 at row 0, column 0, which float32 might round"),
                ({"x": np.array([["a"]] * 4)}, "nodes/x: <U1, expected numbers"),
                ({"x": np.ones((4, 1), complex)}, "nodes/x: complex128, expected numbers"),
                ({"x": np.ones((4, 2, 2))}, "nodes/x: shape [4, 2, 2], expected [4, *]"),
                ({**sparse, "x_indices": [0, 5, 1]}, "nodes/x_indices: 5 at position 1, expected 0 to 4"),
                ({**sparse, "x_indptr": [0, 1, 1, 2, 2]}, "nodes/x_indptr: from 0 to 2, expected ascending numbers from 0 to 3"),
                ({**sparse, "x_indptr": [0, 2, 1, 2, 3]}, "nodes/x_indptr: from 0 to 3, expected ascending"),
                ({**sparse, "x_indptr": [0, 1, 3]}, "nodes/x_indptr: 3 numbers, expected 5"),
                ({**sparse, "x_data": [1.0, nan, 1.0]}, "nodes/x_data: nan at position 1, expected finite numbers"),
                ({**sparse, "x_data": None}, "x: x_indptr, x_indices, x_cols, expected x, or x_indptr, x_indices, x_data, x_cols"),
                ({**sparse, "x": x}, "x: x, x_indptr, x_indices, x_data, x_cols, expected x, or"),
                ({"y": [0, 1, 2]}, "nodes/y: shape [3], expected [4] or [4, *]"),
                ({"y": [0, 1, -2, 0]}, "nodes/y: -2 at position 2, expected -1 to 2147483646"),
                ({"y": [0, 1, 2, 0], "num_classes": 2}, "nodes/y: 2 at position 2, expected -1 to 1"),
                ({"y": [0, -1, 1, 0]}, "splits/train: index 1 at position 1 has no label"),
                ({"y": [[0, 1], [1, 2], [0, 0], [0, 0]]}, "nodes/y: int64 [4, 2], for which there is no task; say task="),
                ({"y": put(np.zeros((4, 2)), (2, 1), 2), "task": "node_multilabel"}, "nodes/y: label 2.0 at row 2, column 1, expected 0 or 1"),
                ({"y": np.array([0.5, 1, 1, 0]), "task": "node_class"}, "nodes/y: 0.5 at position 0, expected a class"),
                ({"y": np.array([0.5, np.inf, 1, 0])}, "nodes/y: inf at position 1, expected finite numbers, or nan for no label"),
                ({"y": np.array([0.5, nan, 1, 0])}, "splits/train: index 1 at position 1 has no label"),
                ({"y": np.zeros((4, 1, 1))}, "nodes/y: shape [4, 1, 1], expected [4] or [4, *]"),
                ({"y": None, "task": "node_class"}, "nodes/y: missing, expected for task node_class"),
                ({"task": "classes"}, 'attribute task: "classes", expected node_class'),
                ({"num_classes": 10_000_000}, "attribute num_classes: 10000000, expected 10000 at most, as 2 have a label; for numbers use a regression task"),
                ({"y": [0, 10**9, 1, 0]}, "attribute num_classes: 1000000001, expected 10000 at most, as 3 have a label; for numbers use a regression task"),
                ({**sparse, "x_cols": 2 * 10**9}, "attribute nodes@x_cols: 2000000000 for 3 entries, expected 1000000 at most"),
                ({"num_classes": -1}, "attribute num_classes: -1, expected 0 to 2147483647"),
                ({"num_classes": 2.0}, "attribute num_classes: 2.0, expected"),
                ({"num_nodes": 0}, "attribute num_nodes: 0, expected 1 to 2147483646"),
                ({"num_nodes": 2**31 - 1}, "attribute num_nodes: 2147483647, expected 1 to 2147483646"),
                ({"num_nodes": "4"}, "attribute num_nodes: '4', expected an integer"),
                ({"num_nodes": 2_000_000, "x": None, "y": None, "splits": None},
                 "attribute num_nodes: 2000000, but there are no features or labels of that many nodes"),
                ({"num_nodes": None, "x": None, "y": None, "splits": None}, "attribute num_nodes: missing"),
                ({"name": 5}, "attribute name: '5', expected a text"), ({"name": "a\0b"}, "attribute name: "),
                ({"splits": {"train": [0], "val": [1]}}, "splits: train, val, expected train, val and test"),
                ({"splits": {"train": [0], "val": [1], "test": [2], "more": [3]}}, "splits: train, val, test, more, expected"),
                ({"splits": {"train": [0, 0], "val": [1], "test": [2]}}, "splits/train: index 0 at position 1 is already in train"),
                ({"splits": {"train": [0, 1], "val": [2, 1], "test": [3]}}, "splits/val: index 1 at position 1 is already in train"),
                ({"splits": {"train": [0], "val": [], "test": [2]}}, "splits/val: empty, expected at least one index"),
                ({"splits": {"train": [0], "val": [1], "test": [4]}}, "splits/test: 4 at position 0, expected 0 to 3"),
                ({"splits": {"train": [0.5], "val": [1], "test": [2]}}, "splits/train: float64 [1], expected integers [*]"),
                ({"splits": {"train": [True, False], "val": [1], "test": [2]}}, "splits/train: shape [2], expected [4] or [4, *]"),
                ({"splits": [{"train": [0], "val": [1], "test": [2]}, {"train": [0], "val": [0], "test": [2]}]},
                 "splits/1/val: index 0 at position 0 is already in train"),
                ({"splits": None, "train_mask": [1, 0, 0, 0], "test_mask": [0, 1, 0, 0]}, "splits: train, test, expected train, val and test"),
                ({"splits": None, "train_mask": [2, 0, 0, 0], "val_mask": [0, 1, 0, 0], "test_mask": [0, 0, 1, 0]},
                 "train_mask: int64 [4], expected a mask of bools"),
                ({**many, "graph_offsets": [0, 3, 4]}, "edges/dst: an edge from node 3 of graph 1 to node 2 of graph 0 at position 1"),
                ({**many, "graph_offsets": [0, 2, 3]}, "graphs/offsets: ends with 3, expected 4, the number of nodes"),
                ({**many, "graph_offsets": [1, 2, 4]}, "graphs/offsets: starts with 1, expected 0"),
                ({**many, "graph_offsets": [0, 3, 2, 4]}, "graphs/offsets: falls from 3 to 2 at position 2"),
                ({**many, "graph_offsets": [4]}, "graphs/offsets: 1 numbers, expected at least 2"),
                ({**many, "graph_y": [1, 0, 1]}, "graphs/y: shape [3], expected [2] or [2, *]"),
                ({**many, "graph_y": [[1, 1], [0, 1]]}, "graphs/y: int64 [2, 2] of 0 and 1, for which there is no task; say task="),
                ({**many, "graph_y": None, "task": "graph_class"}, "graphs/y: missing, expected for task graph_class"),
                ({"task": "graph_class"}, "graphs/offsets: missing, expected for task graph_class"),
                ({"node_ids": [1, 2, 2, 3]}, "nodes/id: 2 is node 1 and node 2"),
                ({"node_ids": [1, 2]}, "nodes/id: int64 [2], expected integers [4]"),
                ({"node_names": ["a", "b", "a", "c"]}, "nodes/name: 'a' is node 0 and node 2"),
                ({"node_names": ["a"]}, "nodes/name: 1 names, expected 4"),
                ({"node_ids": [1, 2, 3, 4], "node_names": list("abcd")}, "nodes: both id and name"),
                ({"x": np.ones((4, 2)), "feature_names": ["a"]}, "nodes/x_names: 1 names, expected 2"),
                ({"graph_names": ["a"]}, "graphs/name: 1 names, expected 0"),
                ({"attr_names": ["a"]}, "edges/attr_names: 1 names, expected 0"),
                ({"y": [0, 1, 1, 0], "class_names": ["a"]}, "nodes/class_names: 1 names, expected 2"),
                ({"y": [0, 1, 1, 0], "class_names": ["a", "a"]}, "nodes/class_names: class 1: 'a', as class 0, expected distinct"),
                ({"features": x}, "features: not known; the names are"),
                ({"src": [0]}, "edge_index: conflicts with src and dst")):
            with self.subTest(message=message):
                with self.assertRaises(DataError) as raised:
                    to_adjoint(arrays(**more), self.out)
                self.assertTrue(str(raised.exception).startswith(message), raised.exception)
                self.assertNotIn("\n", str(raised.exception))
                self.leaves_nothing()
        for given in (5, "text", None, object(), [], [5], [[1, 2]]):
            self.assertRaises(DataError, to_adjoint, given, self.out)
        self.assertRaises(DataError, to_adjoint, arrays(), self.out, gzip=10)
        self.leaves_nothing()

    def test_an_older_file_stays_where_the_new_one_is_not_written(self):
        to_adjoint(arrays(), self.out)
        before = self.out.read_bytes()
        self.assertRaises(DataError, to_adjoint, arrays(y=[0]), self.out)
        self.assertEqual(self.out.read_bytes(), before)
        link = self.folder / "link.h5"
        link.symlink_to(self.out)
        to_adjoint(arrays(y=[1, 1, 1, 0]), link)
        self.assertTrue(link.is_symlink())
        np.testing.assert_array_equal(contents(self.out)["nodes/y"], [1, 1, 1, 0])
        for path in (self.folder, self.folder / "none" / "x.h5"):
            with self.assertRaisesRegex(OSError, re.escape(str(path))):
                to_adjoint(arrays(), path)
        self.replaces_like_the_library(self.out, lambda: to_adjoint(arrays(y=[0, 1, 1, 0]), self.out))

    def test_whatever_is_accepted_load_dataset_accepts(self):
        """Random datasets, each with something odd."""
        accepted = 0
        for seed in range(80):
            draw = np.random.default_rng(seed)
            nodes, edges = int(draw.integers(1, 6)), int(draw.integers(0, 8))
            dataset = {"num_nodes": nodes, "src": draw.integers(0, nodes, edges), "dst": draw.integers(0, nodes, edges)}
            pick = lambda *choices: choices[draw.integers(len(choices))]
            dataset["x"] = pick(None, draw.random((nodes, 3)), np.zeros((nodes, 0), np.float32), draw.integers(0, 9, (nodes, 2)).astype("u2"))
            dataset["y"] = pick(None, draw.integers(-1, 3, nodes), draw.random(nodes), np.full((nodes, 2), np.nan), np.zeros((nodes, 0)),
                                draw.integers(0, 2, (nodes, 3)), np.full(nodes, -1))
            dataset["edge_weight"] = pick(None, draw.random(edges), np.zeros((edges, 1)))
            dataset["edge_attr"] = pick(None, draw.random((edges, 2)), np.zeros((edges, 0)), draw.random(edges))
            order = draw.permutation(nodes)
            dataset["splits"] = pick(None, [], {"train": order[:1], "val": order[1:2], "test": order[2:]})
            if pick(0, 0, 1):
                dataset.update(graph_offsets=pick([0, nodes], [0, 0, nodes], [0, nodes, nodes]), graph_y=pick(None, [0], [0, 1], [1.5, 2]))
            dataset["task"] = pick(None, None, "none", *script.TASKS)
            dataset["num_classes"] = pick(None, None, 0, 3)
            try:
                to_adjoint(dataset, self.out)
            except DataError:
                continue
            accepted += 1
            with self.subTest(seed=seed):
                self.loaded()
        self.assertGreater(accepted, 20)


@unittest.skipUnless(sparse, "scipy")
class Scipy(Case):
    def test_matrices(self):
        matrix = sparse.coo_matrix(([1.0, 2.0, 3.0], ([0, 1, 3], [1, 2, 0])), (4, 4))
        x = sparse.random(4, 50, 0.3, random_state=1, format="coo")
        for kind in ("csr", "csc", "coo", "lil"):
            to_adjoint(matrix.asformat(kind), self.out, x=x.asformat(kind), y=[0, 1, 1, 0])
            found = self.loaded()
            np.testing.assert_array_equal([found["edges/src"], found["edges/dst"], found["edges/weight"]], [[0, 1, 3], [1, 2, 0], [1, 2, 3]])
            np.testing.assert_array_equal(dense(found), x.toarray().astype(np.float32))
        twice = sparse.coo_matrix(([1.0, 2.0, 4.0, 8.0], ([0, 3, 0, 0], [2, 1, 2, 0])), (4, 5))
        for features in (twice, sparse.coo_matrix((4, 5))):
            to_adjoint(matrix, self.out, x=features)
            found = self.loaded()
            self.assertEqual(len(found["nodes/x_data"]), features.tocsr().nnz)
            np.testing.assert_array_equal(dense(found), features.toarray())
        with self.assertWarnsRegex(UserWarning, "matrix: 1 of 4 entries have the row and column of another, added up"):
            to_adjoint(sparse.coo_matrix(([1.0, 2.0, 4.0, 8.0], ([0, 3, 0, 0], [2, 1, 2, 0])), (4, 4)), self.out)
        found = self.loaded()
        np.testing.assert_array_equal([found["edges/src"], found["edges/dst"], found["edges/weight"]], [[0, 0, 3], [0, 2, 1], [8, 5, 2]])
        data = to_adjoint(sparse.eye(3, format="csr"), self.out)  # ones mean no weights
        self.assertIsNone(data.edge_weight)
        self.assertTrue(data.undirected)
        self.assertRaisesRegex(DataError, r"matrix: \[3, 4\], expected a square one", to_adjoint, sparse.random(3, 4, 0.5), self.out)


@unittest.skipUnless(networkx, "networkx")
class NetworkX(Case):
    def setUp(self):
        super().setUp()
        output = contextlib.redirect_stdout(io.StringIO())
        self.printed = output.__enter__()
        self.addCleanup(output.__exit__, None, None, None)

    def test_coordinates_are_no_features_and_targets(self):
        graph = networkx.path_graph(3)
        for node in graph:
            graph.nodes[node].update(x=0.5 * node, y=1.5 - node, kind=node % 2)
        data = to_adjoint(graph, self.out)  # as a drawing has them
        self.assertEqual((data.task, data.x, data.left_out), ("none", None, ["kind", "x", "y"]))
        data = to_adjoint(graph, self.out, label="kind")
        self.assertEqual((data.task, data.x, data.left_out), ("node_class", None, ["x", "y"]))
        data = to_adjoint(graph, self.out, features=["x", "y"], label="y")
        self.assertEqual((data.task, data.feature_names), ("node_regression", ["x", "y"]))
        networkx.set_node_attributes(graph, [1.0], "x")  # as PyG and from_adjoint give features
        self.assertEqual(to_adjoint(graph, self.out).task, "node_regression")

    def test_what_is_guessed_is_printed(self):
        graph = networkx.path_graph(3)
        networkx.set_node_attributes(graph, 1.0, "x")
        networkx.set_node_attributes(graph, {0: 1, 1: 0, 2: 1}, "label")
        networkx.set_edge_attributes(graph, 2.0, "weight")
        graph.nodes[0]["age"] = 7
        to_adjoint(graph, self.out)
        to_adjoint([graph, graph], self.out, features="x", label="label", weight="weight")
        graph = networkx.cycle_graph(3)
        graph.graph["y"] = 1.5
        to_adjoint([graph, graph], self.out)
        to_adjoint(graph, self.out, graph_y=[0.5])
        networkx.set_node_attributes(graph, 7, "age")
        to_adjoint([(graph, 1), (graph, 0)], self.out)
        self.assertEqual(self.printed.getvalue().splitlines(), [
            f"{self.out}: features from x; labels from label; weights from weight; left out: age", f"{self.out}: left out: age",
            f"{self.out}: labels from y of the graph", f"{self.out}: left out: age"])

    def test_names_features_labels_splits_weights(self):
        graph = networkx.DiGraph()
        for name, club, part in (("ann", "tea", "train"), ("bob", "tea", "val"), (("c", 3), "go", "test"), ("dan", None, None)):
            graph.add_node(name, age=float(len(club or "")), place=[1.0, 2.0], club=club, split=part, note="?")
        graph.add_edge("ann", "bob", weight=0.5)
        graph.add_edge(("c", 3), "ann", weight=2)
        data = to_adjoint(graph, self.out, features=["age", "place"], label="club", weight="weight")
        self.assertEqual(data.class_names, ["go", "tea"])
        self.assertEqual(data.left_out, ["note"])
        found = contents(self.out)
        self.holds(found, {"nodes/y": [1, 1, 0, -1], "nodes/x": [[3, 1, 2], [3, 1, 2], [2, 1, 2], [0, 1, 2]], "edges/src": [0, 2],
                           "edges/dst": [1, 0], "edges/weight": [0.5, 2], "splits/test": [2]})
        self.assertEqual(found["nodes/name"].tobytes().decode(), "annbob('c', 3)dan")
        self.assertEqual(found["@undirected"], 0)
        self.loaded()

    def test_an_undirected_edge_stands_twice_and_a_loop_once(self):
        graph = networkx.MultiGraph([(5, 9), (5, 9), (9, 9), (2, 5)])
        data = to_adjoint(graph, self.out)
        found = self.loaded()
        pairs = sorted((data.node_ids[a], data.node_ids[b]) for a, b in zip(found["edges/src"], found["edges/dst"]))
        self.assertEqual(pairs, [(2, 5), (5, 2), (5, 9), (5, 9), (9, 5), (9, 5), (9, 9)])
        np.testing.assert_array_equal(contents(self.out)["nodes/id"], [5, 9, 2])
        self.assertTrue(data.undirected)
        to_adjoint(networkx.path_graph(4), self.out)
        self.assertNotIn("nodes/id", contents(self.out))  # 0, 1, … unchanged

    def test_labels_that_name_the_nodes_are_no_classes(self):
        graph = networkx.path_graph(3)
        for node, text in zip(graph, ("Ann", "Bob", "Cid")):
            graph.nodes[node]["label"] = text
        data = to_adjoint(graph, self.out)  # as Gephi writes names
        self.assertEqual((data.task, data.y, data.left_out), ("none", None, ["label"]))
        self.assertEqual(to_adjoint(graph, self.out, label="label").num_classes, 3)
        graph.nodes[2]["label"] = "Ann"
        self.assertEqual(to_adjoint(graph, self.out).class_names, ["Ann", "Bob"])
        for nodes, without, is_named in ((20, 0, True), (20, 9, True), (10, 0, False)):  # and one name twice
            graph = networkx.path_graph(nodes)
            networkx.set_node_attributes(graph, {node: "" if node < without else f"P{min(node, nodes - 2)}" for node in graph}, "label")
            data = to_adjoint(graph, self.out)
            self.assertEqual(data.left_out, ["label"] if is_named else [])
            self.assertEqual(to_adjoint(graph, self.out, label="label").num_classes, nodes - without - 1)

    def test_the_karate_club(self):
        graph = networkx.karate_club_graph()
        data = to_adjoint(graph, self.out, label="club", weight=None)
        found = self.loaded()
        self.assertEqual((found["@num_nodes"], len(found["edges/src"]), data.class_names), (34, 156, ["Mr. Hi", "Officer"]))
        np.testing.assert_array_equal(np.bincount(found["edges/src"]), [graph.degree[n] for n in graph])

    def test_many_graphs(self):
        graphs = [networkx.cycle_graph(n) for n in (3, 4, 5)]
        for k, graph in enumerate(graphs):
            graph.graph["label"] = k % 2
        to_adjoint(graphs, self.out)
        found = self.loaded()
        self.holds(found, {"graphs/offsets": [0, 3, 7, 12], "graphs/y": [0, 1, 0]})
        self.assertEqual((len(found["edges/src"]), found["@task"]), (24, "graph_class"))
        to_adjoint([(graph, [0.5, n]) for n, graph in enumerate(graphs)], self.out)
        np.testing.assert_array_equal(self.loaded()["graphs/y"], [[0.5, 0], [0.5, 1], [0.5, 2]])
        for graph, text in zip(graphs, ("pos", "neg", None)):
            graph.graph["label"] = text
        pairs = list(zip(map(networkx.path_graph, (2, 3)), ("pos", "neg")))
        for source, more, y in ((graphs, {}, [1, 0, -1]), (graphs, {"label": "label"}, [1, 0, -1]), (pairs, {}, [1, 0])):
            data = to_adjoint(source, self.out, **more)
            self.assertEqual((data.task, data.class_names), ("graph_class", ["neg", "pos"]))
            np.testing.assert_array_equal(self.loaded()["graphs/y"], y)
        data = to_adjoint(graphs[0], self.out)
        self.assertEqual((data.task, data.left_out), ("none", ["label of the graph: pos"]))

    def test_labels_of_graphs_beside_those_of_nodes(self):
        def graphs(name):
            many = [networkx.cycle_graph(n) for n in (3, 4, 5)]
            for k, graph in enumerate(many):
                graph.graph[name] = k % 2
                networkx.set_node_attributes(graph, {node: "CO"[node % 2] for node in graph}, "label")
            return many
        for source, name in ((graphs("label"), "label"), (graphs("y"), "y"), ([(g, g.graph["y"]) for g in graphs("y")], "y")):
            data = to_adjoint(source, self.out)
            self.assertEqual((data.task, data.left_out), ("graph_class", ["label"]))
            found = self.loaded()
            np.testing.assert_array_equal(found["graphs/y"], [0, 1, 0])
            self.assertNotIn("nodes/y", found)
        for graph in (many := graphs("y")):
            networkx.set_node_attributes(graph, 1, "atom")
        data = to_adjoint(many, self.out, label="atom")
        self.assertEqual((data.task, data.left_out), ("node_class", ["label", "y of the graph"]))
        self.assertEqual(to_adjoint(many[0], self.out, label="atom").left_out, ["label", "y of the graph"])
        with self.assertRaisesRegex(DataError, "label: 'label' is an attribute of the graphs and of their nodes"):
            to_adjoint(graphs("label"), self.out, label="label")

    def test_defaults_of_graphml(self):
        path = self.folder / "g.graphml"
        path.write_text('''<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
            <key id="k" for="node" attr.name="label" attr.type="string"><default>red</default></key>
            <key id="w" for="edge" attr.name="weight" attr.type="double"><default>2.5</default></key>
            <graph edgedefault="directed"><node id="a"><data key="k">blue</data></node><node id="b"/><node id="c"/>
            <edge source="a" target="b"/><edge source="b" target="c"><data key="w">7</data></edge></graph></graphml>''')
        self.assertEqual(to_adjoint(networkx.read_graphml(path), self.out).class_names, ["blue", "red"])
        self.holds(self.loaded(), {"nodes/y": [0, 1, 1], "edges/weight": [2.5, 7]})

    def test_labels_that_are_none(self):
        graph = networkx.path_graph(4)
        for values, y in (((1, None, 0, 1), [1, -1, 0, 1]), (("b", None, "a", "b"), [1, -1, 0, 1]),
                          ((True, None, False, True), [1, -1, 0, 1]), ((1.5, None, 0.5, 1), [[1.5], [np.nan], [0.5], [1]])):
            networkx.set_node_attributes(graph, dict(enumerate(values)), "y")
            to_adjoint(graph, self.out)
            np.testing.assert_array_equal(self.loaded()["nodes/y"], y)

    def test_texts_that_are_no_label(self):
        graph = networkx.path_graph(15)
        texts = ["", "?", "NA", "nan", "None", "null", "N/A", "\\N", "<NA>", "#N/A", "NaT", "-1"]
        networkx.set_node_attributes(graph, dict(enumerate(["dem", "rep", *texts, "dem"])), "party")
        with self.assertWarnsRegex(UserWarning, "12 texts taken as no label: 1 of '', 1 of '#N/A', 1 of '-1', "):
            self.assertEqual(to_adjoint(graph, self.out, label="party").class_names, ["dem", "rep"])
        np.testing.assert_array_equal(self.loaded()["nodes/y"], [0, 1, *[-1] * 12, 0])
        graphs = [networkx.path_graph(2) for _ in range(4)]
        for one, text in zip(graphs, ("a", "b", "", "a")):
            one.graph["label"] = text
        np.testing.assert_array_equal(to_adjoint(graphs, self.out).graph_y, [0, 1, -1, 0])

    def test_refusals(self):
        graph = networkx.path_graph(3)
        graph.nodes[0]["x"] = 1.0
        self.assertRaisesRegex(DataError, "node: 1 has no 'x', which others have", to_adjoint, graph, self.out)
        self.assertRaisesRegex(DataError, "node: no 'age'", to_adjoint, graph, self.out, features="age")
        graph = networkx.Graph([(0, 1, {"weight": 1.5}), (1, 2)])
        self.assertRaisesRegex(DataError, r"edge: \(1, 2\) has no 'weight', which others have", to_adjoint, graph, self.out)
        self.assertRaisesRegex(DataError, "edge: no 'cost'", to_adjoint, graph, self.out, weight="cost")
        graph = networkx.Graph([("1", 1)])
        self.assertRaisesRegex(DataError, "nodes/name: '1' is node 0 and node 1", to_adjoint, graph, self.out)
        graph = networkx.path_graph(3)
        networkx.set_node_attributes(graph, {0: "train", 1: "development", 2: "test"}, "split")
        self.assertRaisesRegex(DataError, "node: 1: split 'development', expected train, val, test or None", to_adjoint, graph, self.out)
        self.assertRaisesRegex(DataError, "attribute num_nodes: 0, expected", to_adjoint, networkx.Graph(), self.out)
        self.leaves_nothing()


@unittest.skipUnless(torch and pyg, "torch_geometric")
class PyG(Case):
    def graph(self, nodes=6, edges=14, **more):
        return Data(x=torch.randn(nodes, 3), edge_index=torch.randint(0, nodes, (2, edges)), **more)

    def test_data_with_everything(self):
        part = torch.arange(6).remainder(3)
        for width in (None, 4):
            chosen = lambda k: part == k if width is None else torch.stack([part.roll(s) == k for s in range(width)], 1)
            data = self.graph(y=torch.randint(0, 3, (6, 1)), edge_weight=torch.rand(14), edge_attr=torch.rand(14, 2), pos=torch.rand(6, 3),
                              train_mask=chosen(0), val_mask=chosen(1), test_mask=chosen(2), n_id=torch.arange(6) * 10)
            written = to_adjoint(data, self.out)
            self.assertEqual(written.left_out, ["pos"])
            found = self.loaded()
            order = np.lexsort([data.edge_attr[:, 0].numpy(), data.edge_weight.numpy(), data.edge_index[1], data.edge_index[0]])
            np.testing.assert_array_equal([found["edges/src"], found["edges/dst"]], data.edge_index[:, order])
            self.holds(found, {"edges/weight": data.edge_weight[order], "edges/attr": data.edge_attr[order], "nodes/x": data.x,
                               "nodes/y": data.y[:, 0]})
            for k in range(width or 1):
                for number, name in enumerate(PARTS):
                    mask = chosen(number) if width is None else chosen(number)[:, k]
                    np.testing.assert_array_equal(found[f"splits/{k}/{name}" if k else f"splits/{name}"], mask.nonzero()[:, 0])
            np.testing.assert_array_equal(contents(self.out)["nodes/id"], np.arange(6) * 10)

    def test_sparse_features_and_adjacencies(self):
        features = torch.randn(6, 8).relu()
        data = self.graph()
        for x in (features.to_sparse_coo(), features.to_sparse_csr(), features.to_sparse_csc(), features.to_sparse_coo().double()):
            data.x = x
            to_adjoint(data, self.out)
            np.testing.assert_array_equal(dense(self.loaded()), features)
        index = torch.tensor([[0, 1, 2, 5], [1, 2, 0, 0]])
        weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
        transposed = torch.sparse_coo_tensor(index.flip(0), weight, (6, 6))
        for adj_t in (transposed, transposed.to_sparse_csr()):
            to_adjoint(Data(x=features, adj_t=adj_t), self.out)
            found = self.loaded()
            np.testing.assert_array_equal([found["edges/src"], found["edges/dst"]], index)
            np.testing.assert_array_equal(found["edges/weight"], weight)
        class SparseTensor:  # as torch_sparse has it
            coo = lambda _: (index[1], index[0], None)
            sizes = lambda _: [6, 6]
        data = Data(x=features)
        data.adj_t = SparseTensor()
        to_adjoint(data, self.out)
        np.testing.assert_array_equal(self.loaded()["edges/src"], index[0])
        self.assertNotIn("edges/weight", contents(self.out))

    def test_lists_batches_and_datasets(self):
        labels = torch.tensor([1, 0, 2, 1])
        graphs = [self.graph(nodes, 5, y=labels[k:k + 1]) for k, nodes in enumerate((3, 1, 6, 2))]

        class Stored(pyg.data.InMemoryDataset):
            name = "stored"

            def __init__(self, graphs, transform=None):
                super().__init__(None, transform)
                self.data, self.slices = self.collate(graphs)

        to_adjoint(graphs, self.out, name="stored")
        one = self.loaded()
        self.holds(one, {"graphs/offsets": [0, 3, 4, 10, 12], "graphs/y": labels, "nodes/x": torch.cat([g.x for g in graphs])})
        to_adjoint(pyg.data.Batch.from_data_list(graphs), self.out, name="stored")
        same(self, self.loaded(), one)
        to_adjoint(Stored(graphs), self.out)
        same(self, self.loaded(), one)
        to_adjoint(tuple(graphs), self.out, name="stored")
        same(self, self.loaded(), one)
        doubled = to_adjoint(Stored(graphs, lambda g: g.update({"x": g.x * 2})), self.out)
        np.testing.assert_array_equal(doubled.x, 2 * one["nodes/x"])

        single = Stored([self.graph(y=torch.arange(6))])
        self.assertEqual((to_adjoint(single, self.out).task, "graphs/offsets" in self.loaded()), ("node_class", False))
        single.get_idx_split = lambda: {"train": torch.tensor([0, 1]), "valid": torch.tensor([5]), "test": torch.tensor([3])}
        to_adjoint(single, self.out)
        np.testing.assert_array_equal(self.loaded()["splits/val"], [5])
        many = Stored(graphs)
        many.get_idx_split = lambda: {"train": torch.tensor([0, 3]), "valid": torch.tensor([1]), "test": torch.tensor([2])}
        to_adjoint(many, self.out)
        np.testing.assert_array_equal(self.loaded()["splits/train"], [0, 3])

        for y, task in ((lambda n: torch.rand(1, 3) + 2, "graph_regression"), (lambda n: torch.tensor(0.5), "graph_regression"),
                        (lambda n: torch.randint(0, 2, (n, 4)), "node_multilabel"), (lambda n: torch.zeros(n, dtype=int), "node_class")):
            graphs = [self.graph(n, 5, y=y(n)) for n in (3, 4, 2)]
            self.assertEqual(to_adjoint(graphs, self.out).task, task)
            self.loaded()
        whole = self.graph(6, 5, y=torch.tensor([1]))
        self.assertEqual(to_adjoint(whole, self.out).task, "graph_class")
        np.testing.assert_array_equal(self.loaded()["graphs/offsets"], [0, 6])

    def test_refusals(self):
        ragged = [self.graph(3, 4, y=torch.zeros(3)), self.graph(4, 4, y=torch.zeros(2))]
        with self.assertRaisesRegex(DataError, r"graph 1: y: shape \[2\], expected \[1\] or \[1, \*\] for the graph, or \[4\]"):
            to_adjoint(ragged, self.out)
        with self.assertRaisesRegex(DataError, "graph 1: no x, which graph 0 has"):
            to_adjoint([self.graph(3, 4), Data(edge_index=torch.zeros(2, 1, dtype=int), num_nodes=2)], self.out)
        with self.assertRaisesRegex(DataError, r"graph 1: x: shape \[2, 5\], but \[3, 3\] in graph 0"):
            to_adjoint([self.graph(3, 4), Data(x=torch.zeros(2, 5), edge_index=torch.zeros(2, 1, dtype=int))], self.out)
        with self.assertRaisesRegex(DataError, "graph 0: edges/src: 9 at position 0, expected 0 to 2"):
            to_adjoint([Data(x=torch.zeros(3, 1), edge_index=torch.full((2, 1), 9))], self.out)
        self.assertRaisesRegex(DataError, "nodes: no types", to_adjoint, pyg.data.HeteroData(), self.out)
        self.assertRaisesRegex(DataError, "edge_index: missing", to_adjoint, Data(x=torch.zeros(3, 1)), self.out)
        self.leaves_nothing()
        data = self.graph(train_mask=torch.zeros(6, dtype=bool))
        self.assertRaisesRegex(DataError, "splits: train, expected train, val and test; splits=None", to_adjoint, data, self.out)
        to_adjoint(data, self.out, splits=None)

    def test_files(self):
        data, source = self.graph(y=torch.arange(6)), self.folder / "cat.pt"
        to_adjoint(data, self.out, name="cat")
        one = self.loaded()
        torch.save({key: value for key, value in data.to_dict().items()}, source)  # plain tensors need no trust
        self.ok(self.main_of(script, "pyg", source, self.out))
        same(self, self.loaded(), one)
        torch.save(data, source)
        result = self.ok(self.main_of(script, "pyg", source, self.out, "--trust", "--gzip", "4"))
        self.assertIn("6 nodes, 14 directed edges, 3 features, 6 classes", result.stdout)
        same(self, self.loaded(), one)
        graphs = [self.graph(3, 4, y=torch.tensor([k])) for k in range(3)]
        pyg.data.InMemoryDataset.save(graphs, str(source))
        to_adjoint(graphs, self.out, name="cat")
        one = self.loaded()
        self.ok(self.main_of(script, "pyg", source, self.out, "--trust"))
        same(self, self.loaded(), one)
        self.out.unlink()
        torch.save(os.system, source)
        whole = source.read_bytes()
        for damaged in (whole, b"", b"hello" * 100, whole[:len(whole) // 2]):
            source.write_bytes(damaged)
            for words in ((), ("--trust",)):
                result = self.main_of(script, "pyg", source, self.out, *words)
                self.assertEqual((result.returncode, result.stderr.count("\n"), result.stdout), (1, 1, ""), result)
                self.assertIn(str(source), result.stderr)
                self.leaves_nothing()

    def test_planetoid_is_what_pyg_reads(self):
        for name in ("cora", "citeseer"):
            found = have_data(f"raw/planetoid/ind.{name}.x", f"{name}.h5")
            if found is None:
                continue
            data = pyg.io.read_planetoid_data(str(found[0].parent), name)
            data.x = data.x.to_sparse_csr()
            to_adjoint(data, self.out, name=name)
            theirs = self.loaded()
            to_adjoint(script.from_planetoid(found[0].parent, name), self.out)
            same(self, theirs, self.loaded())


@unittest.skipUnless(torch and dgl, "dgl")
class DGL(Case):
    def graph(self, nodes=6, edges=14):
        graph = dgl.graph((torch.randint(0, nodes, (edges,)), torch.randint(0, nodes, (edges,))), num_nodes=nodes)
        graph.ndata["feat"] = torch.randn(nodes, 3)
        return graph

    def test_a_graph_with_everything(self):
        graph = self.graph()
        graph.ndata["label"], graph.ndata["year"] = torch.randint(0, 4, (6,)), torch.zeros(6)
        for k, part in enumerate(PARTS):
            graph.ndata[f"{part}_mask"] = (torch.arange(6).remainder(3) == k).to(torch.uint8 if k else torch.bool)
        graph.edata["weight"], graph.edata["feat"] = torch.rand(14, 1), torch.rand(14, 2)
        data = to_adjoint(graph, self.out)
        self.assertEqual(data.left_out, ["year"])
        found = self.loaded()
        src, dst = (end.numpy() for end in graph.edges(order="eid"))
        order = np.lexsort([graph.edata["weight"][:, 0].numpy(), dst, src])
        np.testing.assert_array_equal([found["edges/src"], found["edges/dst"]], [src[order], dst[order]])
        self.holds(found, {"edges/weight": graph.edata["weight"][order, 0], "edges/attr": graph.edata["feat"][order],
                           "nodes/x": graph.ndata["feat"], "nodes/y": graph.ndata["label"], "splits/val": [1, 4]})
        data = to_adjoint(graph, self.out, label="year", features="label", splits=None)
        self.assertEqual((data.task, data.x.shape), ("node_regression", (6, 1)))
        self.assertRaisesRegex(DataError, "ndata: no 'age', expected one of feat, label", to_adjoint, graph, self.out, features="age")

    def test_many_graphs(self):
        graphs, labels = [self.graph(n, 5) for n in (3, 1, 6)], torch.tensor([1, 0, 1])
        to_adjoint(list(zip(graphs, labels)), self.out, name="three")
        one = self.loaded()
        self.holds(one, {"graphs/offsets": [0, 3, 4, 10], "graphs/y": labels})
        to_adjoint(dgl.batch(graphs), self.out, graph_y=labels, name="three")
        same(self, self.loaded(), one)
        stored = str(self.folder / "graphs.bin")
        dgl.save_graphs(stored, graphs, {"label": labels})
        to_adjoint(dgl.load_graphs(stored), self.out, name="three")
        same(self, self.loaded(), one)

        class Stored(dgl.data.DGLDataset):
            def process(self):
                pass

            def __getitem__(self, k):
                return graphs[k], labels[k]

            def __len__(self):
                return 3

        to_adjoint(Stored("three"), self.out)
        same(self, self.loaded(), one)

    def test_refusals(self):
        hetero = dgl.heterograph({("a", "to", "b"): (torch.tensor([0]), torch.tensor([0]))})
        self.assertRaisesRegex(DataError, "graph: 2 kinds of nodes and 1 of edges, expected one of each", to_adjoint, hetero, self.out)
        self.leaves_nothing()


class Planetoid(Case):
    def release(self, **more):
        self.features = planetoid_release(self.folder, "tiny", **more)

    def convert(self):
        return self.main_of(script, "planetoid", "--from", self.folder, "--name", "tiny", "--out", self.out)

    def refused(self, *parts):
        result = self.convert()
        self.one_line(result)
        for part in parts:
            self.assertIn(part, result.stderr)
        self.leaves_nothing()

    def test_a_small_release(self):
        self.release()
        result = self.convert()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout, f"{self.out}: 610 nodes, 6 directed edges, 7 features, 3 classes\n")
        found = self.loaded()
        self.features[606] = 0
        np.testing.assert_array_equal(dense(found), self.features)
        labels = np.arange(610) % 3
        labels[606] = 0
        np.testing.assert_array_equal(found["nodes/y"], labels)
        self.assertEqual(list(zip(found["edges/src"], found["edges/dst"])), [(0, 1), (1, 0), (1, 605), (2, 607), (605, 1), (607, 2)])
        self.holds(found, {"splits/train": np.arange(40), "splits/val": np.arange(40, 540), "splits/test": [605, 607, 608, 609]})

    def test_a_pickle_that_names_anything_else_is_not_run(self):
        mark = self.folder / "mark"
        for call in (f"cos\nsystem\n(S'touch {mark}'\ntR.", f"csubprocess\ncall\n((lp0\nS'touch'\naS'{mark}'\natR.",
                     f"c__builtin__\neval\n(S'open(\"{mark}\", \"w\")'\ntR.", "cnumpy\nload\n(S'x'\ntR.",
                     f"cnumpy.core.multiarray\nfromfile\n(S'{mark}'\ntR."):
            for part in ("graph", "allx", "ty", "y"):
                self.release(**{part: call.encode()})
                self.refused(f"ind.tiny.{part}: names ", "which no file of this release does")
        self.assertFalse(mark.exists())

    def test_damaged_files(self):
        self.release()
        for part in ("graph", "allx", "ty", "test.index"):
            path = self.folder / f"ind.tiny.{part}"
            whole = path.read_bytes()
            for size in (0, 1, len(whole) // 2):
                path.write_bytes(whole[:size])
                self.refused(f"ind.tiny.{part}")
            path.unlink()
            self.refused(f"ind.tiny.{part}", "No such file")
            path.write_bytes(whole)
        for more, message in (({"graph": {0: [610]}}, "a node 610, expected 0 to 609"), ({"graph": {0: [-1]}}, "a node -1, expected"),
                              ({"graph": {0: ["a"]}}, "expected lists of neighbours"), ({"graph": [1]}, "a list, expected a dict"),
                              ({"test.index": b"605\n605\n607\n608\n"}, "expected distinct ones from 605"),
                              ({"test.index": b"605\n607\n608\n"}, "3 indices, expected 4, as ind.tiny.ty has"),
                              ({"test.index": b"604\n605\n607\n608\n"}, "expected distinct ones from 605"),
                              ({"test.index": b"605\nx\n607\n608\n"}, "expected an index on each line"),
                              ({"ty": np.eye(3)[:2]}, "ind.tiny.ty: shape [2, 3], expected [4, 3]"),
                              ({"y": np.eye(3)[np.zeros(200, int)]}, "200 nodes to train, expected at most 105"),
                              ({"ally": np.zeros(605)}, "ind.tiny.ally: float64 [605], expected numbers [*, *]"),
                              ({"allx": np.zeros((605, 7))}, "a ndarray, expected a matrix")):
            self.release(**more)
            self.refused(message)

    def test_the_release_itself(self):
        for name in ("cora", "citeseer"):
            found = have_data(f"raw/planetoid/ind.{name}.x", f"{name}.h5")
            if found is None:
                continue
            self.ok(self.main_of(script, "planetoid", "--from", found[0].parent, "--name", name, "--out", self.out))
            same(self, contents(self.out), contents(found[1]))
            self.loaded()


class CommandLine(Case):
    def test_usage(self):
        for words in ((), ("tar", "a", "b"), ("planetoid", "--from", "x"), ("state", "x"), ("pyg", "x", "y", "--task", "all"),
                      ("pyg", "x", "y", "--gzip", "10")):
            self.assertEqual(self.main_of(script, *words).returncode, 2, words)
        self.assertIn("planetoid", self.script("to_adjoint.py", "--help").stdout)  # as its users run it
        self.one_line(self.script("to_adjoint.py", "planetoid", "--from", self.folder, "--name", "none", "--out", self.out))

    def test_state(self):
        if torch is None:
            self.one_line(self.main_of(script, "state", "none.pt", self.out))
            return
        state = {"conv.lin.weight": torch.randn(3, 4), "half": torch.ones(2, dtype=torch.bfloat16), "norm.num_batches_tracked": torch.tensor(3)}
        source = self.folder / "state.pt"
        torch.save(state, source)
        result = self.main_of(script, "state", source, self.out)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, f"{self.out}: 3 tensors\n", ""))
        with h5py.File(self.out) as file:
            self.assertEqual(sorted(file), sorted(state))
            for name in state:
                np.testing.assert_array_equal(file[name][...], state[name].float().numpy())
        self.out.unlink()
        for value in ({"a": 5}, [state], os.system):
            torch.save(value, source)
            self.one_line(self.main_of(script, "state", source, self.out))
            self.leaves_nothing()
        self.one_line(self.main_of(script, "state", self.folder / "none.pt", self.out))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
