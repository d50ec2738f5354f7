#!/usr/bin/env python3
"""Reads files of Adjoint: datasets, predictions and trained weights. One file, which needs h5py and numpy, and of torch,
torch_geometric, dgl, networkx only for the functions that return theirs.

    from from_adjoint import read_dataset, read_typed_dataset, to_pyg, to_dgl, to_networkx, read_predictions, pyg_state, load_into
    arrays = read_dataset("cora.h5")            # a dict of numpy arrays, which to_adjoint takes again
    data = to_pyg("cora.h5")                    # a Data; a list of them for many graphs
    graph = to_dgl("cora.h5")                   # a DGLGraph; (graphs, labels) for many
    graph = to_networkx("cora.h5")              # a (Multi)(Di)Graph; a list of them for many
    arrays = read_typed_dataset("shop.h5")      # of several types, for which to_pyg gives a HeteroData, to_dgl a graph of them
    found = read_predictions("predictions.h5")  # {"prediction": [N], "probability": [N, C], "task": ...}; of links "src", "dst", "score"
    load_into(model, "gcn.h5")                  # the weights of a checkpoint, into a PyG model of the same layers
    state = pyg_state("gcn.h5")                 # or as a state dict of numpy arrays

    from_adjoint.py dataset IN.h5 OUT.npz|OUT.pt|OUT.dgl|OUT.json       # arrays, PyG, DGL, NetworkX's node-link form
    from_adjoint.py predictions IN.h5 OUT.npz
    from_adjoint.py state CHECKPOINT.h5 OUT.pt|OUT.safetensors [--map convs.0=conv1]... # for model.load_state_dict
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import secrets
import sys

import h5py
import numpy as np

PARTS = ("train", "val", "test")


class DataError(ValueError):
    """FILE: PLACE: what was found, what was expected."""


def opened(path, format, versions):
    """Opens the file and checks its format."""
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        if not os.path.isfile(path):
            raise OSError(f"{path}: {os.strerror(getattr(error, 'errno', 0) or 2)}") from None
        raise DataError(f"{path}: not an HDF5 file: {' '.join(str(error).split())}") from None
    found, version = file.attrs.get("format"), file.attrs.get("version")
    if found != format or version not in versions:
        file.close()
        raise DataError(f"{path}: attribute format: {found!r}, version {version}, expected {format!r}, version {versions[0]}"
                        + ("; read_typed_dataset and to_pyg read several types" if found == format and version == 2 else ""))
    return file


# ---- Datasets ----


def read_dataset(path):
    """A dataset as numpy arrays: name, task, num_nodes, num_classes, undirected, edge_index int64 [2, M], and if present
    edge_weight, edge_attr, x (or x_indptr, x_indices, x_data, x_cols), y, splits (a list of {train, val, test} of
    indices), graph_offsets, graph_y, edge_y, node_ids, node_names, graph_names, class_names, feature_names, attr_names. Throws
    DataError, OSError."""
    with opened(path, "adjoint.graph", (1,)) as file:
        def values(place):
            try:
                return file[place][...]
            except KeyError:
                raise DataError(f"{path}: {place}: missing") from None

        for attribute in ("num_nodes", "task"):
            if attribute not in file.attrs:
                raise DataError(f"{path}: attribute {attribute}: missing")
        data = {"name": str(file.attrs.get("name", pathlib.Path(path).stem)), "task": str(file.attrs["task"]),
                "num_nodes": int(file.attrs["num_nodes"]), "num_classes": int(file.attrs.get("num_classes", 0)),
                "undirected": bool(file.attrs.get("undirected", 0)),
                "edge_index": np.stack([values("edges/src"), values("edges/dst")]).astype(np.int64)}
        for key, place in (("edge_weight", "edges/weight"), ("edge_attr", "edges/attr"), ("x", "nodes/x"), ("y", "nodes/y"),
                           ("x_indptr", "nodes/x_indptr"), ("x_indices", "nodes/x_indices"), ("x_data", "nodes/x_data"),
                           ("graph_offsets", "graphs/offsets"), ("graph_y", "graphs/y"), ("edge_y", "edges/y"),
                           ("node_ids", "nodes/id")):
            if place in file:
                data[key] = values(place)
        if "x_indptr" in data:
            data["x_cols"] = int(file["nodes"].attrs["x_cols"])
        group = "graphs" if of_graphs(data) else "edges" if of_edges(data) else "nodes"
        for key, place in (("node_names", "nodes/name"), ("class_names", f"{group}/class_names"), ("feature_names", "nodes/x_names"),
                           ("attr_names", "edges/attr_names"), ("graph_names", "graphs/name")):
            if place in file:
                data[key] = texts(values(place), values(f"{place}_offsets"))
        rows = len(data["graph_offsets"]) - 1 if of_graphs(data) else data["edge_index"].shape[1] if of_edges(data) else data["num_nodes"]
        data["splits"] = []
        while (group := f"splits/{len(data['splits'])}" if data["splits"] else "splits") in file and f"{group}/train" in file:
            parts = {part: values(f"{group}/{part}") for part in PARTS}
            for part, index in parts.items():
                if index.dtype.kind == "b" and index.size != rows:
                    raise DataError(f"{path}: {group}/{part}: {index.size} bools, expected {rows}")
            data["splits"].append({p: np.flatnonzero(i) if i.dtype.kind == "b" else i.astype(np.int64) for p, i in parts.items()})
        check_read(data, path, rows)
        return data


# A type's datasets and what they are called in Python.
NODE_PLACES = {"x": "x", "x_indptr": "x_indptr", "x_indices": "x_indices", "x_data": "x_data", "y": "y", "id": "node_ids",
               "time": "times"}
EDGE_PLACES = {"weight": "edge_weight", "attr": "edge_attr", "y": "edge_y", "time": "edge_times"}
NODE_TEXTS = {"name": "node_names", "class_names": "class_names", "x_names": "feature_names"}
EDGE_TEXTS = {"class_names": "class_names", "attr_names": "attr_names"}


def read_typed_dataset(path):
    """A dataset of several types as {"name", "nodes": {type: {...}}, "edges": {(source type, name, target type): {...}}}, which
    to_adjoint takes again. Of nodes num_nodes, and if present task, num_classes, x (or x_indptr, x_indices, x_data, x_cols),
    y, splits, node_ids, node_names, times, class_names, feature_names; of edges edge_index int64 [2, M], and if present
    edge_weight, edge_attr, edge_y, edge_times, task, num_classes, splits, class_names, attr_names. Throws DataError, OSError."""
    with opened(path, "adjoint.graph", (2,)) as file:
        try:
            return typed_contents(file, path)
        except KeyError as missing:
            raise DataError(f"{path}: {missing.args[0]}") from None


def typed_contents(file, path):
    data = {"name": str(file.attrs.get("name", pathlib.Path(path).stem)), "nodes": {}, "edges": {}}
    for group in file["nodes"].values() if "nodes" in file else ():
        name = str(group.attrs.get("name", group.name.rpartition("/")[2]))
        found = data["nodes"][name] = read_items(path, group, NODE_PLACES, NODE_TEXTS, int(group.attrs["num_nodes"]))
        found["num_nodes"] = int(group.attrs["num_nodes"])
        if "x_indptr" in found:
            found["x_cols"] = int(group.attrs["x_cols"])
    for group in file["edges"].values() if "edges" in file else ():
        kind = tuple(str(group.attrs[key]) if key in group.attrs else group.name.rpartition("/")[2] for key in ("source", "name", "target"))
        index = np.stack([group["src"][...], group["dst"][...]]).astype(np.int64)
        for end, ends in zip((kind[0], kind[2]), index):
            if end not in data["nodes"]:
                raise DataError(f"{path}: {group.name[1:]}: nodes of a type {end!r}, expected one of {', '.join(data['nodes'])}")
            nodes = data["nodes"][end]["num_nodes"]
            if ends.size and not 0 <= ends.min() <= ends.max() < nodes:
                raise DataError(f"{path}: {group.name[1:]}: {ends.min()} to {ends.max()}, expected 0 to {nodes - 1}")
        data["edges"][kind] = {"edge_index": index, **read_items(path, group, EDGE_PLACES, EDGE_TEXTS, index.shape[1])}
    return data


def read_items(path, group, places, names, rows):
    """What a group of version 2 has of so many items."""
    found = {key: group[place][...] for place, key in places.items() if place in group}
    found |= {key: texts(group[place][...], group[f"{place}_offsets"][...]) for place, key in names.items() if place in group}
    for key, value in found.items():
        expected = rows + (key == "x_indptr")
        if key not in ("x_indices", "x_data", "class_names", "feature_names", "attr_names") and len(value) != expected:
            raise DataError(f"{path}: {group.name[1:]}: {key}: {len(value)} rows, expected {expected}")
    found |= {key: kind(group.attrs[key]) for key, kind in (("task", str), ("num_classes", int)) if key in group.attrs}
    splits = []
    while (part := f"splits/{len(splits)}" if splits else "splits") in group and f"{part}/train" in group:
        parts = {name: group[f"{part}/{name}"][...] for name in PARTS}
        splits.append({name: np.flatnonzero(index) if index.dtype.kind == "b" else index.astype(np.int64) for name, index in parts.items()})
    return {**found, "splits": splits} if splits else found


def is_typed(source):
    """Whether a file, or what was read from it, has several types."""
    if isinstance(source, dict):
        return "nodes" in source
    try:
        with h5py.File(source, "r") as file:
            return file.attrs.get("format") == "adjoint.graph" and file.attrs.get("version") == 2
    except OSError:
        return False  # reading says why


def typed_arrays(source):
    """Of what was read: {kind: {name in PyG: numpy array or list}} of nodes and of edges."""
    data = source if isinstance(source, dict) else read_typed_dataset(source)
    called = {"node_ids": "n_id", "times": "time", "edge_times": "time"}
    parts = {"nodes": {}, "edges": {}}
    for group, kinds in parts.items():
        for kind, found in data[group].items():
            rows = found["edge_index"].shape[1] if group == "edges" else found["num_nodes"]
            kinds[kind] = {called.get(key, key): wide(value) if key in ("y", "edge_y") else value for key, value in found.items()
                           if key not in ("splits", "task", "num_classes", "x_indptr", "x_indices", "x_data", "x_cols")}
            if "x_indptr" in found:
                kinds[kind]["x"] = dense(found)
            if found.get("task") == "node_multilabel":
                kinds[kind]["y"] = found["y"].astype(np.float32)
            kinds[kind] |= {f"edge_{name}" if group == "edges" else name: mask for name, mask in masks(found.get("splits", []), rows).items()}
    return parts


def texts(stored, ends):
    """Texts concatenated in uint8, from the offset of each."""
    stored = stored.tobytes()
    return [stored[a:b].decode() for a, b in zip(ends[:-1], ends[1:])]


def check_read(data, path, rows):
    """Checks for faults that would give wrong results instead of errors; load_dataset checks the rest."""
    nodes = data["num_nodes"]
    for place, index, limit in [("edges", data["edge_index"], nodes)] + \
            [(f"splits: {part}", index, rows) for split in data["splits"] for part, index in split.items()]:
        if index.size and not 0 <= index.min() <= index.max() < limit:
            raise DataError(f"{path}: {place}: {index.min()} to {index.max()}, expected 0 to {limit - 1}")
    for place, length in (("x", nodes), ("y", nodes), ("node_ids", nodes), ("node_names", nodes), ("x_indptr", nodes + 1),
                          ("edge_y", data["edge_index"].shape[1]), ("graph_names", len(data.get("graph_offsets", [0])) - 1)):
        if place in data and len(data[place]) != length:
            raise DataError(f"{path}: {place}: {len(data[place])} rows, expected {length}")


def dense(data):
    """Features [N, F] of a read dataset, float32, or None."""
    if "x_indptr" not in data:
        return data.get("x")
    x = np.zeros((data["num_nodes"], data["x_cols"]), np.float32)
    np.add.at(x, (np.repeat(np.arange(len(x)), np.diff(data["x_indptr"])), data["x_indices"]), data["x_data"])
    return x


def masks(splits, rows):
    """{"train_mask": bool [rows], ...} of one split, [rows, K] of several."""
    found = {}
    for part in PARTS if splits else ():
        mask = np.zeros((rows, len(splits)), bool)
        for k, split in enumerate(splits):
            mask[split[part], k] = True
        found[f"{part}_mask"] = mask[:, 0] if len(splits) == 1 else mask
    return found


def as_read(source):
    return source if isinstance(source, dict) else read_dataset(source)


def of_graphs(data):
    return data["task"].startswith("graph_")


def of_edges(data):
    return data["task"].startswith("edge_")


def wide(labels):
    """In torch's types: classes int64, numbers float32."""
    return None if labels is None else labels.astype(np.int64 if labels.dtype.kind in "iu" else np.float32)


def labels_of(data):
    """Labels of the nodes; multilabel bits are float32, for torch's losses."""
    labels = data.get("y")
    return labels.astype(np.float32) if labels is not None and data["task"] == "node_multilabel" else wide(labels)


def graph_parts(data):
    """(first node, end, positions of edges) of each graph; a single graph has all."""
    if "graph_offsets" not in data:
        return [(0, data["num_nodes"], slice(None))]
    offsets = data["graph_offsets"]
    graph = np.searchsorted(offsets, data["edge_index"][0], side="right") - 1
    order = np.argsort(graph, kind="stable")
    ends = np.searchsorted(graph[order], np.arange(len(offsets)))
    return [(offsets[g], offsets[g + 1], order[ends[g]:ends[g + 1]]) for g in range(len(offsets) - 1)]


def to_pyg(source, sparse=False):
    """A torch_geometric Data of a file (or of what read_dataset gave), with masks train_mask, val_mask, test_mask ([N, K] for K
    splits; of labelled edges edge_y, edge_train_mask, …), n_id if nodes have ids, and x dense, or with `sparse` a torch.sparse_csr if the file stores it sparse. A list of Data
    for a file of many graphs; masks of graphs are then [1] or [1, K], so that a Batch stacks them like y. A HeteroData for
    a file of several types."""
    import torch
    from torch_geometric.data import Data, HeteroData
    if is_typed(source):
        result = HeteroData()
        for kinds in typed_arrays(source).values():
            for kind, found in kinds.items():
                for key, value in found.items():
                    result[kind][key] = torch.from_numpy(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value
        return result
    data = as_read(source)
    sparse = sparse and "x_indptr" in data
    if sparse and "graph_offsets" in data:
        raise ValueError("to_pyg: many graphs have dense features, expected sparse=False")
    tensor = lambda value: torch.from_numpy(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value
    parts, graph_y = graph_parts(data), wide(data.get("graph_y"))
    chosen = masks(data["splits"], len(parts) if of_graphs(data) else data["edge_index"].shape[1] if of_edges(data) else data["num_nodes"])
    of_nodes = not of_graphs(data) and not of_edges(data)
    node = {"x": None if sparse else dense(data), "y" if graph_y is None else "node_y": labels_of(data), "n_id": data.get("node_ids"),
            "node_names": data.get("node_names"), **(chosen if of_nodes else {})}
    edge = {"edge_weight": data.get("edge_weight"), "edge_attr": data.get("edge_attr"), "edge_y": wide(data.get("edge_y")),
            **({f"edge_{name}": mask for name, mask in chosen.items()} if of_edges(data) else {})}
    whole = {"y": graph_y, **(chosen if of_graphs(data) else {})}
    result = []
    for g, (a, b, positions) in enumerate(parts):
        found = {"edge_index": data["edge_index"][:, positions] - a, "num_nodes": int(b - a)}
        for values, rows in ((node, slice(a, b)), (edge, positions), (whole, slice(g, g + 1))):
            found.update({key: value[rows] for key, value in values.items() if value is not None})
        found.update({key: data[key] for key in ("class_names", "feature_names", "attr_names") if key in data})
        if "graph_names" in data:
            found["graph_name"] = data["graph_names"][g]
        result.append(Data(**{key: tensor(value) for key, value in found.items()}))
    if sparse:
        result[0].x = torch.sparse_csr_tensor(*(tensor(data[key].astype(np.int64)) for key in ("x_indptr", "x_indices")),
                                              tensor(data["x_data"]), (data["num_nodes"], data["x_cols"]))
    return result if "graph_offsets" in data else result[0]


def to_dgl(source):
    """A DGLGraph of a file (or of what read_dataset gave): ndata feat, label, train_mask, val_mask, test_mask ([N, K] for K
    splits; of labelled edges in edata), edata weight, feat, label. (graphs, {"label": [G], "train": indices, ...}) for a file of many graphs; a heterograph for
    several types."""
    import dgl
    import torch
    if is_typed(source):
        parts = typed_arrays(source)
        called = {"x": "feat", "y": "label", "n_id": "_ID", "edge_attr": "feat", "edge_weight": "weight", "edge_y": "label"}
        graph = dgl.heterograph({kind: tuple(torch.from_numpy(end) for end in found["edge_index"]) for kind, found in parts["edges"].items()},
                                {kind: found["num_nodes"] for kind, found in parts["nodes"].items()})
        for kinds, frames in ((parts["nodes"], graph.nodes), (parts["edges"], graph.edges)):
            for kind, found in kinds.items():
                frames[kind].data.update({called.get(key, key.removeprefix("edge_")): torch.from_numpy(np.ascontiguousarray(value))
                                          for key, value in found.items() if isinstance(value, np.ndarray) and key != "edge_index"})
        return graph
    data = as_read(source)
    tensor = lambda value: torch.from_numpy(np.ascontiguousarray(value))
    src, dst = data["edge_index"]
    node = {"feat": dense(data), "label": labels_of(data), "_ID": data.get("node_ids")}
    edge = {"weight": data.get("edge_weight"), "feat": data.get("edge_attr"), "label": wide(data.get("edge_y"))}
    if not of_graphs(data):
        (edge if of_edges(data) else node).update(masks(data["splits"], len(src) if of_edges(data) else data["num_nodes"]))
    graphs = []
    for a, b, positions in graph_parts(data):
        graph = dgl.graph((tensor(src[positions] - a), tensor(dst[positions] - a)), num_nodes=int(b - a))
        graph.ndata.update({key: tensor(value[a:b]) for key, value in node.items() if value is not None})
        graph.edata.update({key: tensor(value[positions]) for key, value in edge.items() if value is not None})
        graphs.append(graph)
    if "graph_offsets" not in data:
        return graphs[0]
    labels = {} if "graph_y" not in data else {"label": tensor(wide(data["graph_y"]))}
    for k, split in enumerate(data["splits"] if of_graphs(data) else []):
        labels.update({part if k == 0 else f"{part}{k}": tensor(index) for part, index in split.items()})
    return graphs, labels


def to_networkx(source):
    """A NetworkX graph of a file (or of what read_dataset gave), with its nodes' names: undirected if every edge exists in both
    directions with one weight, a multigraph if edges are parallel. Node attributes x (a list), y, and split (train, val, test
    or None; a list of them for several), edge attributes weight, attr, y, and
    split (train, val, test or "") of labelled edges. A list of graphs, each with graph["y"], for a file of
    many graphs."""
    import networkx
    data = as_read(source)
    x, y, graph_y = dense(data), data.get("y"), data.get("graph_y")
    names = data.get("node_names") or (data["node_ids"].tolist() if "node_ids" in data else range(data["num_nodes"]))
    parts = None
    if data["splits"] and not of_graphs(data) and not of_edges(data):
        parts = [[None] * len(data["splits"]) for _ in names]
        for k, split in enumerate(data["splits"]):
            for part, index in split.items():
                for node in index:
                    parts[node][k] = part
    graphs = []
    for g, (a, b, positions) in enumerate(graph_parts(data)):
        src, dst = data["edge_index"][:, positions]
        values = {key: data[name][positions] for key, name in (("weight", "edge_weight"), ("attr", "edge_attr"), ("y", "edge_y"))
                  if name in data}
        if of_edges(data):
            for k, split in enumerate(data["splits"]):
                values["split" if k == 0 else f"split{k}"] = part = np.full(len(data["edge_index"][0]), "", object)
                for name, index in split.items():
                    part[index] = name
        rows = np.column_stack([np.zeros((len(src), 0)), *(value for value in values.values() if value.dtype != object)])
        undirected = data["undirected"] and both_ways(src, dst, rows)
        if undirected:
            once = np.flatnonzero(src <= dst)
            src, dst, values = src[once], dst[once], {key: value[once] for key, value in values.items()}
        parallel = len(np.unique(src * data["num_nodes"] + dst)) < len(src)
        graph = getattr(networkx, ("Multi" if parallel else "") + ("Graph" if undirected else "DiGraph"))()
        local = list(range(int(b - a))) if isinstance(names, range) else list(names[a:b])
        graph.add_nodes_from(local)
        for k, node in enumerate(local):
            attributes = graph.nodes[node]
            if x is not None:
                attributes["x"] = x[a + k].tolist()
            if y is not None:
                attributes["y"] = y[a + k].tolist()
            if parts is not None:
                attributes["split"] = parts[a + k][0] if len(parts[a + k]) == 1 else parts[a + k]
        graph.add_edges_from((local[s - a], local[d - a], {key: value[e].tolist() if hasattr(value[e], "tolist") else value[e] for key, value in values.items()})
                             for e, (s, d) in enumerate(zip(src.tolist(), dst.tolist())))
        if graph_y is not None:
            graph.graph["y"] = graph_y[g].tolist()
        if "graph_names" in data:
            graph.graph["name"] = data["graph_names"][g]
        graph.graph.update({key: data[key] for key in ("class_names", "feature_names", "attr_names") if key in data})
        graphs.append(graph)
    return graphs if "graph_offsets" in data else graphs[0]


def both_ways(src, dst, rows):
    """True if every edge exists in both directions, equally often and with the same numbers."""
    def ordered(a, b):
        table = np.column_stack([a, b, rows])
        return table[np.lexsort(table.T)]
    return np.array_equal(ordered(src, dst), ordered(dst, src))


# ---- Predictions ----


def read_predictions(path):
    """{"prediction", "probability" and "score" (logits) if present, "task", "program", "dataset"} of a file of predictions
    (docs/programs.md), for N nodes, graphs or edges (with "src" and "dst"): int32 [N] and float32 [N, C] of classes, uint8 and float32 [N, T] of several
    labels, float32 [N, T] of regression. Pairs of nodes have "src", "dst", "score", and "label" or "probability";
    embeddings "embedding" [N, width]; chosen nodes or graphs their "number". With names,
    "class_names", and "node_names" or "node_ids" or "graph_names"; of pairs whose "dst" are of another type "target_names" or
    "target_ids". Throws DataError, OSError."""
    with opened(path, "adjoint.prediction", (1,)) as file:
        found = {key: str(file.attrs[key]) for key in ("task", "program", "dataset") if key in file.attrs}
        for key, place in (("class_names", "nodes/class_names"), ("class_names", "graphs/class_names"),
                           ("class_names", "edges/class_names"), ("node_names", "nodes/name"),
                           ("graph_names", "graphs/name"), ("target_names", "targets/name")):
            if place in file:
                found[key] = texts(file[place][...], file[f"{place}_offsets"][...])
        for key, place in (("node_ids", "nodes/id"), ("target_ids", "targets/id")):
            if place in file:
                found[key] = file[place][...]
        for place, needed, keys in (("nodes", "prediction", ("prediction", "probability", "score", "number")),
                                    ("graphs", "prediction", ("prediction", "probability", "score", "number")),
                                    ("edges", "prediction", ("src", "dst", "prediction", "probability", "score")),
                                    ("nodes", "embedding", ("embedding", "number")), ("graphs", "embedding", ("embedding", "number")),
                                    ("pairs", "score", ("src", "dst", "score", "label", "probability"))):
            if f"{place}/{needed}" in file:
                return {**found, **{key: file[f"{place}/{key}"][...] for key in keys if f"{place}/{key}" in file}}
        raise DataError(f"{path}: nodes/prediction, graphs/prediction, edges/prediction, nodes/embedding, graphs/embedding or pairs/score: missing")


# ---- Weights ----

# Parts whose matrix PyG keeps in a separate linear map (GCNConv): the program and its --model, if it has several; the parts.
WRAPPED = {("train_gcn", ""): re.compile(r"convs\.\d+"), ("train_link", "gcn"): re.compile(r"encoder\.convs\.\d+")}
# Weights [in, out] of the linear maps and cells of nn/, [out, in] in torch.
TURNED = re.compile(r"(^|\.)(weight|weight_[ih]h_l\d+(_reverse)?)$")
# Attention vectors [heads, channels] of nn/, [1, heads, channels] in PyG.
ATTENTION = re.compile(r"(^|\.)att(_src|_dst|_edge)?$")


def checkpoint_tensors(path, weights):
    """The program and its --model, and the model's tensors by name: of the best epoch, if known, or the last."""
    if weights not in ("best", "last"):
        raise ValueError(f"weights {weights!r}, expected best or last")
    with opened(path, "adjoint.checkpoint", (2,)) as file:
        stored = file.get("tensors", {})
        prefix = "best." if weights == "best" and any(name.startswith("best.") for name in stored) else "model."
        found = {name[len(prefix):]: stored[name][...] for name in stored if name.startswith(prefix)}
        if not found:
            raise DataError(f"{path}: tensors/{prefix}*: missing, expected the weights of a model")
        facts = file["facts"].attrs if "facts" in file else {}
        return (str(file.attrs.get("program", "")), str(facts.get("option.model", ""))), found


def renamed(name, names, used):
    """The name with its longest prefix of whole parts among `names` replaced."""
    rules = [part for part in names if name == part or name.startswith(part + ".")]
    if not rules:
        return name
    rule = max(rules, key=len)
    used.add(rule)
    return names[rule] + name[len(rule):]


def pyg_state(checkpoint, names=None, weights="best"):
    """The weights of a checkpoint in the form of a state dict of a PyG model of the same layers, numpy arrays by name: linear maps
    turned to [out, in], attention vectors [1, heads, channels], and a count of batches beside running statistics. `names`
    renames parts for the model ({"convs.0": "conv1"}), whole parts of names. In a checkpoint of a user's
    program a GCNConv looks like a linear map: {"conv1.weight": "conv1.lin.weight"}, or `load_into`. `weights`: of the "best" epoch
    on the validation nodes, as `predict` takes them, or of the "last". Throws DataError, OSError."""
    names = dict(names or {})
    program, found = checkpoint_tensors(checkpoint, weights)
    wrapped, state, used = WRAPPED.get(program), {}, set()
    for name, tensor in found.items():
        if wrapped and wrapped.fullmatch(name.rpartition(".")[0]) and name.endswith(".weight"):
            name = name[:-len("weight")] + "lin.weight"
        place = renamed(name, names, used)
        if place in state:
            raise DataError(f"{checkpoint}: tensors: two parts would be called {place}")
        if TURNED.search(name) and tensor.ndim == 2:
            tensor = np.ascontiguousarray(tensor.T)
        elif ATTENTION.search(name) and tensor.ndim == 2:
            tensor = tensor[None]
        state[place] = tensor
    unused = sorted(set(names) - used)
    if unused:
        raise DataError(f"{checkpoint}: tensors: no part {unused[0]!r}, which names maps to {names[unused[0]]!r}; the names are "
                        + ", ".join(sorted(found)))
    for name in list(state):
        if name.endswith("running_mean"):
            state[name[:-len("running_mean")] + "num_batches_tracked"] = np.int64(0)
    return state


def load_into(model, checkpoint, names=None, weights="best"):
    """Loads the weights of a checkpoint into a PyG (torch) model of the same layers. The names and shapes of its state dict tell
    which layer is a GCNConv, and which batch norm is PyG's. Throws DataError naming a tensor that is missing, left over or of
    another shape; then the model is unchanged."""
    import torch
    model_state = model.state_dict()
    state, left = {}, pyg_state(checkpoint, names, weights)
    for name in list(left):
        part, _, last = name.rpartition(".")
        places = [name] + [f"{part}.{inner}.{last}".lstrip(".") for inner in ("lin", "module")]
        place = next((p for p in places if p in model_state), None)
        if place is None:
            if last == "num_batches_tracked":
                continue
            raise DataError(f"{checkpoint}: {name}: left over, the model has no such part")
        value = left[name]
        if tuple(model_state[place].shape) != value.shape:
            raise DataError(f"{checkpoint}: {name}: {list(value.shape)}, expected {list(model_state[place].shape)} for {place} of the model")
        state[place] = torch.from_numpy(np.array(value)).to(model_state[place].dtype)
    missing = [name for name in model_state if name not in state and not name.endswith("num_batches_tracked")]
    if missing:
        raise DataError(f"{checkpoint}: {missing[0]}: missing, the model has it {list(model_state[missing[0]].shape)}")
    model.load_state_dict(state, strict=False)
    return model


# ---- The command line ----


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


def save_arrays(found, path):
    """As npz: texts as texts, splits as split0_train, ..."""
    names = ("node_names", "graph_names", "class_names", "feature_names", "attr_names")
    flat = {key: value for key, value in found.items() if key not in ("splits", *names)}
    flat.update({f"split{k}_{part}": index for k, split in enumerate(found.get("splits", [])) for part, index in split.items()})
    flat.update({key: np.array(found[key], dtype=str) for key in names if key in found})

    with replacing(path) as beside, open(beside, "wb") as file:
        np.savez(file, **flat)


def save_dataset(source, path):
    kind = pathlib.Path(path).suffix
    if kind == ".npz":
        save_arrays(read_dataset(source), path)
    elif kind == ".pt":
        import torch
        found = to_pyg(source)
        with replacing(path) as beside:
            torch.save(found, beside)
    elif kind == ".dgl":
        import dgl
        found = to_dgl(source)
        graphs, labels = found if isinstance(found, tuple) else ([found], {})
        with replacing(path) as beside:
            dgl.save_graphs(beside, graphs, labels)
    elif kind == ".json":
        import networkx
        found = to_networkx(source)
        linked = [networkx.node_link_data(graph, edges="edges") if "edges" in networkx.node_link_data.__code__.co_varnames
                  else networkx.node_link_data(graph, link="edges") for graph in (found if isinstance(found, list) else [found])]
        text = json.dumps(linked if isinstance(found, list) else linked[0])
        with replacing(path) as beside:
            pathlib.Path(beside).write_text(text)
    else:
        raise ValueError(f"{path}: expected a name that ends in .npz, .pt, .dgl or .json")


def rule(text):
    ours, equals, theirs = text.partition("=")
    if not ours or not theirs or not equals:
        raise argparse.ArgumentTypeError(f"'{text}', expected OURS=THEIRS")
    return ours, theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="dataset|predictions|state")
    for name, source, out, text in (("dataset", "IN.h5", "OUT", "a dataset, by the end of OUT: .npz, .pt, .dgl or .json"),
                                   ("predictions", "IN.h5", "OUT.npz", "predictions, as arrays"),
                                   ("state", "CHECKPOINT.h5", "OUT", "trained weights, by the end of OUT: .safetensors, else torch's, as a PyG state dict")):
        command = commands.add_parser(name, help=text)
        command.add_argument("source", metavar=source)
        command.add_argument("out", metavar=out)
        if name == "state":
            command.add_argument("--map", type=rule, action="append", default=[], metavar="OURS=THEIRS",
                                 help="part of a name here and in the PyG model: convs.0=conv1; repeatable")
            command.add_argument("--weights", choices=("best", "last"), default="best",
                                 help="weights of the best epoch on the validation nodes, or of the last epoch (default: best)")
    args = parser.parse_args()
    try:
        if args.command == "dataset":
            save_dataset(args.source, args.out)
        elif args.command == "predictions":
            save_arrays(read_predictions(args.source), args.out)
        else:
            state = pyg_state(args.source, dict(args.map), args.weights)
            tensors = {name: np.array(value, order="C") for name, value in state.items()}
            if args.out.endswith(".safetensors"):
                from safetensors.numpy import save
                stored = save(tensors, {"format": "pt"})
                with replacing(args.out) as beside:
                    pathlib.Path(beside).write_bytes(stored)
            else:
                import torch
                tensors = {name: torch.from_numpy(value) for name, value in tensors.items()}
                with replacing(args.out) as beside:
                    torch.save(tensors, beside)
            print(f"{args.out}: {len(tensors)} tensors")
    except ImportError as error:
        sys.exit(f"{error}: expected it for this command")
    except (OSError, RuntimeError, ValueError) as error:
        text = " ".join(str(error).split())
        sys.exit(text if args.source in text or args.out in text else f"{args.source}: {text}")


if __name__ == "__main__":
    main()
