#!/usr/bin/env python3
"""Writes datasets of Adjoint's HDF5 schema (data/README.md) from Python. One file, which needs h5py and numpy.

    from to_adjoint import to_adjoint
    to_adjoint(data, "cora.h5")                     # a PyG Data, Batch or dataset, or a list of Data
    to_adjoint(graph, "cora.h5")                    # a DGL graph or dataset, a list of graphs, or of (graph, label)
    to_adjoint(graph, "karate.h5", label="club")    # a NetworkX graph, or a list of them
    to_adjoint(matrix, "net.h5", x=x, y=y)          # a scipy sparse matrix: entry [i, j] is the edge i -> j
    to_adjoint({"edge_index": edges, "x": x, "y": y, "train_mask": train, "val_mask": val, "test_mask": test}, "net.h5")
    to_adjoint(data, "shop.h5")                     # a PyG HeteroData or a DGL graph of several types
    to_adjoint({"nodes": {"user": {"x": x}, "film": {"num_nodes": 9}}, "edges": {("user", "rated", "film"): {"edge_index": edges}}}, "shop.h5")

    to_adjoint.py planetoid --from FOLDER --name cora --out cora.h5     # the files ind.cora.* of the Planetoid release
    to_adjoint.py pyg FILE.pt OUT.h5                                    # what torch.save or a PyG dataset has written
    to_adjoint.py state STATE.pt OUT.h5                                 # weights for adj::nn::load_pyg_state

The kind of input is detected by its attributes, so no other library is imported. What load_dataset would refuse is a one-line
DataError, and nothing is written; a file appears under its name when it is complete.
"""
import argparse
import collections.abc
import contextlib
import dataclasses
import os
import pathlib
import pickle
import secrets
import sys
import typing
import warnings

import h5py
import numpy as np

VERSION = 1
LARGEST = 2**31 - 1
BARE_NODES, BARE_NODES_PER_EDGE = 1_000_000, 16  # as in data/detail/declared_counts.h, like the next two lines
SPARSE_COLUMNS, SPARSE_COLUMNS_PER_ENTRY = 1_000_000, 16
CLASSES, CLASSES_PER_LABELLED = 10_000, 16
TASKS = ("node_class", "node_multilabel", "node_regression", "graph_class", "graph_regression", "edge_class", "edge_regression", "none")
MAIN_LABELS = {"nodes/y": "y", "graphs/y": "graph_y", "edges/y": "edge_y"}
PARTS = ("train", "val", "test")
MASKS = tuple(f"{part}_mask" for part in PARTS)
COLUMN_NAMES = ("feature_names", "attr_names")
GUESSED = {"x": "features", "y": "labels", "graph_y": "labels", "edge_weight": "weights", "edge_attr": "edge attributes"}


class DataError(ValueError):
    """PLACE: what was found, what was expected."""


def fail(place, message):
    raise DataError(f"{place}: {message}")


@dataclasses.dataclass
class Csr:
    """Sparse features [N, cols], as in scipy.sparse.csr_matrix."""
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    cols: int


@dataclasses.dataclass
class Dataset:
    """Contents of a file of the schema. Arrays are of any library before `checked`, of numpy afterwards."""
    src: typing.Any = None
    dst: typing.Any = None
    num_nodes: int = None
    edge_weight: typing.Any = None  # [M]
    edge_attr: typing.Any = None  # [M, E]
    x: typing.Any = None  # [N, F], or sparse
    y: typing.Any = None  # [N] or [N, T]
    splits: typing.Any = None  # {"train", "val", "test"} of indices, or masks [N] or [N, K]; or a list of such
    graph_offsets: typing.Any = None  # [G + 1]
    graph_y: typing.Any = None  # [G] or [G, T]
    edge_y: typing.Any = None  # [M] or [M, T], in the order of the edges
    times: typing.Any = None  # integers [N]
    edge_times: typing.Any = None  # [M]
    node_ids: typing.Any = None  # integers [N]
    node_names: typing.Any = None  # or texts
    graph_names: typing.Any = None  # texts [G]
    task: str = None  # None: guessed from the labels
    num_classes: int = None  # None: one more than the largest label
    undirected: bool = None  # None: whether every edge exists in both directions
    name: str = None
    class_names: typing.Any = None  # texts, one for each class or column of labels
    feature_names: typing.Any = None  # texts, one for each column of x; None: those of a data frame
    attr_names: typing.Any = None  # the same, of edge_attr
    left_out: list = dataclasses.field(default_factory=list)  # names in the input without a place in the schema
    guessed: dict = None  # names in the input that were taken unasked, by field; None: nothing is guessed of such an input


@dataclasses.dataclass
class TypedDataset:
    """Contents of a file of several types: fields of nodes by type, and of edges by (source type, name, target type), whose
    labels and splits are of edges."""
    nodes: dict
    edges: dict
    name: str = None
    left_out: list = dataclasses.field(default_factory=list)


# ---- Arrays ----


def is_torch(value):
    return type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach")


def array(value, place):
    """A numpy array of numbers from any library's array."""
    if is_torch(value):
        value = value.detach().cpu()
        return (value.float() if "bfloat16" in str(value.dtype) else value).numpy()
    try:
        value = np.asarray(value)
    except ValueError as error:
        fail(place, f"{error}, expected an array")
    if value.size == 0 and value.dtype == np.float64 and value.ndim == 1:
        return value.astype(np.int64)  # of []
    if value.dtype.kind not in "biuf":
        fail(place, f"{value.dtype}, expected numbers")
    return value


def is_integer(value):
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def shaped(value):
    return "[" + ", ".join(map(str, value.shape)) + "]"


def position(shape, k):
    return f"row {k // shape[1]}, column {k % shape[1]}" if len(shape) == 2 else f"position {k}"


def first(bad):
    """Position of the first true element, in row order, or None."""
    flat = bad.reshape(-1)
    k = int(flat.argmax()) if flat.size else 0
    return k if flat.size and flat[k] else None


def whole(value, place, low, high, length=None):
    """int64 [length] from `low` to `high`."""
    value = array(value, place)
    if value.ndim != 1 or value.dtype.kind not in "iu" or length not in (None, value.size):
        fail(place, f"{value.dtype} {shaped(value)}, expected integers [{'*' if length is None else length}]")
    bad = first((value < low) | (value > high)) if value.size else None
    if bad is not None:
        fail(place, f"{value[bad]} at position {bad}, expected {low} to {high}")
    return value.astype(np.int64)


def floats(value, place, rows, columns=None, missing=False):
    """float32 [rows, columns], or [rows] for columns 0, or any columns for None; finite, or with `missing` also NaN. Integers
    and bools become numbers, where float32 holds them exactly."""
    value = array(value, place)
    shape = value.shape
    if columns == 0 and value.ndim == 2 and value.shape[1] == 1:
        value = value[:, 0]
    if columns is None and value.ndim == 1:
        value = value[:, None]
    expected = f"[{rows}]" if columns == 0 else f"[{rows}, {'*' if columns is None else columns}]"
    if value.ndim != (1 if columns == 0 else 2) or value.shape[0] != rows or columns not in (None, 0, value.shape[-1]):
        fail(place, f"shape {shaped(value)}, expected {expected}")
    if value.dtype.kind in "iu" and value.size:
        bad = first((value > 2**24) | (value < -(2**24))) if value.dtype.itemsize > 2 else None
        if bad is not None:
            fail(place, f"{value.flat[bad]} at {position(shape, bad)}, which float32 might round, expected "
                        f"-{2**24} to {2**24}")
    with np.errstate(over="ignore"):
        result = np.ascontiguousarray(value, np.float32)
    if zeros := np.count_nonzero(result == 0) - np.count_nonzero(value == 0):
        warnings.warn(f"{place}: {zeros} number{'s are' if zeros > 1 else ' is'} 0 as float32, which has none so small")
    bad = ~np.isfinite(result)
    if missing and value.dtype.kind == "f":
        bad &= ~np.isnan(value)
    bad = first(bad)
    if bad is not None:
        fail(place, f"{value.reshape(-1)[bad]} at {position(shape, bad)}, expected finite numbers"
                    + (", or nan for no label" if missing else ""))
    warn_of_rounding(value, result, place)
    return result


def warn_of_rounding(value, result, place):
    """Says what data/import/rounding.h says: numbers that change by 1 or more, or by more than 1e-4 of their column's range."""
    if value.dtype.kind != "f" or value.dtype.itemsize <= 4 or value.size == 0:
        return
    value, result = value.reshape(len(value), -1), result.reshape(len(value), -1)
    present = ~np.isnan(value)
    change = np.where(present & (result != 0), np.abs(value - result), 0)
    least, most = (extreme(value, axis=0, initial=start, where=present) for extreme, start in ((np.min, np.inf), (np.max, -np.inf)))
    extent, size = most - least, np.maximum(np.abs(least), np.abs(most))
    spoils = (change.max(axis=0, initial=0, where=change < 1) > 1e-4 * extent) & (extent > 1e-12 * size)
    rounded = (change >= 1) | ((change > 0) & spoils)
    if count := np.count_nonzero(rounded):
        warnings.warn(f"{place}: {count} number{'s are' if count > 1 else ' is'} rounded to float32, by "
                      f"{change[rounded].max():.15g} at most")


def coo_of(matrix, place):
    """Rows, columns, values (or None) and shape of a sparse matrix of scipy, torch or torch_sparse; None for others."""
    if is_torch(matrix):
        if "strided" in str(matrix.layout):
            return None
        matrix = matrix.detach().cpu().to_sparse_coo()
        if matrix.sparse_dim() != 2 or matrix.dense_dim() != 0:
            fail(place, f"a sparse tensor of {matrix.sparse_dim()} + {matrix.dense_dim()} dimensions, expected 2 + 0")
        index = matrix._indices().numpy()
        return index[0], index[1], array(matrix._values(), place), tuple(matrix.shape)
    if hasattr(matrix, "tocoo") and hasattr(matrix, "nnz"):  # scipy
        matrix = matrix.tocoo()
        return matrix.row, matrix.col, matrix.data, matrix.shape
    if hasattr(matrix, "coo") and hasattr(matrix, "sizes"):  # torch_sparse
        row, col, value = matrix.coo()
        return array(row, place), array(col, place), None if value is None else array(value, place), tuple(matrix.sizes())
    return None


def csr_of(x):
    """Sparse features in stored form; None for dense ones."""
    if isinstance(x, Csr):
        return x
    found = coo_of(x, "nodes/x")
    if found is None:
        return None
    row, col, value, shape = found
    return ordered(row, col, np.ones(len(col), np.float32) if value is None else value, shape)


def ordered(row, col, value, shape):
    """Csr of entries in any order."""
    order = np.lexsort((col, row))
    row, col, value = row[order], col[order], value[order]
    begins = np.append(True, (row[1:] != row[:-1]) | (col[1:] != col[:-1]))[:len(row)]
    if not begins.all():  # duplicates are added, as in these libraries
        row, col, value = row[begins], col[begins], np.add.reduceat(value, np.flatnonzero(begins))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=shape[0]))]).astype(np.int64)
    return Csr(indptr, col, value, shape[1])


# ---- The checks of load_dataset ----


def checked(dataset):
    """The dataset in stored form. Throws DataError."""
    data = dataclasses.replace(dataset)
    data.name = "graph" if data.name is None else data.name
    if not isinstance(data.name, str) or "\0" in data.name or len(data.name.encode(errors="replace")) > 4096:
        fail("attribute name", f"{str(data.name)[:40]!r}, expected a text of at most 4096 bytes")
    if not is_integer(data.num_nodes):
        fail("attribute num_nodes", f"{data.num_nodes!r}, expected an integer")
    data.num_nodes = int(data.num_nodes)
    if not 1 <= data.num_nodes < LARGEST:
        fail("attribute num_nodes", f"{data.num_nodes}, expected 1 to {LARGEST - 1}")
    if data.task is not None and data.task not in TASKS:
        fail("attribute task", f'"{data.task}", expected {", ".join(TASKS)}')
    check_offsets(data)
    check_edges(data)
    check_items(data)
    check_graph_names(data)
    if not lists_items(data) and data.num_nodes > max(BARE_NODES, BARE_NODES_PER_EDGE * len(data.src)):
        fail("attribute num_nodes", f"{data.num_nodes}, but there are no features or labels of that many nodes")
    return data


def check_items(data):
    check_features(data)
    check_labels(data)
    check_splits(data)
    check_names(data)
    check_class_names(data)
    check_column_names(data)
    if data.times is not None:
        data.times = whole(data.times, "nodes/time", -2**63, 2**63 - 1, data.num_nodes)


def lists_items(data):
    return data.y is not None or isinstance(data.x, Csr) or (data.x is not None and data.x.shape[1] > 0)


def check_offsets(data):
    if data.graph_offsets is None:
        return
    place = "graphs/offsets"
    offsets = data.graph_offsets = whole(data.graph_offsets, place, 0, data.num_nodes)
    if offsets.size < 2:
        fail(place, f"{offsets.size} numbers, expected at least 2")
    if offsets[0] != 0:
        fail(place, f"starts with {offsets[0]}, expected 0")
    falls = first(offsets[1:] < offsets[:-1])
    if falls is not None:
        fail(place, f"falls from {offsets[falls]} to {offsets[falls + 1]} at position {falls + 1}, expected ascending numbers")
    if offsets[-1] != data.num_nodes:
        fail(place, f"ends with {offsets[-1]}, expected {data.num_nodes}, the number of nodes")


def check_edges(data):
    for end in ("src", "dst"):
        if getattr(data, end) is None:
            fail(f"edges/{end}", "missing")
        setattr(data, end, whole(getattr(data, end), f"edges/{end}", 0, data.num_nodes - 1).astype(np.int32))
    edges = data.src.size
    if edges != data.dst.size:
        fail("edges/dst", f"{data.dst.size} edges, but edges/src has {edges}")
    if edges >= LARGEST:
        fail("edges/src", f"{edges} edges, expected fewer than {LARGEST}")
    if data.graph_offsets is not None:
        graph = [np.searchsorted(data.graph_offsets, end, side="right") - 1 for end in (data.src, data.dst)]
        apart = first(graph[0] != graph[1])
        if apart is not None:
            fail("edges/dst", f"an edge from node {data.src[apart]} of graph {graph[0][apart]} to node {data.dst[apart]} of "
                              f"graph {graph[1][apart]} at position {apart}, expected edges within graphs")
    if data.edge_weight is not None:
        data.edge_weight = floats(data.edge_weight, "edges/weight", edges, 0)
    if data.edge_attr is not None:
        if data.attr_names is None and hasattr(data.edge_attr, "columns"):
            data.attr_names = list(data.edge_attr.columns)
        data.edge_attr = floats(data.edge_attr, "edges/attr", edges)
    if data.edge_times is not None:
        data.edge_times = whole(data.edge_times, "edges/time", -2**63, 2**63 - 1, edges)
    if data.undirected is None:
        count = data.num_nodes
        data.undirected = np.array_equal(np.sort(data.src.astype(np.int64) * count + data.dst),
                                         np.sort(data.dst.astype(np.int64) * count + data.src))


def check_features(data):
    if data.x is None:
        return
    if data.feature_names is None and hasattr(data.x, "columns"):
        data.feature_names = list(data.x.columns)
    csr = csr_of(data.x)
    if csr is None:
        data.x = floats(data.x, "nodes/x", data.num_nodes)
        return
    if not 0 <= csr.cols < LARGEST:
        fail("attribute nodes@x_cols", f"{csr.cols}, expected 0 to {LARGEST - 1}")
    indices = whole(csr.indices, "nodes/x_indices", 0, csr.cols - 1)
    most = max(SPARSE_COLUMNS, SPARSE_COLUMNS_PER_ENTRY * indices.size)
    if csr.cols > most:
        fail("attribute nodes@x_cols", f"{csr.cols} for {indices.size} entries, expected {most} at most")
    place = "nodes/x_indptr"
    indptr = whole(csr.indptr, place, 0, indices.size)
    if indptr.size != data.num_nodes + 1:
        fail(place, f"{indptr.size} numbers, expected {data.num_nodes + 1}")
    if indptr[0] != 0 or indptr[-1] != indices.size or (indptr[1:] < indptr[:-1]).any():
        fail(place, f"from {indptr[0]} to {indptr[-1]}, expected ascending numbers from 0 to {indices.size}")
    data.x = Csr(indptr, indices.astype(np.int32), floats(csr.data, "nodes/x_data", indices.size, 0), int(csr.cols))


def of_edges(task):
    return task in ("edge_class", "edge_regression")


def of_graphs(task):
    return task.startswith("graph_")


def task_of(y, place, graphs):
    """The task guessed from the labels. [N] or [N, 1] of integers (or bools) are classes, of floating numbers targets; several
    columns of 0 and 1 are multilabel (one 1 in every row: classes), several columns of other floating numbers targets."""
    side = "graph" if graphs else "node"
    if y.ndim == 1 or y.shape[1] == 1:
        return f"{side}_{'regression' if y.dtype.kind == 'f' else 'class'}"
    binary = not ((y != 0) & (y != 1) & (y == y)).any()
    if binary and not graphs:
        return "node_multilabel"
    if binary or y.dtype.kind != "f":
        fail(place, f"{y.dtype} {shaped(y)}{' of 0 and 1' if binary else ''}, for which there is no task; say task=")
    return f"{side}_regression"


def one_hot_classes(y, place):
    """Classes [N], -1 for a row of nan, if every other row of several columns of 0 and 1 has one 1; else None."""
    if y.ndim != 2 or y.shape[1] < 2:
        return None
    lost = (y != y).all(axis=1)
    if lost.all() or not ((y == 0) | (y == 1) | lost[:, None]).all() or not (lost | ((y == 1).sum(axis=1) == 1)).all():
        return None
    warnings.warn(f"{place}: one 1 in every row, taken as {y.shape[1]} classes; task=\"node_multilabel\" keeps the columns")
    return np.where(lost, -1, (y == 1).argmax(axis=1))


def check_labels(data):
    targets = {"nodes/y": data.y, "graphs/y": data.graph_y, "edges/y": data.edge_y}
    targets = {place: array(y, place) for place, y in targets.items() if y is not None}
    for place, y in targets.items():
        rows = data.num_nodes if place == "nodes/y" else data.src.size if place == "edges/y" else \
            None if data.graph_offsets is None else data.graph_offsets.size - 1
        if rows is None:
            fail(place, "labels of graphs, but no graphs/offsets")
        if y.ndim not in (1, 2) or y.shape[0] != rows:
            fail(place, f"shape {shaped(y)}, expected [{rows}] or [{rows}, *]")
    if data.task is None:
        main = "graphs/y" if "graphs/y" in targets else "nodes/y"
        if main in targets and (numbers := one_hot_classes(targets[main], main)) is not None:
            data.num_classes = targets[main].shape[1] if data.num_classes is None else data.num_classes
            targets[main] = numbers
        data.task = task_of(targets[main], main, main == "graphs/y") if main in targets else "none"
    main = None if data.task == "none" else f"{labels_group(data.task)}/y"
    if of_graphs(data.task) and data.graph_offsets is None:
        fail("graphs/offsets", f"missing, expected for task {data.task}")
    if main is not None and main not in targets:
        fail(main, f"missing, expected for task {data.task}")
    if data.num_classes is not None and not (is_integer(data.num_classes) and 0 <= data.num_classes <= LARGEST):
        fail("attribute num_classes", f"{data.num_classes!r}, expected 0 to {LARGEST}")
    for place, y in targets.items():
        setattr(data, MAIN_LABELS[place], labels(data, y, place, data.task if place == main else "none"))
    y = main_labels(data)
    used = 0 if y is None else y.shape[1] if y.ndim == 2 else np.unique(y[y >= 0]).size
    most = max(CLASSES, CLASSES_PER_LABELLED * used)
    if data.num_classes is not None and data.num_classes > most:
        fail("attribute num_classes", f"{data.num_classes}, expected {most} at most, as {used} have a label; for numbers "
             "use a regression task")


def warn_of_gaps(y, place):
    """Numbers that are no label: classes that no model can learn, if the labels are codes as 10, 20, 30."""
    present = np.unique(y[y >= 0])
    absent = int(present[-1]) + 1 - present.size if present.size else 0
    if absent:
        some = np.setdiff1d(np.arange(min(int(present[-1]), present.size + 5)), present)[:5]
        more = f" and {absent - some.size} more" if absent > some.size else ""
        warnings.warn(f"{place}: {present[-1] + 1} classes, as the largest label is {present[-1]}; no label is "
                      f"{', '.join(map(str, some))}{more} (num_classes= says that this is meant)")


def labels(data, y, place, task):
    if task.endswith("_class"):
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.dtype.kind == "f":  # some use floats for NaN
            lost = np.isnan(y)
            bad = first(~lost & (y != np.floor(y)))
            if bad is not None:
                fail(place, f"{y.reshape(-1)[bad]} at {position(y.shape, bad)}, expected a class")
            y = np.where(lost, -1, y).clip(-2, LARGEST).astype(np.int64)
        if y.dtype.kind == "b":
            y = y.astype(np.int64)
        y = whole(y, place, -1, LARGEST - 1, y.shape[0])
        if data.num_classes is None:
            data.num_classes = int(y.max()) + 1
            warn_of_gaps(y, place)
        return whole(y, place, -1, data.num_classes - 1).astype(np.int32)
    if task == "none" and y.ndim == 1 and y.dtype.kind != "f":
        return whole(y.astype(np.int64) if y.dtype.kind == "b" else y, place, -LARGEST - 1, LARGEST - 1).astype(np.int32)
    if task == "node_multilabel":
        bad = first((y != 0) & (y != 1) & (y == y))
        if bad is not None:
            fail(place, f"label {y.reshape(-1)[bad]} at {position(y.shape, bad)}, expected 0 or 1")
    return floats(y, place, y.shape[0], missing=True)


def check_splits(data):
    splits = [] if data.splits is None else [data.splits] if isinstance(data.splits, collections.abc.Mapping) else list(data.splits)
    limit = data.graph_offsets.size - 1 if of_graphs(data.task) else data.src.size if of_edges(data.task) else data.num_nodes
    y = None if data.task == "none" else main_labels(data)
    unlabelled = None if y is None else y < 0 if y.dtype.kind != "f" else np.isnan(y).all(axis=1)
    data.splits = []
    for split in splits:
        for one in split_columns(split, limit):
            group = "splits" if not data.splits else f"splits/{len(data.splits)}"
            part_of = np.zeros(limit, np.int8)
            for number, part in enumerate(PARTS, 1):
                place, index = f"{group}/{part}", one[part]
                if index.size == 0:
                    fail(place, "empty, expected at least one index")
                index = whole(index, place, 0, limit - 1)
                again = first(part_of[index] != 0)
                if again is not None:
                    fail(place, f"index {index[again]} at position {again} is already in {PARTS[part_of[index[again]] - 1]}, "
                                "expected once in a split")
                part_of[index] = number
                if np.count_nonzero(part_of == number) != index.size:
                    order = np.argsort(index, kind="stable")
                    twice = order[1:][index[order][1:] == index[order][:-1]].min()
                    fail(place, f"index {index[twice]} at position {twice} is already in {part}, expected once in a split")
                bare = None if unlabelled is None else first(unlabelled[index])
                if bare is not None:
                    fail(place, f"index {index[bare]} at position {bare} has no label")
                one[part] = index.astype(np.int32)
            data.splits.append(one)


def split_columns(split, limit):
    """One split of indices per column of masks [N, K]; a mask [N] belongs to every split."""
    split = {"val" if part == "valid" else part: value for part, value in split.items()}
    extra = [part for part in split if part not in PARTS]
    lacking = [part for part in PARTS if split.get(part) is None]
    if extra or lacking:
        fail("splits", f"{', '.join(map(str, split)) or 'nothing'}, expected train, val and test; splits=None leaves them out")
    parts = {part: array(split[part], f"splits/{part}") for part in PARTS}
    columns = {value.shape[1] for value in parts.values() if value.ndim == 2}
    if len(columns) > 1 or 0 in columns:
        fail("splits", f"masks of {' and '.join(map(str, sorted(columns)))} columns, expected as many in each part")
    for part, value in parts.items():
        if value.dtype.kind == "b" and (value.ndim not in (1, 2) or value.shape[0] != limit):
            fail(f"splits/{part}", f"shape {shaped(value)}, expected [{limit}] or [{limit}, *]")
        if value.dtype.kind != "b" and value.ndim != 1:
            fail(f"splits/{part}", f"{value.dtype} {shaped(value)}, expected indices or a mask of bools")
    chosen = lambda value, k: np.flatnonzero(value if value.ndim == 1 else value[:, k]) if value.dtype.kind == "b" else value
    return [{part: chosen(value, k) for part, value in parts.items()} for k in range(max(columns, default=1))]


def check_names(data):
    if data.node_ids is not None and data.node_names is not None:
        fail("nodes", "both id and name, expected one of them")
    if data.node_ids is not None:
        data.node_ids = whole(data.node_ids, "nodes/id", -2**63, 2**63 - 1, data.num_nodes)
    if data.node_names is not None:
        data.node_names = list(data.node_names)
        if len(data.node_names) != data.num_nodes:
            fail("nodes/name", f"{len(data.node_names)} names, expected {data.num_nodes}")
    place, names = ("nodes/name", data.node_names) if data.node_ids is None else ("nodes/id", data.node_ids.tolist())
    for node, other in repeated(names or []):
        fail(place, f"{names[node]!r} is node {other} and node {node}")


def repeated(names):
    """(position, first position) of each repeated name."""
    seen = {}
    return [(k, seen[name]) for k, name in enumerate(names) if seen.setdefault(name, k) != k]


def distinct(names, place, thing, expected):
    """The names as texts, one for each `thing`."""
    names = [str(name) for name in names]
    if len(names) != expected:
        fail(place, f"{len(names)} names, expected {expected}")
    for k, other in repeated(names):
        fail(place, f"{thing} {k}: {names[k]!r}, as {thing} {other}, expected distinct names")
    return names


def check_graph_names(data):
    if data.graph_names is not None:
        graphs = 0 if data.graph_offsets is None else data.graph_offsets.size - 1
        data.graph_names = distinct(data.graph_names, "graphs/name", "graph", graphs)


def check_column_names(data):
    for field, place, values in (("feature_names", "nodes/x_names", data.x), ("attr_names", "edges/attr_names", data.edge_attr)):
        if getattr(data, field) is not None:
            columns = values.cols if isinstance(values, Csr) else 0 if values is None else values.shape[1]
            setattr(data, field, distinct(getattr(data, field), place, "column", columns))


def check_class_names(data):
    if data.class_names is not None:
        y, names = main_labels(data), list(data.class_names)
        expected = data.num_classes or (y.shape[1] if y is not None and y.ndim == 2 else len(names) or "at least 1")
        data.class_names = distinct(names, f"{labels_group(data.task)}/class_names", "class", expected)


def labels_group(task):
    return "graphs" if of_graphs(task) else "edges" if of_edges(task) else "nodes"


def main_labels(data):
    """Those of the task."""
    return getattr(data, MAIN_LABELS[f"{labels_group(data.task)}/y"])


# ---- Writing ----


@contextlib.contextmanager
def replacing(path):
    """The name of a new file in the folder of `path`, or of the link's target, which replaces it when it is complete and on disk.
    As core/file.cpp does: names that nobody can guess or take before, and what a killed run leaves is removed later."""
    target = os.path.realpath(path)
    old = os.stat(target) if os.path.exists(target) else None
    if old and not os.path.isfile(target):
        raise OSError(f"{path}: not a file")
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".adjoint-{secrets.token_hex(8)}.tmp")
    try:
        file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600 if old else 0o666)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        if old:
            mode = old.st_mode & 0o777
            try:
                os.fchown(file, old.st_uid, old.st_gid)
            except OSError:  # then the group's permissions are those of others
                mode = mode & 0o707 | (mode & 0o007) << 3
            os.fchmod(file, mode)
        yield temporary
        os.fsync(file)
        os.replace(temporary, target)
        with contextlib.suppress(OSError):  # a folder that cannot be read
            entry = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            os.fsync(entry)
            os.close(entry)
    finally:
        os.close(file)
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)


def with_texts(stored):
    """Lists of texts as bytes and offsets."""
    for place, names in list(stored.items()):
        if isinstance(names, list):
            texts = [name.encode() for name in names]
            stored[place] = np.frombuffer(b"".join(texts), np.uint8)
            stored[f"{place}_offsets"] = np.cumsum([0] + [len(text) for text in texts]).astype(np.int64)
    return {place: values for place, values in stored.items() if values is not None}


def stored_items(data):
    """What a file has of the items, by its place in version 1."""
    csr = data.x if isinstance(data.x, Csr) else None
    stored = {"nodes/x": data.x if csr is None else None, "nodes/x_indptr": csr and csr.indptr, "nodes/x_indices": csr and csr.indices,
              "nodes/x_data": csr and csr.data, "nodes/y": data.y, "nodes/id": data.node_ids, "nodes/time": data.times,
              "nodes/name": data.node_names, "nodes/x_names": data.feature_names,
              f"{labels_group(data.task)}/class_names": data.class_names}
    for k, split in enumerate(data.splits):
        stored |= {f"splits/{part}" if k == 0 else f"splits/{k}/{part}": split[part] for part in PARTS}
    return with_texts(stored)


def store(file, stored, gzip):
    for place, values in stored.items():
        packed = {"compression": "gzip", "compression_opts": gzip, "shuffle": True} if gzip and values.nbytes >= 1024 else {}
        file.create_dataset(place, data=values, **packed)


def write(data, path, gzip=0):
    """Writes a checked dataset, compressed by `gzip` 1 to 9, or not at 0."""
    with replacing(path) as beside, h5py.File(beside, "w") as file:
        file.attrs.update({"format": "adjoint.graph", "version": VERSION, "name": data.name, "num_nodes": data.num_nodes,
                           "num_classes": data.num_classes or 0, "task": data.task, "undirected": int(data.undirected)})
        stored = {"edges/src": data.src, "edges/dst": data.dst, "edges/weight": data.edge_weight, "edges/attr": data.edge_attr,
                  "edges/attr_names": data.attr_names, "edges/time": data.edge_times, "edges/y": data.edge_y,
                  "graphs/offsets": data.graph_offsets, "graphs/name": data.graph_names, "graphs/y": data.graph_y}
        store(file, with_texts(stored) | stored_items(data), gzip)
        if isinstance(data.x, Csr):
            file["nodes"].attrs["x_cols"] = data.x.cols


# ---- Several types ----


def is_typed(source):
    """Whether it has several types of nodes or edges."""
    if isinstance(source, collections.abc.Mapping):
        return set(source) >= {"nodes", "edges"}
    if is_dgl(source):
        return len(source.ntypes) != 1 or len(source.canonical_etypes) != 1
    return isinstance(source, TypedDataset) or (hasattr(source, "node_types") and hasattr(source, "edge_types"))


def typed_of(source):
    """Unchecked TypedDataset of PyG, DGL or a mapping."""
    if isinstance(source, TypedDataset):
        return dataclasses.replace(source)
    if isinstance(source, collections.abc.Mapping):
        sparse = ("x_indptr", "x_indices", "x_data", "x_cols")
        both = {"splits", "task", "num_classes", "class_names"}
        parts = {}
        for group, fields in (("nodes", both | {"num_nodes", "x", *sparse, "y", "node_ids", "node_names", "feature_names", "times"}),
                              ("edges", both | {"edge_index", "src", "dst", "edge_weight", "edge_attr", "edge_y", "attr_names", "edge_times"})):
            for kind, values in source[group].items():
                unknown = [key for key in values if key not in fields]
                if unknown:
                    fail(f"{group} {kind}", f"{unknown[0]}: not known; the names are {', '.join(sorted(fields))}")
                values = dict(values)
                if "edge_index" in values:
                    values["src"], values["dst"] = edges_of({"edge_index": values.pop("edge_index")})[:2]
                if sparse[0] in values:
                    values["x"] = Csr(*(values.pop(key) for key in sparse))
                parts.setdefault(group, {})[kind] = Dataset(**values)
        return TypedDataset(parts.get("nodes", {}), parts.get("edges", {}), source.get("name"))
    result = TypedDataset({}, {})
    if is_dgl(source):
        for kind in source.ntypes:
            stored = source.nodes[kind].data
            used = {field: pick(stored, None, usual, kind) for field, usual in (("x", FEATURES), ("y", LABELS), ("node_ids", ("_ID",)))}
            result.nodes[kind] = Dataset(num_nodes=int(source.num_nodes(kind)), splits=masks_of(stored),
                                         **{field: stored[name] for field, name in used.items() if name is not None})
            result.left_out += [f"{kind}: {name}" for name in stored if name not in [*used.values(), *MASKS]]
        for kind in source.canonical_etypes:
            stored, (src, dst) = source.edges[kind].data, source.edges(etype=kind)
            used = {field: pick(stored, None, usual, kind) for field, usual in
                    (("edge_attr", FEATURES), ("edge_weight", WEIGHTS), ("edge_y", LABELS))}
            result.edges[kind] = Dataset(src=src, dst=dst, splits=masks_of(stored),
                                         **{field: stored[name] for field, name in used.items() if name is not None})
            result.left_out += [f"{kind}: {name}" for name in stored if name not in [*used.values(), *MASKS, "_ID"]]
        return result
    nodes = {"x": "x", "y": "y", "num_nodes": "num_nodes", "n_id": "node_ids", "time": "times", "node_names": "node_names",
             "class_names": "class_names", "feature_names": "feature_names"}
    edges = {"edge_attr": "edge_attr", "edge_weight": "edge_weight", "edge_y": "edge_y", "y": "edge_y", "time": "edge_times",
             "class_names": "class_names", "attr_names": "attr_names"}
    for kinds, known, parts in ((source.node_types, nodes, result.nodes), (source.edge_types, edges, result.edges)):
        for kind in kinds:
            stored = source[kind].to_dict()
            masks = {name: stored.get(f"edge_{name}", stored.get(name)) for name in MASKS}
            part = parts[kind] = Dataset(splits=masks_of(masks))
            ends = ("edge_index", "adj_t") if known is edges else ()
            if ends:
                part.src, part.dst = rectangular_edges(stored, kind)
                if "edge_label" in stored and "edge_label_index" not in stored:
                    stored["edge_y"] = stored.pop("edge_label")
            for key, value in stored.items():
                if key in known:
                    setattr(part, known[key], value)
                elif key not in (*ends, *MASKS, *(f"edge_{name}" for name in MASKS)) and value is not None:
                    result.left_out.append(f"{kind}: {key}")
    return result


def rectangular_edges(stored, kind):
    if stored.get("edge_index") is not None or stored.get("adj_t") is None:
        return edges_of(stored)[:2]
    found = coo_of(stored["adj_t"], "adj_t")
    if found is None or found[2] is not None:
        fail(f"{kind}", "adj_t: expected a sparse matrix without values, or edge_index")
    return found[1], found[0]


class Groups:
    """Names of groups for types of any name."""

    def __init__(self, parent):
        self.parent, self.taken = parent, set()

    def add(self, name):
        plain = name and len(name) <= 64 and all(c.isascii() and (c.isalnum() or c in "_-") for c in name)
        group = next(text for text in ([name] if plain else []) + [str(k) for k in range(len(self.taken) + 1)] if text not in self.taken)
        self.taken.add(group)
        return f"{self.parent}/{group}"


def in_group(group, place):
    """Where a type's group has what version 1 has at `place` (data/detail/item_paths.h)."""
    if place.startswith("splits"):
        return f"{group}/{place}"
    name = place.removeprefix("nodes/")
    return f"{group}/{'attr' + name[1:] if group.startswith('edges/') and (name == 'x' or name.startswith('x_')) else name}"


def checked_group(data, group):
    """The items of a type in stored form; errors name its group."""
    data = dataclasses.replace(data, src=np.zeros(0, np.int32), dst=np.zeros(0, np.int32), graph_offsets=None)
    if data.task not in (None, "none", *TASKS[:3]):
        fail(f"attribute {group}@task", f'"{data.task}", expected {", ".join(TASKS[:3])}')
    try:
        check_items(data)
    except DataError as error:
        place, _, message = str(error).partition(": ")
        raise DataError(f"{in_group(group, place)}: {message}") from None
    return data


def write_typed(source, path, gzip=0):
    """Writes version 2, and returns it in stored form. Throws DataError."""
    typed = dataclasses.replace(source, nodes={}, edges={})
    typed.name = pathlib.Path(path).stem if typed.name is None else typed.name
    groups, node_groups, edge_groups = {}, Groups("nodes"), Groups("edges")
    ends = {kind: [whole(getattr(part, end), f"edges {kind}: {end}", 0, LARGEST - 1) for end in ("src", "dst")]
            for kind, part in source.edges.items()}
    total = sum(len(src) for src, _ in ends.values())
    if not source.nodes:
        fail("nodes", "no types, expected some")
    for kind, part in source.nodes.items():
        if not isinstance(kind, str) or not kind:
            fail("nodes", f"a type called {kind!r}, expected a text")
        group = groups[kind] = node_groups.add(kind)
        if part.num_nodes is None:
            counts = [rows_of(part.x.indptr) - 1 if isinstance(part.x, Csr) else rows_of(value)
                      for value in (part.x, part.y, part.node_ids, part.node_names, part.times) if value is not None]
            part = dataclasses.replace(part, num_nodes=counts[0] if counts else max(
                (int(end.max()) + 1 for (s, _, t), both in ends.items() for at, end in zip((s, t), both) if at == kind and end.size), default=0))
        if not is_integer(part.num_nodes) or not 1 <= part.num_nodes < LARGEST:
            fail(f"attribute {group}@num_nodes", f"{part.num_nodes!r}, expected 1 to {LARGEST - 1}")
        typed.nodes[kind] = part = checked_group(part, group)
        if not lists_items(part) and part.num_nodes > max(BARE_NODES, BARE_NODES_PER_EDGE * total):
            fail(f"attribute {group}@num_nodes", f"{part.num_nodes}, but there are no features or labels of that many nodes")
    for kind, part in source.edges.items():
        if not (isinstance(kind, tuple) and len(kind) == 3 and all(isinstance(name, str) and name for name in kind)):
            fail("edges", f"a type {kind!r}, expected (source type, name, target type)")
        group = groups[kind] = edge_groups.add(kind[1])
        for name, end, at in zip((kind[0], kind[2]), ends[kind], ("src", "dst")):
            if name not in source.nodes:
                fail(f"{group}/{at}", f"nodes of a type {name!r}, expected one of {', '.join(source.nodes)}")
            whole(end, f"{group}/{at}", 0, typed.nodes[name].num_nodes - 1)
        count = len(ends[kind][0])
        if count != len(ends[kind][1]):
            fail(f"{group}/dst", f"{len(ends[kind][1])} edges, but src has {count}")
        items = Dataset(num_nodes=count, x=part.edge_attr, feature_names=part.attr_names, y=part.edge_y, times=part.edge_times,
                        splits=part.splits, class_names=part.class_names, num_classes=part.num_classes,
                        task=part.task and part.task.replace("edge_", "node_"))
        items = checked_group(items, group) if count else Dataset(num_nodes=0, splits=[], task="none")
        items.edge_weight = None if part.edge_weight is None else floats(part.edge_weight, f"{group}/weight", count, 0)
        items.src, items.dst = (end.astype(np.int32) for end in ends[kind])
        typed.edges[kind] = items
    with replacing(path) as beside, h5py.File(beside, "w") as file:
        file.attrs.update({"format": "adjoint.graph", "version": 2, "name": typed.name})
        for kind, items in {**typed.nodes, **typed.edges}.items():
            group, of_edges = groups[kind], isinstance(kind, tuple)
            ends = {"src": items.src, "dst": items.dst, "weight": items.edge_weight} if of_edges else {}
            stored = {f"{group}/{name}": values for name, values in ends.items() if values is not None}
            store(file, stored | {in_group(group, place): values for place, values in stored_items(items).items()}, gzip)
            attributes = file.require_group(group).attrs
            attributes.update({"source": kind[0], "name": kind[1], "target": kind[2]} if of_edges else
                              {"name": kind, "num_nodes": items.num_nodes})
            if items.task != "none":
                attributes.update({"task": items.task.replace("node_", "edge_") if of_edges else items.task,
                                   "num_classes": items.num_classes or 0})
            if isinstance(items.x, Csr):
                attributes["x_cols"] = items.x.cols
    return typed


# ---- PyG ----


def is_pyg(value):
    return hasattr(value, "to_dict") and (hasattr(value, "node_types") or hasattr(value, "edge_index") or hasattr(value, "adj_t"))


def masks_of(stored):
    """The present ones of train_mask, val_mask, test_mask as a split; None if there are none."""
    split = {}
    for name in MASKS:
        if stored.get(name) is not None:
            mask = array(stored[name], name)
            if mask.dtype.kind != "b" and ((mask != 0) & (mask != 1)).any():
                fail(name, f"{mask.dtype} {shaped(mask)}, expected a mask of bools")
            split[name[:-5]] = mask.astype(bool)
    return split or None


def rows_of(value):
    """Extent of the first dimension of any library's array; None for a scalar or None."""
    if hasattr(value, "shape"):
        return int(value.shape[0]) if len(value.shape) else None
    if hasattr(value, "sizes"):
        return int(value.sizes()[0])
    return len(value) if hasattr(value, "__len__") else None


def edges_of(stored):
    """Sources, targets and, of an adjacency, values. adj_t is of targets by sources."""
    if stored.get("edge_index") is not None:
        if coo_of(stored["edge_index"], "edge_index") is not None:
            fail("edge_index", "a sparse matrix, expected integers [2, *]")
        index = array(stored["edge_index"], "edge_index")
        if index.ndim != 2 or index.shape[0] != 2:
            fail("edge_index", f"{index.dtype} {shaped(index)}, expected integers [2, *]")
        if index.size == 0:
            index = index.astype(np.int64)
        return index[0], index[1], None, None
    if stored.get("adj_t") is not None:
        found = coo_of(stored["adj_t"], "adj_t")
        if found is None or found[3][0] != found[3][1]:
            fail("adj_t", f"{type(stored['adj_t']).__name__}, expected a square sparse matrix")
        dst, src, value, shape = found
        ones = value is None or (value.ndim == 1 and (value == 1).all())
        return src, dst, None if ones else value, shape[0]
    fail("edge_index", "missing")


def from_pyg(data):
    stored = data.to_dict()
    src, dst, weight, nodes = edges_of(stored)
    attr = stored.get("edge_attr")
    if stored.get("edge_weight") is not None:
        weight = stored["edge_weight"]
    elif weight is not None and weight.ndim == 2:
        attr, weight = (weight, None) if attr is None else (attr, None)
    offsets = stored.get("ptr")
    if offsets is None and stored.get("batch") is not None:
        batch = whole(stored["batch"], "batch", 0, LARGEST)
        if (batch[1:] < batch[:-1]).any():
            fail("batch", "falls, expected ascending numbers")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(batch))])
    y = stored.get("y")
    if nodes is None:
        nodes = stored.get("num_nodes")
    if nodes is None:
        nodes = next((rows_of(stored[key]) for key in ("x", *MASKS) if stored.get(key) is not None), None)
    if nodes is None and offsets is not None:
        nodes = int(array(offsets, "ptr")[-1])
    if nodes is None:  # known from labels or edges only
        ends = [int(array(end, "edge_index").max()) + 1 for end in (src, dst) if len(end)]
        nodes = max([data.num_nodes or 0, rows_of(y) or 0, *ends])
    known = {"edge_index", "adj_t", "x", "y", "edge_weight", "edge_attr", "num_nodes", "n_id", "batch", "ptr", "class_names", "graph_name",
             *COLUMN_NAMES, *MASKS}
    result = Dataset(src=src, dst=dst, num_nodes=nodes, edge_weight=weight, edge_attr=attr, x=stored.get("x"), y=y,
                     splits=masks_of(stored), node_ids=stored.get("n_id"), class_names=stored.get("class_names"),
                     **{field: stored.get(field) for field in COLUMN_NAMES},
                     left_out=[key for key, value in stored.items() if key not in known and value is not None])
    if stored.get("graph_name") is not None:
        result.graph_names = [stored["graph_name"]] if isinstance(stored["graph_name"], str) else list(stored["graph_name"])
    if offsets is not None:
        offsets = result.graph_offsets = array(offsets, "ptr")
        if result.class_names and not isinstance(result.class_names[0], str):
            result.class_names = result.class_names[0]  # a Batch has the list of each graph
        for field in COLUMN_NAMES:
            if (names := getattr(result, field)) and not isinstance(names[0], str):
                setattr(result, field, names[0])
        if y is not None and rows_of(y) == len(offsets) - 1:
            result.y, result.graph_y = None, y
    return result


# ---- DGL ----

FEATURES, LABELS, WEIGHTS = ("feat", "x", "attr"), ("label", "y", "labels"), ("weight", "w")


def is_dgl(value):
    return all(hasattr(value, name) for name in ("ndata", "edata", "num_nodes", "ntypes"))


def pick(stored, wanted, usual, place):
    """The requested name, else the first common name that exists, or None."""
    if wanted is None:
        return next((name for name in usual if name in stored), None)
    if wanted not in stored:
        fail(place, f"no {wanted!r}, expected one of {', '.join(map(str, stored)) or 'nothing'}")
    return wanted


def from_dgl(graph, features=None, label=None, weight=None, edge_features=None):
    if len(graph.ntypes) != 1 or len(graph.canonical_etypes) != 1:
        fail("graph", f"{len(graph.ntypes)} kinds of nodes and {len(graph.canonical_etypes)} of edges, expected one of each; "
                      "see dgl.to_homogeneous")
    src, dst = graph.edges(order="eid")
    node, edge = graph.ndata, graph.edata
    names = [pick(node, features, FEATURES, "ndata"), pick(node, label, LABELS, "ndata"),
             pick(edge, weight, WEIGHTS, "edata"), pick(edge, edge_features, FEATURES, "edata")]
    value = lambda stored, name: None if name is None else stored[name]
    requests = (features, label, weight, edge_features)
    used = {*names[:2], "_ID", *MASKS}
    result = Dataset(src=src, dst=dst, num_nodes=int(graph.num_nodes()), x=value(node, names[0]), y=value(node, names[1]),
                     edge_weight=value(edge, names[2]), edge_attr=value(edge, names[3]), splits=masks_of(node),
                     node_ids=node["_ID"] if "_ID" in node else None,
                     left_out=[n for n in node if n not in used] + [n for n in edge if n not in {*names[2:], "_ID"}],
                     guessed={field: name for field, name, request in zip(("x", "y", "edge_weight", "edge_attr"), names, requests)
                              if name and not request})
    if graph.batch_size > 1:
        result.graph_offsets = np.concatenate([[0], np.cumsum(array(graph.batch_num_nodes(), "batch_num_nodes"))])
    return result


# ---- NetworkX ----


def is_networkx(value):
    return all(hasattr(value, name) for name in ("nodes", "edges", "is_directed", "is_multigraph"))


def chosen(items, request, usual, place):
    """Names of attributes: the given ones, which some items must have, or else the first common name that some have.
    `items` are (name, attributes) of nodes or edges."""
    names = [request] if isinstance(request, str) else list(request or [])
    some = lambda name: any(name in attributes for _, attributes in items)
    for name in names:
        if items and not some(name):
            fail(place, f"no {name!r}")
    return names or [name for name in usual if some(name)][:1]


def values_of(items, name, place):
    """The attribute of each item; None if no item has it."""
    have = [name in attributes for _, attributes in items]
    if not any(have):
        return None
    if not all(have):
        fail(place, f"{items[have.index(False)][0]!r} has no {name!r}, which others have")
    return [attributes[name] for _, attributes in items]


def column(items, names, place):
    """[len(items), *]: concatenated attributes of nodes or edges; None if no item has one."""
    columns = []
    for name in names:
        if (values := values_of(items, name, place)) is not None:
            values = array(values, f"{place} {name!r}")
            columns.append(values[:, None] if values.ndim == 1 else values)
    if any(values.ndim != 2 for values in columns):
        fail(place, "arrays of several dimensions, expected numbers or rows of them")
    return np.concatenate(columns, axis=1) if columns else None


def is_missing(text):
    """Whether a text is no label, as in `convert` (data/import/fields.cpp, label_classes.cpp)."""
    text = text.strip()
    return text in ("", "?", '""', "\\N", "NaT", "<NA>", "#N/A", "-nan", "-1", "-1.0") or \
        text.lower() in ("nan", "na", "n/a", "null", "none")


def classes(values):
    """Class numbers of text labels, in sorted order, and the class names; numbers unchanged. None, and a text that is_missing, is
    no label."""
    numbers = [value for value in values if value is not None]
    if numbers and len(numbers) < len(values) and all(np.isscalar(value) and not isinstance(value, str) for value in numbers):
        none = -1 if all(isinstance(value, (bool, np.bool_)) or is_integer(value) for value in numbers) else np.nan
        return np.array([none if value is None else value for value in values]), None
    if all(isinstance(value, (str, type(None))) for value in values) and any(isinstance(value, str) for value in values):
        missing = [value for value in values if value is not None and is_missing(value)]
        if missing:
            spelled = ", ".join(f"{missing.count(text)} of {text!r}" for text in sorted(set(missing)))
            warnings.warn(f"{len(missing)} text{'s' if len(missing) > 1 else ''} taken as no label: {spelled}")
        values = [None if value is None or is_missing(value) else value for value in values]
        names = sorted({value for value in values if value is not None})
        number = {name: k for k, name in enumerate(names)}
        return np.array([-1 if value is None else number[value] for value in values]), names
    return values, None


def are_captions(values):
    """Whether they name the nodes, as Gephi's labels do, and are not classes: another text for nearly every node that has one."""
    texts = [value for value in values if value is not None and not (isinstance(value, str) and is_missing(value))]
    return len(values) > 1 and all(isinstance(text, str) for text in texts) and (
        not texts or 10 * len(set(texts)) > 9 * len(texts))


def are_coordinates(nodes):
    """Whether their x and y are a number each, as in a drawing or on a map (Pajek, Gephi, OSMnx), so no features and targets."""
    values = [[attributes[name] for _, attributes in nodes if name in attributes] for name in "xy"]
    return all(values) and all(isinstance(value, (int, float, np.number)) for value in values[0] + values[1])


def from_networkx(graph, features=None, label=None, weight=None, edge_features=None, split=None, one_of_many=False):
    """`one_of_many`: with a label of the graph, which several graphs are learned by."""
    # Readers of GraphML and GEXF keep the defaults beside the items.
    defaults = [graph.graph.get(name) or {} for name in ("node_default", "edge_default")]
    nodes = [(name, {**defaults[0], **attributes}) for name, attributes in graph.nodes(data=True)]
    edges = [((a, b), {**defaults[1], **attributes}) for a, b, attributes in graph.edges(data=True)]
    number = {name: k for k, (name, _) in enumerate(nodes)}
    graph_label = next((name for name in ([label] if isinstance(label, str) else LABELS) if name in graph.graph), None)
    label_is_of_graph = graph_label == label and not any(label in attributes for _, attributes in nodes)
    usual = lambda names: [name for name in names if name not in ("x", "y") or not are_coordinates(nodes)]
    used, wanted = chosen(nodes, features, usual(FEATURES), "node"), label
    if one_of_many and wanted and wanted == graph_label and not label_is_of_graph:
        fail("label", f"{wanted!r} is an attribute of the graphs and of their nodes, expected a name of one of them")
    of_graph = label_is_of_graph if wanted else one_of_many
    label = [] if of_graph else chosen(nodes, label, usual(LABELS), "node")
    if label and not wanted and are_captions([attributes.get(label[0]) for _, attributes in nodes]):
        label = []  # left out, as names without a place are
    weights_wanted = weight
    weight, edge_used = chosen(edges, weight, ("weight",), "edge"), chosen(edges, edge_features, FEATURES, "edge")
    if not edge_features:
        edge_used = [name for name in edge_used if name not in weight]
    src, dst = (np.array([number[ends[k]] for ends, _ in edges], np.int64) for k in (0, 1))
    result = Dataset(src=src, dst=dst, num_nodes=len(nodes), x=column(nodes, used, "node"), edge_weight=column(edges, weight, "edge"),
                     edge_attr=column(edges, edge_used, "edge"), undirected=not graph.is_directed())
    if label:
        result.y, result.class_names = classes(values_of(nodes, label[0], "node") or [])
    elif graph_label is not None:
        result.graph_y = np.asarray(graph.graph[graph_label])[None]
    result.class_names = result.class_names or graph.graph.get("class_names")
    result.graph_names = [graph.graph["name"]] if graph.graph.get("name") else None
    if result.x is not None:  # attributes of one number each
        result.feature_names = used if result.x.shape[1] == len(used) and len(used) > 1 else graph.graph.get("feature_names")
    if result.edge_attr is not None:
        result.attr_names = edge_used if result.edge_attr.shape[1] == len(edge_used) > 1 else graph.graph.get("attr_names")
    result.splits = splits_of_nodes(nodes, split)
    if not graph.is_directed():  # both ways; a loop is one edge
        back = np.flatnonzero(src != dst)
        both = lambda values: None if values is None else np.concatenate([values, values[back]])
        result.src, result.dst = np.concatenate([src, dst[back]]), np.concatenate([dst, src[back]])
        result.edge_weight, result.edge_attr = both(result.edge_weight), both(result.edge_attr)
    names = [name for name, _ in nodes]
    if all(type(name) is int or isinstance(name, np.integer) for name in names):
        result.node_ids = None if names == list(range(len(names))) else names
    else:
        result.node_names = [str(name) for name in names]
    guesses = {"x": (features, used), "y": (wanted, label), "edge_weight": (weights_wanted, weight), "edge_attr": (edge_features, edge_used),
               "graph_y": (wanted, [] if label or graph_label is None else [f"{graph_label} of the graph"])}
    result.guessed = {field: ", ".join(names) for field, (request, names) in guesses.items() if names and not request}
    used = {*used, *label, split or "split", *MASKS}
    result.left_out = sorted({str(n) for _, a in nodes for n in a if n not in used} |
                             {str(n) for _, a in edges for n in a if n not in [*edge_used, *weight]} |
                             {f"{n} of the graph" for n in LABELS if n in graph.graph and (label or n != graph_label)})
    return result


def splits_of_nodes(nodes, name):
    """From an attribute "split" of train, val, test or None, a list for several splits; or from masks."""
    values = [attributes.get(name or "split") for _, attributes in nodes]
    if not any(value is not None for value in values):
        if name is not None:
            fail("node", f"no {name!r}")
        stored = {mask: column(nodes, [mask], "node") for mask in MASKS}
        return masks_of({mask: v if v is None or v.shape[1] > 1 else v[:, 0] for mask, v in stored.items()})
    width = max(len(value) if isinstance(value, (list, tuple)) else 1 for value in values)
    rows = [value if isinstance(value, (list, tuple)) else [value] * width for value in values]
    for (node, _), row in zip(nodes, rows):
        bad = [value for value in row if value not in (*PARTS, "valid", None)] if len(row) == width else [row]
        if bad:
            fail("node", f"{node!r}: {name or 'split'} {bad[0]!r}, expected train, val, test or None"
                         + (f", {width} of them" if width > 1 else ""))
    part = np.array([["val" if value == "valid" else value or "" for value in row] for row in rows])
    return {p: part == p for p in PARTS}


# ---- A matrix, arrays ----


def from_matrix(matrix):
    src, dst, value, shape = coo_of(matrix, "matrix")
    if shape[0] != shape[1]:
        fail("matrix", f"[{shape[0]}, {shape[1]}], expected a square one")
    pairs = np.asarray(src, np.int64) * shape[1] + dst
    if value is not None and (equal := pairs.size - np.unique(pairs).size):
        warnings.warn(f"matrix: {equal} of {pairs.size} entries have the row and column of another, added up as tocsr() does")
        csr = ordered(src, dst, value, shape)
        src, dst, value = np.repeat(np.arange(shape[0]), np.diff(csr.indptr)), csr.indices, csr.data
    ones = value is None or (np.asarray(value) == 1).all()
    return Dataset(src=src, dst=dst, num_nodes=shape[0], edge_weight=None if ones else value)


def from_arrays(arrays):
    """From names as `Dataset` has them, or `edge_index`, `adj_t`, masks, and `x` in three parts, as from_adjoint gives them."""
    arrays = {name: value for name, value in arrays.items() if value is not None}
    fields = {field.name for field in dataclasses.fields(Dataset)} - {"left_out", "guessed"}
    parts = ("x_indptr", "x_indices", "x_data", "x_cols")
    known = fields | {"edge_index", "adj_t", *MASKS, *parts}
    for name in arrays:
        if name not in known:
            fail(name, "not known; the names are " + ", ".join(sorted(known)))
    result = Dataset(**{name: value for name, value in arrays.items() if name in fields})
    if "edge_index" in arrays or "adj_t" in arrays:
        if result.src is not None or result.dst is not None:
            fail("edge_index", "conflicts with src and dst")
        result.src, result.dst, weight, nodes = edges_of(arrays)
        result.edge_weight = weight if result.edge_weight is None else result.edge_weight
        result.num_nodes = nodes if result.num_nodes is None else result.num_nodes
    if any(name in arrays for name in parts):
        if "x" in arrays or not all(name in arrays for name in parts):
            fail("x", f"{', '.join(n for n in arrays if n.startswith('x'))}, expected x, or {', '.join(parts)}")
        result.x = Csr(array(arrays["x_indptr"], "x_indptr"), arrays["x_indices"], arrays["x_data"], int(arrays["x_cols"]))
    masks = masks_of(arrays)
    if masks is not None:
        if result.splits is not None:
            fail("splits", "conflicts with masks")
        result.splits = masks
    if result.num_nodes is None:
        result.num_nodes = counted_nodes(result)
    return result


def counted_nodes(data):
    if isinstance(data.x, Csr) and (rows := rows_of(data.x.indptr)) is not None:
        return rows - 1
    for value in (data.x, data.y, data.node_ids, data.node_names):
        if value is not None and not isinstance(value, Csr) and (rows := rows_of(value)) is not None:
            return rows
    if data.graph_offsets is not None:
        return int(array(data.graph_offsets, "graphs/offsets")[-1])
    fail("attribute num_nodes", "missing: neither it nor features nor labels are given")


# ---- Many graphs ----


def joined(parts):
    """Many graphs as one dataset. A label with one row belongs to the graph, with a row per node to the nodes."""
    if not parts:
        fail("graphs", "none, expected at least one")
    sizes = np.array([part.num_nodes for part in parts], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    result = Dataset(num_nodes=int(starts[-1]), graph_offsets=starts, left_out=sorted({n for p in parts for n in p.left_out}),
                     guessed={field: name for part in parts for field, name in part.guessed.items()}
                     if all(part.guessed is not None for part in parts) else None)
    for index, part in enumerate(parts):
        for end in ("src", "dst"):
            value = whole(getattr(part, end), f"graph {index}: edges/{end}", 0, int(sizes[index]) - 1)
            setattr(part, end, value + starts[index])
    result.src, result.dst = (np.concatenate([getattr(part, end) for part in parts]) for end in ("src", "dst"))
    named = [part.graph_names for part in parts]
    if all(names is not None for names in named) and len({names[0] for names in named}) == len(named):
        result.graph_names = [names[0] for names in named]
    split_labels(parts, sizes)
    if all(np.shape(part.graph_y) == (1,) for part in parts):
        found = [part.graph_y[0] for part in parts]
        numbers, names = classes(found)
        for part, number in zip(parts, numbers if numbers is not found else ()):
            part.graph_y, part.class_names = np.array([number]), names or part.class_names
    lengths = {"edge_weight": np.array([len(part.src) for part in parts]), "x": sizes, "y": sizes, "graph_y": np.ones_like(sizes)}
    lengths["edge_attr"] = lengths["edge_weight"]
    for field, rows in lengths.items():
        having = [k for k, part in enumerate(parts) if getattr(part, field) is not None]
        lacking = [k for k, part in enumerate(parts) if getattr(part, field) is None and rows[k] > 0]  # nothing has no features
        if having and lacking:
            fail(f"graph {lacking[0]}", f"no {field}, which graph {having[0]} has")
        if having:
            setattr(result, field, stacked(field, {k: getattr(parts[k], field) for k in having}, rows))
    splits = {k: part.splits for k, part in enumerate(parts) if part.num_nodes > 0 or part.splits}
    if any(splits.values()):
        first_split = next(iter(splits.values())) or {}
        for k, split in splits.items():
            if set(split or ()) != set(first_split):
                fail(f"graph {k}", f"masks for {', '.join(split or ['nothing'])}, but for {', '.join(first_split or ['nothing'])} before")
        result.splits = {part: stacked(part, {k: split[part] for k, split in splits.items()}) for part in first_split}
    named = [part.class_names for part in parts]
    if any(name is not None and name != named[0] for name in named):
        fail("graphs", "labels that are texts, of other classes in each graph, expected numbers")
    result.class_names = named[0]
    for field in COLUMN_NAMES:
        columns = [getattr(part, field) for part in parts]
        if any(names is not None and names != columns[0] for names in columns):
            fail("graphs", "other names of columns in each graph, expected the same")
        setattr(result, field, columns[0])
    undirected = {part.undirected for part in parts}
    result.undirected = undirected.pop() if len(undirected) == 1 else None
    return result


def split_labels(parts, sizes):
    ys = [None if part.y is None else array(part.y, f"graph {k}: y") for k, part in enumerate(parts)]
    if all(y is None for y in ys) or any(part.graph_y is not None for part in parts):
        return
    if all(y is not None and (y.ndim == 0 or y.shape[0] == 1) for y in ys):
        for part, y in zip(parts, ys):
            part.y, part.graph_y = None, y.reshape(1) if y.ndim == 0 else y
        return
    for k, y in enumerate(ys):
        if y is not None and (y.ndim == 0 or y.shape[0] != sizes[k]):
            fail(f"graph {k}: y", f"shape {shaped(y)}, expected [1] or [1, *] for the graph, or [{sizes[k]}] or [{sizes[k]}, *] "
                                  "for its nodes, the same in all graphs")


def stacked(field, values, rows=None):
    """Stacked rows of graphs {graph: array}."""
    begin = min(values)
    if field == "x" and csr_of(values[begin]) is not None:
        parts = [csr_of(value) for value in values.values()]
        if None in parts or len({part.cols for part in parts}) != 1 or len(parts) != len(rows):
            fail("x", "sparse features beside dense ones or none, or of other width, expected the same kind in all graphs")
        total = np.cumsum([0] + [len(part.indices) for part in parts])
        indptr = np.concatenate([[0], *(part.indptr[1:] + start for part, start in zip(parts, total))])
        return Csr(indptr, np.concatenate([p.indices for p in parts]), np.concatenate([p.data for p in parts]), parts[0].cols)
    values = {k: array(value, f"graph {k}: {field}") for k, value in values.items()}
    for k, value in values.items():
        if rows is not None and (value.ndim == 0 or value.shape[0] != rows[k]):
            fail(f"graph {k}: {field}", f"shape {shaped(value)}, expected {rows[k]} rows")
        if value.ndim != values[begin].ndim or value.shape[1:] != values[begin].shape[1:]:
            fail(f"graph {k}: {field}", f"shape {shaped(value)}, but {shaped(values[begin])} in graph {begin}")
    return np.concatenate(list(values.values()))


# ---- All of them ----


def dataset_of(source, **names):
    """Unchecked Dataset from any supported object."""
    allowed = lambda *known: {k: v for k, v in names.items() if k in known or fail(k, f"not for {type(source).__name__}")}
    if isinstance(source, Dataset):
        return dataclasses.replace(source, **allowed())
    if is_networkx(source):
        return from_networkx(source, **allowed("features", "label", "weight", "edge_features", "split", "one_of_many"))
    if is_dgl(source):
        return from_dgl(source, **allowed("features", "label", "weight", "edge_features"))
    if isinstance(source, collections.abc.Mapping):
        return from_arrays(source, **allowed())
    if is_pyg(source) and not is_dataset(source):
        return from_pyg(source, **allowed())
    if coo_of(source, "matrix") is not None:
        return from_matrix(source, **allowed())
    if isinstance(source, np.ndarray) or is_torch(source):
        return Dataset(**dict(zip(("src", "dst"), edges_of({"edge_index": source}))), **allowed())
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        return from_sequence(source, names)
    fail("source", f"a {type(source).__name__}, expected a graph of PyG, DGL or NetworkX, several of them, a sparse matrix or arrays")


def is_dataset(source):
    """A PyG dataset forwards missing attributes to its graphs."""
    return hasattr(source, "__getitem__") and hasattr(source, "indices") and callable(source.indices)


def from_sequence(source, names):
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], collections.abc.Mapping) and isinstance(source[0], (list, tuple)):
        result = from_sequence(source[0], names)  # as dgl.load_graphs gives them
        name = pick(source[1], None, LABELS + ("glabel",), "labels")
        result.graph_y = None if name is None else source[1][name]
        result.left_out += [n for n in source[1] if n != name]
        return result
    parts = []
    items = [source[k] for k in range(len(source))]
    for k, item in enumerate(items):
        pair = isinstance(item, (list, tuple)) and len(item) == 2
        if not (is_pyg(item[0] if pair else item) or is_dgl(item[0] if pair else item) or is_networkx(item[0] if pair else item)):
            fail(f"item {k}", f"a {type(item).__name__}, expected a graph, or a graph and its label")
        graph = item[0] if pair else item
        many = is_networkx(graph) and (pair or any(name in graph.graph for name in LABELS))
        part = dataset_of(graph, **names, **({"one_of_many": True} if many else {}))
        if part.graph_offsets is not None:
            fail(f"item {k}", "many graphs in one, expected one graph")
        if pair:
            (part.guessed or {}).pop("graph_y", None)
            label = np.asarray(item[1]) if isinstance(item[1], str) else array(item[1], f"graph {k}: label")
            part.graph_y = label.reshape(1, -1) if label.ndim == 1 and label.size > 1 else label.reshape(1) if label.ndim < 2 else label
        parts.append(part)
    single = len(parts) == 1 and not isinstance(source, (list, tuple)) and parts[0].graph_y is None
    result = parts[0] if single else joined(parts)
    if hasattr(source, "get_idx_split") and result.splits is None:
        result.splits = source.get_idx_split()
    if not isinstance(source, (list, tuple)):
        result.name = source.name if isinstance(getattr(source, "name", None), str) else None
    return result


def to_adjoint(source, path, gzip=0, **more):
    """Writes a dataset and returns what was written, as numpy arrays, with `left_out`, the names that have no place in the
    schema. `more`: any field of `Dataset`, instead of the input's (`splits=None` for no splits), and for
    DGL and NetworkX the names of attributes: `features` (NetworkX: or a list), `label`, `weight`, `edge_features`, and `split`
    (NetworkX); what is taken without them is printed. Throws DataError, or OSError if the file cannot be written."""
    if isinstance(gzip, bool) or gzip not in range(10):
        fail("gzip", f"{gzip!r}, expected 0 to 9")
    if is_typed(source):
        if set(more) - {"name"}:
            fail(next(iter(set(more) - {"name"})), "not for several types, expected name alone")
        return write_typed(dataclasses.replace(typed_of(source), **more), path, gzip)
    fields = {field.name for field in dataclasses.fields(Dataset)}
    data = dataset_of(source, **{name: value for name, value in more.items() if name not in fields})
    replaced = {name: value for name, value in more.items() if name in fields}
    data = dataclasses.replace(data, **replaced)
    if data.num_nodes is None:
        data.num_nodes = counted_nodes(data)
    if is_networkx(source) and "graph_y" not in replaced and data.graph_y is not None and data.graph_y.dtype.kind in "UO":
        data.left_out.append(f"label of the graph: {data.graph_y[0]}")  # where a graph is alone, a text is its name
        data.graph_y = None
    one_label = data.y is not None and rows_of(data.y) in (None, 1) and data.num_nodes != 1
    if one_label and "y" not in replaced and data.graph_y is None and data.graph_offsets is None \
            and (data.task is None or of_graphs(data.task)):  # a single graph of a dataset of graphs
        data = dataclasses.replace(joined([data]), task=data.task, num_classes=data.num_classes, name=data.name)
    if data.graph_y is not None and data.graph_offsets is None:
        data.graph_offsets = [0, data.num_nodes]
    if data.graph_offsets is None and "graph_names" not in replaced and not isinstance(source, collections.abc.Mapping):
        data.graph_names = None  # of a graph that is alone
    if data.name is None:
        data.name = pathlib.Path(path).stem
    data = checked(data)
    write(data, path, gzip)
    if data.guessed is not None:
        notes = [f"{GUESSED[field]} from {name}" for field, name in data.guessed.items()
                if field not in replaced and getattr(data, field) is not None]
        if data.left_out:
            notes.append(f"left out: {', '.join(data.left_out)}")
        if notes:
            print(f"{path}: {'; '.join(notes)}")
    return data


def summary(data):
    if isinstance(data, TypedDataset):
        return ", ".join([f"{part.num_nodes} {kind}" for kind, part in data.nodes.items()]
                         + [f"{len(part.src)} {':'.join(kind)}" for kind, part in data.edges.items()])
    counts = [f"{data.num_nodes} nodes", f"{len(data.src)} directed edges"]
    if data.x is not None:
        counts.append(f"{data.x.cols if isinstance(data.x, Csr) else data.x.shape[1]} features")
    if data.graph_offsets is not None:
        counts.insert(0, f"{len(data.graph_offsets) - 1} graphs")
    if data.task.endswith("_class"):
        counts.append(f"{data.num_classes} classes")
    return ", ".join(counts + ([f"{len(data.splits)} splits"] if len(data.splits) > 1 else []))


# ---- Planetoid ----

VALIDATION = 500


class Matrix:
    """Replaces scipy's csr_matrix in a pickle, so that scipy is not needed."""

    def __setstate__(self, state):
        self.__dict__.update(state)

    def rows(self, place):
        shape = tuple(int(extent) for extent in self.__dict__.get("_shape", self.__dict__.get("shape", ())))
        csr = Csr(self.indptr, self.indices, self.data, shape[1])
        empty = np.empty(0, np.int32)
        return checked(Dataset(src=empty, dst=empty, num_nodes=shape[0], x=csr, name=place)).x


class PlanetoidUnpickler(pickle.Unpickler):
    """Reads only the types in the release's files: a pickle may name any function to call."""

    def find_class(self, module, name):
        multiarray = np.core.multiarray if int(np.__version__.split(".")[0]) < 2 else np._core.multiarray
        known = {"collections.defaultdict": collections.defaultdict, "__builtin__.list": list, "builtins.list": list,
                 "numpy.ndarray": np.ndarray, "numpy.dtype": np.dtype, "scipy.sparse.csr.csr_matrix": Matrix,
                 "scipy.sparse._csr.csr_matrix": Matrix, "numpy.core.multiarray._reconstruct": multiarray._reconstruct,
                 "numpy._core.multiarray._reconstruct": multiarray._reconstruct}
        if f"{module}.{name}" not in known:
            raise pickle.UnpicklingError(f"names {module}.{name}, which no file of this release does")
        return known[f"{module}.{name}"]


def unpickled(folder, name, part, kind):
    path = folder / f"ind.{name}.{part}"
    try:
        with open(path, "rb") as file:
            value = PlanetoidUnpickler(file, encoding="latin1").load()
    except OSError:
        raise
    except Exception as error:  # any error of a damaged pickle
        fail(path, f"{str(error) or type(error).__name__}, expected a pickle of the Planetoid release")
    if not isinstance(value, kind):
        fail(path, f"a {type(value).__name__}, expected a {'matrix' if kind is Matrix else kind.__name__}")
    if kind is Matrix:
        try:
            return Matrix.rows(value, path.name)
        except (DataError, AttributeError, IndexError, TypeError, ValueError) as error:
            fail(path, f"{error}, expected a sparse matrix")
    if kind is np.ndarray and (value.ndim != 2 or value.dtype.kind not in "iuf" or 0 in value.shape):
        fail(path, f"{value.dtype} {shaped(value)}, expected numbers [*, *]")
    return value


def from_planetoid(folder, name):
    """The dataset `name` of the Planetoid release (Yang, Cohen & Salakhutdinov 2016; the files ind.NAME.* of
    github.com/kimiyoung/planetoid, folder data), with its split: the labelled nodes, the next 500, and test.index.

    The release has the labelled and unlabelled nodes in order (allx), then the test nodes shuffled (tx, by test.index).
    Citeseer's test nodes have gaps: isolated nodes without features, class 0."""
    folder = pathlib.Path(folder)
    allx, tx = (unpickled(folder, name, part, Matrix) for part in ("allx", "tx"))
    ally, ty = (unpickled(folder, name, part, np.ndarray) for part in ("ally", "ty"))
    place = folder / f"ind.{name}.test.index"
    try:
        test = np.array([int(line) for line in place.read_text().split()], np.int64)
    except (OverflowError, ValueError) as error:
        fail(place, f"{error}, expected an index on each line")
    known, count = len(allx.indptr) - 1, int(test.max(initial=0)) + 1
    if test.size == 0 or test.min() != known or np.unique(test).size != test.size or count > 100_000_000:
        fail(place, f"{test.size} indices from {test.min(initial=0)}, expected distinct ones from {known}")
    for one, other, part in ((allx, ally, "ally"), (tx, ty, "ty")):
        if len(one.indptr) - 1 != len(other) or other.shape[1] != ally.shape[1] or one.cols != allx.cols:
            fail(folder / f"ind.{name}.{part}", f"shape {shaped(other)}, expected [{len(one.indptr) - 1}, {ally.shape[1]}]")
    if len(ty) != test.size:
        fail(place, f"{test.size} indices, expected {len(ty)}, as ind.{name}.ty has")
    train = len(unpickled(folder, name, "y", np.ndarray))
    if train + VALIDATION > known:
        fail(folder / f"ind.{name}.y", f"{train} nodes to train, expected at most {known - VALIDATION}")

    row = np.concatenate([np.arange(known), test])
    x = ordered(np.repeat(row, np.concatenate([np.diff(allx.indptr), np.diff(tx.indptr)])), np.concatenate([allx.indices, tx.indices]),
                np.concatenate([allx.data, tx.data]), (count, allx.cols))
    y = np.zeros(count, np.int32)
    y[row] = np.concatenate([ally, ty]).argmax(axis=1)

    place = folder / f"ind.{name}.graph"
    graph = unpickled(folder, name, "graph", dict)
    try:
        ends = np.array([(a, b) for a, neighbours in graph.items() for b in neighbours], np.int64).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError) as error:
        fail(place, f"{error}, expected lists of neighbours")
    if ends.size and (ends.min() < 0 or ends.max() >= count):
        fail(place, f"a node {ends.min() if ends.min() < 0 else ends.max()}, expected 0 to {count - 1}")
    both = np.concatenate([ends, ends[:, ::-1]])  # each direction once, without loops, by target and then source
    keys = np.unique(both[both[:, 0] != both[:, 1]] @ np.array([count, 1]))
    return Dataset(src=keys % count, dst=keys // count, num_nodes=count, x=x, y=y,
                   num_classes=ally.shape[1], task="node_class", undirected=True, name=name,
                   splits={"train": np.arange(train), "val": np.arange(train, train + VALIDATION), "test": np.sort(test)})


# ---- Files of torch ----


def load_torch(path, trusted=False):
    """Contents of a torch.save file. Runs no code of it unless `trusted`: only tensors, and PyG's classes if torch allows them.
    `trusted` None: the caller has no such option."""
    import torch
    if not trusted:
        try:
            import torch_geometric.data  # registers PyG's classes that are plain data
            known = [getattr(torch_geometric.data.data, name) for name in ("Data", "DataEdgeAttr", "DataTensorAttr")
                     if hasattr(torch_geometric.data.data, name)] + [torch_geometric.data.HeteroData]
            known += [getattr(torch_geometric.data.storage, name) for name in ("GlobalStorage", "BaseStorage", "NodeStorage", "EdgeStorage")
                      if hasattr(torch_geometric.data.storage, name)]
            if hasattr(torch.serialization, "add_safe_globals"):
                torch.serialization.add_safe_globals(known)
        except ImportError:
            pass
    try:
        return torch.load(path, map_location="cpu", weights_only=not trusted)
    except (ImportError, OSError):
        raise
    except Exception as error:  # any error of a damaged file
        reason = (" ".join(str(error).split()) or type(error).__name__).split(". ")[0][:200]
        if isinstance(error, pickle.UnpicklingError) and not trusted:
            fail(path, f"{reason}; holds more than tensors, or is damaged"
                       + ("" if trusted is None else ": a file that can be trusted is read with --trust"))
        fail(path, f"{reason}, expected what torch.save writes")


def stored_dataset(value):
    """A file of PyG's InMemoryDataset is (Data or its dict, slices[, class])."""
    if not (isinstance(value, tuple) and len(value) in (2, 3) and (value[1] is None or isinstance(value[1], dict))):
        return value
    from torch_geometric.data import Data
    from torch_geometric.data.separate import separate
    data = value[0] if is_pyg(value[0]) else Data.from_dict(value[0])
    if value[1] is None:
        return data
    count = len(next(iter(value[1].values()))) - 1
    return [separate(cls=type(data), batch=data, idx=k, slice_dict=value[1], decrement=False) for k in range(count)]


def write_state(state, path):
    """A state dict, one dataset per tensor under its name, for adj::nn::load_pyg_state."""
    if not isinstance(state, collections.abc.Mapping):
        raise TypeError(f"a {type(state).__name__}, expected a state dict")
    with replacing(path) as beside, h5py.File(beside, "w", libver="latest") as file:
        for name, tensor in state.items():
            if not is_torch(tensor):
                raise TypeError(f"{name}: a {type(tensor).__name__}, expected a tensor; is this a state dict?")
            tensor = tensor.detach().cpu()
            if str(tensor.dtype) in ("torch.bfloat16", "torch.float16"):
                tensor = tensor.float()
            file.create_dataset(name, data=tensor.contiguous().numpy())


# ---- The command line ----


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="planetoid|pyg|state")
    planetoid = commands.add_parser("planetoid", help="a dataset of the Planetoid release")
    planetoid.add_argument("--from", dest="source", required=True, metavar="FOLDER", help="folder of the files ind.NAME.*")
    planetoid.add_argument("--name", required=True, help="cora, citeseer or pubmed")
    planetoid.add_argument("--out", required=True, metavar="OUT.h5")
    planetoid.add_argument("--gzip", type=int, default=6, choices=range(10), metavar="0-9", help="compression (default: 6)")
    pyg = commands.add_parser("pyg", help="a Data, a list of them, or a dataset, as torch.save wrote it")
    pyg.add_argument("source", metavar="FILE.pt")
    pyg.add_argument("out", metavar="OUT.h5")
    pyg.add_argument("--name", help="name of the dataset (default: the file's)")
    pyg.add_argument("--task", choices=TASKS, help="default: by the labels' type and shape")
    pyg.add_argument("--num-classes", type=int, metavar="C", help="default: one more than the largest label")
    pyg.add_argument("--no-splits", action="store_true", help="leave out the masks")
    pyg.add_argument("--gzip", type=int, default=0, choices=range(10), metavar="0-9", help="compression (default: 0, none)")
    pyg.add_argument("--trust", action="store_true", help="read a file that may run code while loading")
    state = commands.add_parser("state", help="a state dict, for `predict --pyg-state`")
    state.add_argument("source", metavar="STATE.pt")
    state.add_argument("out", metavar="OUT.h5")
    args = parser.parse_args()
    try:
        if args.command == "state":
            found = load_torch(args.source, None)
            write_state(found, args.out)
            print(f"{args.out}: {len(found)} tensors")
            return
        if args.command == "planetoid":
            source, more = from_planetoid(args.source, args.name), {}
        else:
            source = stored_dataset(load_torch(args.source, args.trust))
            more = {"name": args.name or pathlib.Path(args.source).stem, **({"splits": None} if args.no_splits else {}),
                    **{key: value for key in ("task", "num_classes") if (value := getattr(args, key)) is not None}}
        data = to_adjoint(source, args.out, gzip=args.gzip, **more)
    except ImportError as error:
        sys.exit(f"{error}: this command needs torch (and pyg torch_geometric)")
    except (OSError, RuntimeError, TypeError, ValueError, pickle.UnpicklingError) as error:
        text = " ".join(str(error).split())
        sys.exit(text if str(args.source) in text or str(args.out) in text else f"{args.source}: {text}")
    print(f"{args.out}: {summary(data)}")
    if data.left_out:
        print(f"left out, for the schema has no place for them: {', '.join(data.left_out)}")


if __name__ == "__main__":
    main()
