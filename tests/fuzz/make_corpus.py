#!/usr/bin/env python3
"""Writes tests/fuzz/corpus/: small files of the schema that use what HDF5 offers beyond Adjoint's own writer (the
newest file format, chunk indices of every kind, filters, strings of every kind, links, enumerations), as starting
points for mutation. Needs h5py and numpy."""
import pathlib

import h5py
import numpy as np

FOLDER = pathlib.Path(__file__).parent / "corpus"


def header(f, name, task="node_class", fixed=False):
    text = (lambda s: np.bytes_(s)) if fixed else (lambda s: s)
    f.attrs["format"] = text("adjoint.graph")
    f.attrs["version"] = np.int32(1)
    f.attrs["name"] = text(name)
    f.attrs["num_nodes"] = np.int16(40)
    f.attrs["num_classes"] = np.uint64(3)
    f.attrs["task"] = text(task)
    f.attrs["undirected"] = np.bool_(False)


def content(f, rng, **options):
    src, dst = rng.integers(0, 40, 150), rng.integers(0, 40, 150)
    f.create_dataset("edges/src", data=src.astype(np.int32), **options)
    f.create_dataset("edges/dst", data=dst.astype(np.int64), **options)
    f.create_dataset("edges/attr", data=rng.random((150, 2), dtype=np.float32))
    order = rng.permutation(40).astype(np.int32)
    f["nodes/y"] = rng.integers(0, 3, 40).astype(np.int32)
    f["splits/train"], f["splits/val"], f["splits/test"] = order[:10], order[10:20], order[20:]


def main():
    FOLDER.mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    with h5py.File(FOLDER / "latest.h5", "w", libver="latest") as f:
        header(f, "latest")
        content(f, rng, chunks=(16,), maxshape=(None,), compression="gzip", shuffle=True)
        f.create_dataset("nodes/x", data=rng.random((40, 5), dtype=np.float32), chunks=(7, 2), maxshape=(None, None),
                         fletcher32=True)
    with h5py.File(FOLDER / "earliest.h5", "w", libver="earliest") as f:
        header(f, "earliest", fixed=True)
        content(f, rng, chunks=(16,), compression="gzip")
        f["nodes/x_indptr"] = np.arange(41, dtype=np.int64)
        f["nodes/x_indices"] = rng.integers(0, 9, 40).astype(np.int32)
        f["nodes/x_data"] = np.ones(40, dtype=">f4")
        f["nodes"].attrs["x_cols"] = 9
        f["splits/1"] = f["splits"]  # a cycle
        f.move("nodes/y", "labels")
        f["nodes/y"] = h5py.SoftLink("/labels")
    with h5py.File(FOLDER / "many.h5", "w", libver=("v108", "v110")) as f:
        header(f, "many", task="graph_regression")
        content(f, rng, chunks=(64,), scaleoffset=0)
        f["nodes/x"] = rng.random((40, 5)).astype(np.float16)
        f["edges/dst"][...] = f["edges/src"][...]  # within graphs
        f["graphs/offsets"] = np.array([0] + sorted(rng.integers(0, 40, 39)) + [40])
        f["graphs/y"] = rng.random((40, 2), dtype=np.float32)
        for k in range(1, 13):
            g = f"splits/{k}"
            f[f"{g}/train"], f[f"{g}/val"], f[f"{g}/test"] = [np.array([i], dtype=np.int32) for i in range(3)]
        for k in range(40):
            f["nodes"].attrs[f"note{k}"] = f"text {k}" if k % 2 else np.arange(k)


if __name__ == "__main__":
    main()
