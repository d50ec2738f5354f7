"""--node-features trains as a file does whose nodes/x holds the features that numpy computes, with every program,
loader and output; a checkpoint keeps the choice."""

import json
import os
import subprocess
import tempfile

import h5py
import numpy as np

BIN = os.environ["ADJOINT_BIN_DIR"]
NODES, STEPS = 60, 5
KINDS = ("constant", "degree", "one-hot-degree", "random-walk", "learned")
rng = np.random.default_rng(5)


def run(program, *options):
    return subprocess.run([os.path.join(BIN, program), *map(str, options)], capture_output=True, text=True)


def succeeds(program, *options):
    ran = run(program, *options)
    assert ran.returncode == 0, (program, options, ran.stderr)
    return ran


def refused(words, program, *options):
    ran = run(program, *options)
    assert ran.returncode in (1, 2) and all(word in ran.stderr for word in words), (words, ran.stderr)


def graph():
    src = rng.integers(0, NODES - 2, 200)  # two nodes without out-edges
    return src, rng.integers(0, NODES, 200)


def write(path, edges, x=None, graphs=False):
    with h5py.File(path, "w") as f:
        f.attrs.update({"format": "adjoint.graph", "version": 1, "name": "few", "num_nodes": NODES, "num_classes": 2,
                        "task": "graph_class" if graphs else "node_class"})
        f["edges/src"], f["edges/dst"] = (np.asarray(part, np.int32) for part in edges)
        if x is not None:
            f["nodes/x"] = x.astype(np.float32)
        count = NODES // 4 if graphs else NODES
        if graphs:
            f["graphs/offsets"] = np.arange(0, NODES + 1, 4)
            f["graphs/y"] = np.arange(count, dtype=np.int32) % 2
        else:
            f["nodes/y"] = np.arange(count, dtype=np.int32) // 3 % 2
        order = np.arange(count, dtype=np.int32)
        for part, index in zip(("train", "val", "test"), np.split(order, [count // 2, count * 3 // 4])):
            f["splits/" + part] = index


def features(kind, src, dst):
    degree = np.bincount(dst, minlength=NODES)
    if kind == "constant":
        return np.ones((NODES, 1))
    if kind == "degree":
        return degree[:, None]
    if kind == "one-hot-degree":
        return np.eye(degree.max() + 1)[degree]
    if kind == "learned":
        return np.eye(NODES)
    step = np.zeros((NODES, NODES))
    np.add.at(step, (src, dst), 1.0)
    step /= np.maximum(1, step.sum(1, keepdims=True))
    return np.stack([np.diag(np.linalg.matrix_power(step, k)) for k in range(1, STEPS + 1)], 1)


def probabilities(path):
    with h5py.File(path) as f:
        found = []
        f.visititems(lambda name, item: found.append(item[()]) if name.endswith("probability") else None)
    assert len(found) == 1, path
    return found[0]


def options_of(kind):
    return ["--node-features", kind] + (["--walk-steps", STEPS] if kind == "random-walk" else [])


with tempfile.TemporaryDirectory() as folder:
    def place(name):
        return os.path.join(folder, name)

    src, dst = graph()
    bare, full, other = place("bare.h5"), place("full.h5"), place("other.h5")
    write(bare, (src, dst))
    write(other, graph())
    few = ["--epochs", 3, "--dropout", 0, "--hidden", 4, "--features-scaling", "none", "--quiet"]
    programs = [("gcn", []), ("gcn", ["--loader", "cluster"]), ("gcn", ["--loader", "saint"]), ("gcn", ["--inductive"]),
                ("sage", []), ("sage", ["--loader", "neighbor", "--batch-size", 8]), ("gat", []),
                # A batch norm turns the rounding of gradients that are 0, of biases before it, into steps of Adam.
                ("gin", ["--norm", "none"]),
                ("agnn", []), ("transformer", []), ("qgnn", ["--bits", 32])]
    for kind in KINDS:
        write(full, (src, dst), features(kind, src, dst))
        for program, more in programs:
            if (program, kind) == ("qgnn", "learned"):
                refused(["--node-features learned", "quantised"], "train_qgnn", bare, *few, *options_of(kind))
                continue
            generated, read = place("generated.h5"), place("read.h5")
            succeeds("train_" + program, bare, *few, *more, *options_of(kind), "--predict", generated)
            succeeds("train_" + program, full, *few, *more, "--predict", read)
            apart = np.abs(probabilities(generated) - probabilities(read)).max()
            assert apart < 1e-4, (program, more, kind, apart)

    # A checkpoint keeps the choice: prediction, resuming, another graph.
    for kind in KINDS:
        state, generated, out = place("state.h5"), place("generated.h5"), place("out.h5")
        common = [bare, "--hidden", 4, *options_of(kind)]
        whole = succeeds("train_sage", *common, "--epochs", 6, "--predict", generated)
        assert f"node features: {kind}, {features(kind, src, dst).shape[1]} column" in whole.stderr, whole.stderr
        assert "replace" not in whole.stderr
        succeeds("train_sage", *common, "--epochs", 3, "--checkpoint", state, "--quiet")
        succeeds("train_sage", *common, "--epochs", 6, "--resume", state, "--checkpoint", state, "--predict", out,
                 "--quiet")
        assert (probabilities(generated) == probabilities(out)).all(), kind
        succeeds("predict", bare, "--checkpoint", state, "--out", out, "--quiet")
        assert np.abs(probabilities(generated) - probabilities(out)).max() < 1e-6, kind
        if kind == "learned":
            refused(["other.h5", "another graph", "--node-features degree"], "predict", other, "--checkpoint", state,
                    "--out", out)
        elif kind != "one-hot-degree":  # it may lack columns
            succeeds("predict", other, "--checkpoint", state, "--out", out, "--quiet")
        refused(["--node-features " + kind, "this run has " + ("degree" if kind == "constant" else "constant")],
                "train_sage", bare, "--hidden", 4, "--epochs", 6, "--resume", state, "--node-features",
                "degree" if kind == "constant" else "constant")

    # Degrees of a batch are those of the whole graph, also in predictions layer by layer.
    state, out = place("state.h5"), place("out.h5")
    succeeds("train_sage", bare, "--node-features", "degree", "--checkpoint", state, "--epochs", 2, "--quiet")
    succeeds("predict", bare, "--checkpoint", state, "--out", place("a.h5"), "--quiet")
    succeeds("predict", bare, "--checkpoint", state, "--out", out, "--evaluation", "layers", "--batch-size", 7, "--quiet")
    assert np.abs(probabilities(out) - probabilities(place("a.h5"))).max() < 1e-5

    # Links and graphs.
    for kind in KINDS:
        linked = succeeds("train_link", bare, "--epochs", 2, "--node-features", kind, "--json")
        assert json.loads(linked.stdout.splitlines()[-1])["node_features"] == kind, linked.stdout
    many = place("many.h5")
    inner = rng.integers(0, NODES // 4, 100) * 4
    write(many, (inner + rng.integers(0, 4, 100), inner + rng.integers(0, 4, 100)), graphs=True)
    for program in ("graph_gin", "graph_qgin"):
        short = [many, "--epochs", 1, "--iterations", 2, "--quiet", "--predict", place("graphs.h5")]
        for kind in KINDS[:-1]:
            succeeds("train_" + program, *short, "--node-features", kind)
        refused(["--node-features learned"], "train_" + program, *short, "--node-features", "learned")

    # Checkpoints from before the option, and those that name one-hot degrees `degree`.
    old, out = place("old.h5"), place("out.h5")
    whole = [full, "--hidden", 4, "--quiet"]
    succeeds("train_sage", *whole, "--epochs", 6, "--predict", place("six.h5"))
    succeeds("train_sage", *whole, "--epochs", 3, "--checkpoint", old)
    with h5py.File(old, "r+") as f:
        for option in ("node-features", "walk-steps"):
            del f["facts"].attrs["option." + option]
    succeeds("predict", full, "--checkpoint", old, "--out", out, "--quiet")
    refused(["--node-features file", "degree"], "train_sage", *whole, "--epochs", 6, "--resume", old, "--node-features",
            "degree")
    succeeds("train_sage", *whole, "--epochs", 6, "--resume", old, "--predict", out)
    assert (probabilities(out) == probabilities(place("six.h5"))).all()
    succeeds("train_graph_gin", many, "--epochs", 2, "--iterations", 2, "--quiet", "--node-features", "one-hot-degree",
             "--checkpoint", old, "--predict", place("six.h5"))
    with h5py.File(old, "r+") as f:
        f["facts"].attrs["option.node-features"] = "degree"
    succeeds("predict", many, "--checkpoint", old, "--out", out, "--quiet")
    assert np.abs(probabilities(out) - probabilities(place("six.h5"))).max() < 1e-6

    # Degrees tell nodes apart without options: divided by their own sums, all would be 1.
    degree_only = place("degrees.h5")
    write(degree_only, (src, dst), features("degree", src, dst))
    few_standard = ["--epochs", 3, "--dropout", 0, "--quiet", "--norm", "none", "--predict"]
    succeeds("train_gin", degree_only, *few_standard, place("a.h5"), "--features-scaling", "standard")
    succeeds("train_gin", bare, *few_standard, place("b.h5"), "--node-features", "degree")
    succeeds("train_gin", bare, *few_standard, place("c.h5"), "--node-features", "constant")
    assert np.abs(probabilities(place("a.h5")) - probabilities(place("b.h5"))).max() < 1e-5
    assert np.abs(probabilities(place("a.h5")) - probabilities(place("c.h5"))).max() > 1e-3

    # What replaces features says so; what cannot be is refused with the option that helps.
    replaced = succeeds("train_gcn", full, "--epochs", 1, "--node-features", "degree")
    assert f"they replace the {NODES} of " in replaced.stderr, replaced.stderr
    refused(["nodes/x: missing", "--node-features constant, degree, one-hot-degree, random-walk or learned"],
            "train_gcn", bare)
    refused(["--walk-steps: requires --node-features random-walk"], "train_gcn", bare, "--walk-steps", 3)
    refused(["--features file", "--node-features degree"], "train_sage", bare, "--loader", "neighbor", "--features",
            "file", "--node-features", "degree")
    refused(["--node-features"], "train_gcn", bare, "--node-features", "pagerank")
