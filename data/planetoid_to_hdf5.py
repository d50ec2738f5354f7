#!/usr/bin/env python3
"""Converts a dataset of the Planetoid release (https://github.com/kimiyoung/planetoid, folder data/) to Adjoint's
HDF5 schema (data/README.md). The release is Python pickles: convert only files that you trust.

    planetoid_to_hdf5.py --from FOLDER --name cora|citeseer|pubmed --out cora.h5

Needs h5py, numpy and scipy."""
import argparse
import pathlib
import pickle
import sys

import h5py
import numpy as np
import scipy.sparse as sp

VALIDATION = 500


def load(folder, name, part):
    with open(folder / f"ind.{name}.{part}", "rb") as f:
        return pickle.load(f, encoding="latin1")


def nodes(folder, name):
    """Features, labels and test nodes. The release has the labelled and unlabelled nodes in order (allx), then the test
    nodes shuffled (tx, by test.index). Citeseer's test nodes leave gaps: isolated nodes without features, class 0."""
    allx, ally, tx, ty = (load(folder, name, part) for part in ("allx", "ally", "tx", "ty"))
    test = np.loadtxt(folder / f"ind.{name}.test.index", dtype=np.int64)
    known = allx.shape[0]
    if test.min() != known:
        raise ValueError(f"test nodes start at {test.min()}, expected {known}")
    row = np.concatenate([np.arange(known), test])
    stacked = sp.vstack([allx, tx]).tocoo()
    count = test.max() + 1
    x = sp.csr_matrix((stacked.data, (row[stacked.row], stacked.col)), shape=(count, stacked.shape[1]))
    y = np.zeros(count, np.int64)
    y[row] = np.vstack([ally, ty]).argmax(axis=1)
    return x, y, np.sort(test)


def edges(folder, name, count):
    """Both directions of every edge once, without self-loops, by target and then source."""
    graph = load(folder, name, "graph")
    one_way = np.array([(a, b) for a, neighbours in graph.items() for b in neighbours], dtype=np.int64)
    both = np.concatenate([one_way, one_way[:, ::-1]])
    keys = np.unique(both[both[:, 0] != both[:, 1]] @ np.array([count, 1]))
    return keys % count, keys // count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="folder", type=pathlib.Path, required=True, help="where ind.NAME.* lie")
    parser.add_argument("--name", required=True, help="cora, citeseer or pubmed")
    parser.add_argument("--out", required=True, help="the HDF5 file to write")
    args = parser.parse_args()
    try:
        x, y, test = nodes(args.folder, args.name)
        train = len(load(args.folder, args.name, "y"))
        src, dst = edges(args.folder, args.name, len(y))
    except (OSError, ValueError, pickle.UnpicklingError) as error:
        sys.exit(f"{args.folder}: {error}")
    x.sort_indices()
    classes = load(args.folder, args.name, "ally").shape[1]
    with h5py.File(args.out, "w") as f:
        f.attrs.update({"format": "adjoint.graph", "version": 1, "name": args.name, "num_nodes": len(y),
                        "num_classes": classes, "task": "node_class", "undirected": 1})
        options = {"compression": "gzip", "shuffle": True}
        f.create_dataset("edges/src", data=src.astype(np.int32), **options)
        f.create_dataset("edges/dst", data=dst.astype(np.int32), **options)
        f.create_dataset("nodes/x_indptr", data=x.indptr.astype(np.int64), **options)
        f.create_dataset("nodes/x_indices", data=x.indices.astype(np.int32), **options)
        f.create_dataset("nodes/x_data", data=x.data.astype(np.float32), **options)
        f["nodes"].attrs["x_cols"] = x.shape[1]
        f["nodes/y"] = y.astype(np.int32)
        f["splits/train"] = np.arange(train, dtype=np.int32)
        f["splits/val"] = np.arange(train, train + VALIDATION, dtype=np.int32)
        f["splits/test"] = test.astype(np.int32)
    print(f"{args.out}: {len(y)} nodes, {len(src)} directed edges, {x.shape[1]} features, {classes} classes")


if __name__ == "__main__":
    main()
