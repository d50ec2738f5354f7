#!/usr/bin/env python3
"""Computes an integer model only from its file, with h5py and numpy by docs/quantized.md, and compares with infer_qgnn.
Needs ADJOINT_BIN_DIR; skips, saying so, where h5py is missing."""
import json
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
    sys.exit(bool(os.environ.get("CI")))

BIN = pathlib.Path(os.environ.get("ADJOINT_BIN_DIR", "build/bin"))
NODES, FEATURES, CLASSES = 300, 21, 4


def integers(group):
    """int64 [inner, outer] of a bit tensor."""
    bits, inner = group.attrs["bits"], group.attrs["inner"]
    return sum(np.unpackbits(group["planes"][p], axis=1, bitorder="little", count=inner).astype(np.int64) << p
               for p in range(bits)).T


class Model:
    def __init__(self, path):
        self.file = h5py.File(path)
        self.bits = {name: int(group.attrs["bits"]) for name, group in self.file["weights"].items()}

    def entry(self, name):
        return self.file[f"tensors/{name}"][:].astype(np.float64)

    def quantised(self, x, name, bits):
        """Integers, and the values they represent."""
        scale, zero = self.entry(f"{name}.scale"), self.entry(f"{name}.zero")
        q = np.clip(np.rint(x / scale + zero), 0, 2**bits - 1)
        return scale * (q - zero)

    def linear(self, x, name, bits):
        group = self.file[f"weights/{name}"]
        w = group["scale"][:] * (integers(group) - group["zero"][:])
        if f"{name}.input_norm.scale" in self.file["tensors"]:
            x = x * self.entry(f"{name}.input_norm.scale") + self.entry(f"{name}.input_norm.shift")
        y = self.quantised(x, f"{name}.input", bits) @ w
        if f"{name}.scale" in self.file["tensors"]:
            y = y * self.entry(f"{name}.scale")
        return y + self.entry(f"{name}.shift")


class IntegerFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.data, self.checkpoint = self.folder / "data.h5", self.folder / "c.h5"
        self.model, self.out = self.folder / "q.h5", self.folder / "p.h5"
        random = np.random.default_rng(1)
        label = random.integers(0, CLASSES, NODES)
        src, dst = random.integers(0, NODES, (2, 4 * NODES))
        self.src, self.dst = np.concatenate([src, dst]), np.concatenate([dst, src])
        self.x = (random.normal(size=(NODES, FEATURES)) + 2 * np.eye(CLASSES, FEATURES)[label]).astype(np.float32)
        order = random.permutation(NODES).astype(np.int32)
        with h5py.File(self.data, "w") as f:
            f.attrs.update({"format": "adjoint.graph", "version": 1, "name": "drawn", "task": "node_class",
                            "num_nodes": NODES, "num_classes": CLASSES, "undirected": 0})
            f["edges/src"], f["edges/dst"] = self.src.astype(np.int32), self.dst.astype(np.int32)
            f["nodes/x"], f["nodes/y"] = self.x, label.astype(np.int32)
            f["splits/train"], f["splits/val"], f["splits/test"] = order[:150], order[150:200], order[200:]

    def run_program(self, *words):
        result = subprocess.run([BIN / words[0], *map(str, words[1:])], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        self.assertEqual((result.returncode, result.stderr), (0, ""), words)

    def sums(self, x, mean):
        """Over in-edges and a self-loop: a mean's only where there is none."""
        loops = np.arange(NODES)
        keep = self.src != self.dst if mean else np.ones(len(self.src), bool)
        src, dst = np.concatenate([self.src[keep], loops]), np.concatenate([self.dst[keep], loops])
        total = np.zeros((NODES, x.shape[1]))
        np.add.at(total, dst, x[src])
        return total / np.bincount(dst, minlength=NODES)[:, None] if mean else total

    def computed(self, kind, bits):
        model, x = Model(self.model), self.x.astype(np.float64)
        for layer in range(2):
            x = self.sums(model.quantised(x, f"inputs.{layer}", bits), kind == "gcn")
            x = model.linear(x, f"sums.{layer}", bits)
            if kind == "gin":
                x = model.linear(np.maximum(x, 0), f"hidden.{layer}", bits)
            if layer == 0:
                x = np.maximum(x, 0)
        odds = np.exp(x - x.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def test_computed_from_the_file(self):
        for kind, norm in (("gcn", "none"), ("gcn", "batch"), ("gcn", "sums"), ("gin", "batch")):
            with self.subTest(kind=kind, norm=norm):
                self.run_program("train_qgnn", self.data, "--quiet", "--model", kind, "--norm", norm, "--bits-activations", 5, "--bits-weights", 3,
                                 "--epochs", 30, "--features-scaling", "none", "--checkpoint", self.checkpoint)
                self.run_program("infer_qgnn", self.checkpoint, self.data, "--quiet", "--json", "--repeats", 1, "--write", self.model, "--out", self.out)
                with h5py.File(self.out) as f:
                    predictions = f["nodes/probability"][:]
                differ = np.abs(predictions - self.computed(kind, 5)).max(axis=1) > 1e-4
                self.assertLess(differ.mean(), 0.1)  # float64 rounds some sums to another integer
                with h5py.File(self.model) as f:
                    self.assertEqual(f.attrs["format"], "adjoint.integer_model")
                    self.assertEqual(set(f["weights"]), {f"{name}.{layer}" for layer in range(2) for name in ("sums", "hidden")[:1 + (kind == "gin")]})

    def test_split_and_directions_are_the_checkpoints(self):
        """What a training says of its split and its edges, infer_qgnn says from the checkpoint and from the file alike."""
        with h5py.File(self.data, "r+") as f:
            for k in (1, 2):
                order = np.roll(np.arange(NODES), 100 * k)
                for part, index in zip(("train", "val", "test"), np.split(order, [150, 200])):
                    f[f"splits/{k}/{part}"] = index
        one_way = self.folder / "one_way.h5"
        with h5py.File(self.data) as f, h5py.File(one_way, "w") as g:
            g.attrs.update(f.attrs)
            for name in ("nodes", "splits"):
                f.copy(name, g)
            g["edges/src"], g["edges/dst"] = np.arange(NODES - 1), np.arange(1, NODES)

        def inferred(model, data):
            words = [BIN / "infer_qgnn", model, data, "--json", "--repeats", "1"]
            ran = subprocess.run(words, capture_output=True, text=True, check=True)
            return ran.stderr, json.loads(ran.stdout.splitlines()[-1])["test_acc"]

        for split, trained in (("all", 1), ("2", 2), ("0", 0)):
            self.run_program("train_qgnn", self.data, "--quiet", "--bits", 4, "--epochs", 3, "--split", split, "--runs", 2, "--checkpoint", self.checkpoint)
            self.run_program("infer_qgnn", self.checkpoint, "--write", self.model, "--quiet")
            with self.subTest(split=split):
                reported, accuracy = inferred(self.checkpoint, self.data)
                self.assertIn(f"split {trained} of 0 to 2", reported)
                reported, of_file = inferred(self.model, self.data)
                self.assertIn(f"split {trained} of 0 to 2", reported)
                self.assertEqual(of_file, accuracy)
                for model in (self.checkpoint, self.model):
                    self.assertIn("a directed graph, train_qgnn", inferred(model, one_way)[0])

    def test_sizes_without_values_ask_for_no_memory(self):
        self.run_program("train_qgnn", self.data, "--quiet", "--bits", 4, "--epochs", 1, "--checkpoint", self.checkpoint)
        self.run_program("infer_qgnn", self.checkpoint, "--write", self.model, "--quiet")
        with h5py.File(self.model, "r+") as f:
            f["facts"].attrs["option.hidden"] = "1048576"
            for name, shape in (("weights/sums.0/planes", (4, 1 << 20, 3)), ("tensors/sums.0.shift", (1 << 20,))):
                dtype = f[name].dtype
                del f[name]
                f.create_dataset(name, shape, dtype, chunks=(1,) * (len(shape) - 1) + (3,))
        result = subprocess.run([BIN / "infer_qgnn", self.model, self.data], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{self.model}: weights/sums.0/planes: claims 4 x 1048576 x 3 elements that were never written", result.stderr)


if __name__ == "__main__":
    unittest.main()
