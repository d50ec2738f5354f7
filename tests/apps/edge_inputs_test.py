"""Edge weights and attributes of a file: every training program uses them or says that it does not. Outputs of trained models
are held against forward passes in numpy, by the equations of PyG's layers."""

import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"MESSAGE: skipped: {missing} (python3-h5py, python3-numpy)")
    sys.exit(bool(os.environ.get("CI")))

BIN = os.environ["ADJOINT_BIN_DIR"]
WEIGHT, ATTR = "edges/weight", "edges/attr"
NODES, EDGES = 60, 400


def run(program, *words, status=0):
    ran = subprocess.run([os.path.join(BIN, program), *words], capture_output=True, text=True)
    assert ran.returncode == status, (program, words, ran.returncode, ran.stdout, ran.stderr)
    return ran.stderr + ran.stdout


def expect(text, *parts):
    for part in parts:
        assert part in text, (part, text)


def write(path, weight=None, attr=None, graphs=False, seed=0):
    """Random features, edges with loops and parallel ones; of graphs, twelve of five nodes each."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, NODES, EDGES), rng.integers(0, NODES, EDGES)
    if graphs:
        src = dst // 5 * 5 + src % 5
    with h5py.File(path, "w") as f:
        f.attrs.update({"format": "adjoint.graph", "version": 1, "name": "edges", "num_nodes": NODES, "num_classes": 3,
                        "task": "graph_class" if graphs else "node_class", "undirected": 0})
        f["edges/src"], f["edges/dst"] = src.astype(np.int32), dst.astype(np.int32)
        f["nodes/x"] = rng.normal(size=(NODES, 4)).astype(np.float32)
        if graphs:
            f["graphs/offsets"] = np.arange(0, NODES + 1, 5)
            f["graphs/y"] = (np.arange(12) % 3).astype(np.int32)
        else:
            f["nodes/y"] = (np.arange(NODES) % 3).astype(np.int32)
        parts = np.split(rng.permutation(12 if graphs else NODES), [6, 9] if graphs else [30, 45])
        for name, part in zip(("train", "val", "test"), parts):
            f["splits/" + name] = np.sort(part).astype(np.int32)
        if weight is not None:
            f[WEIGHT] = np.asarray(weight, np.float32)
        if attr is not None:
            f[ATTR] = np.asarray(attr, np.float32)
    return path


def random_weight(seed=5):
    return np.exp(np.random.default_rng(seed).normal(size=EDGES))


def random_attr(seed=6, columns=3):
    return np.random.default_rng(seed).normal(size=(EDGES, columns))


def course(path):
    """Training losses by epoch, as text."""
    with open(path, encoding="utf-8") as f:
        return f.read()


def train(program, data, *words, status=0):
    output = run(program, data, "--epochs", "2", "--seed", "1", "--metrics", "course.csv", *words, status=status)
    return output, None if status else course("course.csv")


# Each model, and whether it uses weights and attributes.
MODELS = [("train_gcn", "gcn", True, False), ("train_sage", "sage", False, False), ("train_gin", "gin", False, False),
          ("train_gin", "gine", False, True), ("train_gat", "gat", False, True), ("train_gat", "gatv2", False, True),
          ("train_transformer", "transformer", False, True), ("train_agnn", "agnn", False, False),
          ("train_qgnn", "gcn", False, False), ("train_qgnn", "gin", False, False), ("train_link", "gcn", True, False),
          ("train_link", "sage", False, False), ("train_link", "gat", False, True),
          ("train_graph_gin", "graph-gin", False, False), ("train_graph_gin", "graph-gine", False, True),
          ("train_graph_qgin", "graph-qgin", False, False)]
SEVERAL = {"train_gin", "train_gat", "train_qgnn", "train_link", "train_graph_gin"}
LOADERS = {"none": (), "inductive": ("--inductive",),
           "neighbor": ("--loader", "neighbor", "--fanouts", "3", "--batch-size", "16"),
           "cluster": ("--loader", "cluster", "--parts", "4", "--parts-per-batch", "2"),
           "saint": ("--loader", "saint", "--budget", "10", "--coverage", "2")}


def loaders_of(program):
    if "graph" in program:
        return ["none"]
    if program == "train_link":
        return ["none", "neighbor"]
    return [name for name in LOADERS if name != "neighbor" or program not in ("train_agnn", "train_qgnn")]


def every_model_uses_or_says():
    """Each x {weights, attributes} x each loader, alone and together: other digits than without, or the line."""
    for graphs in (False, True):
        w, a = random_weight(), random_attr()
        write("both.h5", w, a, graphs)
        for program, model, weights, attributes in MODELS:
            if ("graph" in program) != graphs:
                continue
            words = ("--model", model) if program in SEVERAL else ()
            for loader in loaders_of(program):
                words_of_loader = words + LOADERS[loader]
                seen = {}
                for use_w in ("use", "ignore"):
                    for use_a in ("use", "ignore"):
                        if model.endswith("gine") and use_a == "ignore":
                            continue
                        text, seen[use_w, use_a] = train(program, "both.h5", "--edge-weights", use_w,
                                                         "--edge-attributes", use_a, *words_of_loader)
                        place = (program, model, loader, use_w, use_a, text)
                        assert ("edges/weight is not used by " + model in text) == (use_w == "use" and not weights), place
                        assert ("edges/weight: used by " + model in text) == (use_w == "use" and weights), place
                        assert ("edges/attr is not used by " + model in text) == (use_a == "use" and not attributes), place
                        assert (f"edges/attr: 3 columns, used by {model}" in text) == (use_a == "use" and attributes), place
                place = (program, model, loader)
                for use_a in ("use", "ignore"):
                    if ("use", use_a) in seen:
                        assert (seen["use", use_a] != seen["ignore", use_a]) == weights, place
                for use_w in ("use", "ignore"):
                    if (use_w, "ignore") in seen:
                        assert (seen[use_w, "use"] != seen[use_w, "ignore"]) == attributes, place


def ignored_is_as_absent():
    w, a = random_weight(), random_attr()
    write("both.h5", w, a)
    write("none.h5")
    write("attr.h5", None, a)
    ignore = ("--edge-weights", "ignore", "--edge-attributes", "ignore")
    for program in ("train_gcn", "train_gat", "train_sage"):
        for loader in loaders_of(program):
            text, without = train(program, "none.h5", *LOADERS[loader])
            assert "edges/" not in text, text
            text, ignoring = train(program, "both.h5", *ignore, *LOADERS[loader])
            assert "edges/" not in text, text
            assert without == ignoring, (program, loader)
    # Attributes follow their edges: in another order of the same edges only rounding differs.
    text, first = train("train_transformer", "attr.h5")
    _, permuted = train("train_transformer", write("permuted.h5", None, a[np.random.default_rng(1).permutation(EDGES)]))
    assert first != permuted
    _, zeros = train("train_transformer", write("zeros.h5", None, np.zeros_like(a)))
    assert zeros not in (first, permuted)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def weighted(dst, score):
    """Softmax of the scores [M, H] over the in-edges of each node."""
    e = np.exp(score - score.max())
    total = np.zeros((NODES, score.shape[1]))
    np.add.at(total, dst, e)
    return e / total[dst]


def summed(dst, messages):
    total = np.zeros((NODES, *messages.shape[1:]))
    np.add.at(total, dst, messages)
    return total


def with_loops(src, dst, attr):
    """PyG's remove_self_loops, and add_self_loops with fill_value "mean"."""
    keep = src != dst
    src, dst, attr = src[keep], dst[keep], attr[keep]
    count = np.bincount(dst, minlength=NODES)
    fill = summed(dst, attr) / np.maximum(count, 1)[:, None]
    nodes = np.arange(NODES)
    return np.r_[src, nodes], np.r_[dst, nodes], np.r_[attr, fill]


def gat(s, x, src, dst, attr, heads, last, version):
    src, dst, attr = with_loops(src, dst, attr)
    out = s["bias"].shape[0] if last else s["bias"].shape[0] // heads
    split = lambda y: y.reshape(len(y), heads, out)
    leaky = lambda y: np.where(y > 0, y, 0.2 * y)
    edges = split(attr @ s["lin_edge.weight"])
    if version == 1:
        h = split(x @ s["lin.weight"])
        score = leaky((h * s["att_src"]).sum(2)[src] + (h * s["att_dst"]).sum(2)[dst] + (edges * s["att_edge"]).sum(2))
    else:
        h, right = (split(x @ s[f"lin_{side}.weight"] + s[f"lin_{side}.bias"]) for side in ("l", "r"))
        score = (leaky(h[src] + right[dst] + edges) * s["att"]).sum(2)
    y = summed(dst, weighted(dst, score)[:, :, None] * h[src])
    return (y.mean(1) if last else y.reshape(NODES, -1)) + s["bias"]


def transformer(s, x, src, dst, attr, heads, last):
    lin = lambda name, y: y @ s[f"{name}.weight"] + s.get(f"{name}.bias", 0.0)
    split = lambda y: y.reshape(len(y), heads, -1)
    query, key, value = (split(lin("lin_" + name, x)) for name in ("query", "key", "value"))
    edges = split(lin("lin_edge", attr))
    score = (query[dst] * (key[src] + edges)).sum(2) / np.sqrt(query.shape[2])
    y = summed(dst, weighted(dst, score)[:, :, None] * (value[src] + edges))
    return (y.mean(1) if last else y.reshape(NODES, -1)) + lin("lin_skip", x)


def mlp(s, x):
    relu = lambda y: np.maximum(y, 0.0)
    return relu(x @ s["nn.lins.0.weight"] + s["nn.lins.0.bias"]) @ s["nn.lins.1.weight"] + s["nn.lins.1.bias"]


def gine(s, x, src, dst, attr):
    messages = np.maximum(x[src] + attr @ s["lin.weight"] + s["lin.bias"], 0.0)
    return mlp(s, (1.0 + s["eps"]) * x + summed(dst, messages))


def gcn(s, x, src, dst, weight):
    """PyG's gcn_norm; of several loops of a node the last counts."""
    loops = np.ones(NODES)
    loops[dst[src == dst]] = weight[src == dst]
    keep = src != dst
    src, dst, weight = np.r_[src[keep], np.arange(NODES)], np.r_[dst[keep], np.arange(NODES)], np.r_[weight[keep], loops]
    root = 1.0 / np.sqrt(summed(dst, weight))
    return summed(dst, (root[src] * weight * root[dst])[:, None] * (x @ s["weight"])[src]) + s["bias"]


def layers_of(path):
    """The best weights by layer, float64."""
    with h5py.File(path) as f:
        best = [{}, {}]

        def visit(name, item):
            parts = name.split(".")
            if isinstance(item, h5py.Dataset) and parts[0] == "tensors/best" and parts[1] == "convs":
                best[int(parts[2])][".".join(parts[3:])] = item[()].astype(np.float64)

        f.visititems(visit)
    assert all(best), best
    return best


def outputs_follow_the_equations():
    elu = lambda y: np.where(y > 0, y, np.expm1(y))
    relu = lambda y: np.maximum(y, 0.0)
    dropless = ("--dropout", "0", "--features-scaling", "none")
    heads = ("--heads", "2", "--hidden", "5", "--attention-dropout", "0")
    no_norm = ("--norm", "none")
    data = write("whole.h5", random_weight(), random_attr())
    with h5py.File(data) as f:
        x, src, dst = f["nodes/x"][()].astype(float), f["edges/src"][()], f["edges/dst"][()]
        weight, attr = f[WEIGHT][()].astype(float), f[ATTR][()].astype(float)
    both = np.c_[attr, weight]
    as_attribute = ("--edge-weights", "attribute")
    cases = [
        ("train_gat", heads, attr, elu),
        ("train_gat", heads + ("--model", "gatv2"), attr, elu),
        ("train_gat", heads + as_attribute, both, elu),
        ("train_transformer", heads + no_norm, attr, relu),
        ("train_transformer", heads + no_norm + as_attribute, both, relu),
        ("train_gin", ("--model", "gine", "--hidden", "7") + no_norm, attr, relu),
        ("train_gin", ("--model", "gine", "--hidden", "7", "--edge-attributes", "ignore") + no_norm + as_attribute,
         weight[:, None], relu),
        ("train_gcn", ("--hidden", "5"), weight, relu),
    ]
    for program, words, edges, activation in cases:
        for loader in ("none", "neighbor"):
            run(program, data, "--epochs", "3", "--checkpoint", "trained.h5", *dropless, *words, *LOADERS[loader])
            first, last = layers_of("trained.h5")
            if program == "train_gat":
                version = 2 if "gatv2" in words else 1
                layer = lambda s, h, last: gat(s, h, src, dst, edges, 1 if last else 2, last, version)
            elif program == "train_transformer":
                layer = lambda s, h, last: transformer(s, h, src, dst, edges, 2, last)
            elif program == "train_gin":
                layer = lambda s, h, last: gine(s, h, src, dst, edges)
            else:
                layer = lambda s, h, last: gcn(s, h, src, dst, edges)
            expected = softmax(layer(last, activation(layer(first, x, False)), True))
            methods = ["graph"] if program == "train_gcn" else ["graph", "layers"]
            for method in methods:
                run("predict", "--checkpoint", "trained.h5", "--data", data, "--out", "out.h5", "--evaluation", method)
                with h5py.File("out.h5") as f:
                    found = f["nodes/probability"][()]
                worst = np.abs(found - expected).max()
                assert worst < 1e-5, (program, words, loader, method, worst)


def files_to_predict_must_match():
    a = random_attr()
    data = write("both.h5", random_weight(), a)
    train("train_gat", data, "--checkpoint", "gat.h5")
    out = ("--out", "out.csv")
    predict = lambda checkpoint, path, status=0: run("predict", "--checkpoint", checkpoint, "--data", path, *out,
                                                     status=status)
    expect(predict("gat.h5", data), "edges/weight is not used by gat")
    expect(predict("gat.h5", write("none.h5"), 1), "none.h5: edges: 0 edge attribute columns, trained on 3")
    expect(predict("gat.h5", write("two.h5", None, a[:, :2]), 1), "two.h5: edges: 2 edge attribute columns, trained on 3")
    train("train_gat", data, "--checkpoint", "weight.h5", "--edge-weights", "attribute")
    predict("weight.h5", data)
    expect(predict("weight.h5", write("attr.h5", None, a), 1), "attr.h5: edges: no edge weights, trained with them")
    train("train_gcn", data, "--checkpoint", "gcn.h5")
    text = predict("gcn.h5", data)
    expect(text, "edges/attr is not used by gcn")
    assert "edges/weight" not in text
    expect(predict("gcn.h5", "none.h5"), "none.h5 has none, all weigh 1")
    train("train_gcn", "none.h5", "--checkpoint", "plain.h5")
    expect(predict("plain.h5", data), "edges/weight is not used by gcn")
    with open("out.csv", encoding="utf-8") as f:
        ignoring = f.read()
    predict("plain.h5", "none.h5")
    with open("out.csv", encoding="utf-8") as f:
        assert f.read() == ignoring
    # Of graphs, and quantised.
    graphs = write("graphs.h5", None, a, graphs=True)
    train("train_graph_gin", graphs, "--model", "graph-gine", "--checkpoint", "gine.h5")
    predict("gine.h5", graphs)
    expect(predict("gine.h5", write("bare.h5", graphs=True), 1), "bare.h5: edges: 0 edge attribute columns, trained on 3")
    train("train_qgnn", data, "--checkpoint", "q.h5")
    expect(run("infer_qgnn", "--checkpoint", "q.h5", "--data", data), "edges/weight is not used by", "edges/attr is not used by")


def trainings_resume_as_they_were():
    data = write("both.h5", random_weight(), random_attr())
    whole = ("--epochs", "4", "--seed", "1", "--metrics", "whole.csv")
    for program, words in (("train_gat", ()), ("train_gat", ("--edge-weights", "attribute")), ("train_gcn", ()),
                           ("train_gin", ("--model", "gine"))):
        run(program, data, *whole, *words)
        run(program, data, "--epochs", "2", "--seed", "1", "--checkpoint", "part.h5", "--metrics", "part.csv", *words)
        run(program, data, "--epochs", "4", "--seed", "1", "--resume", "part.h5", "--metrics", "part.csv", *words)
        assert course("whole.csv") == course("part.csv"), (program, words)
    run("train_gcn", data, "--epochs", "2", "--checkpoint", "part.h5")
    expect(run("train_gcn", data, "--epochs", "4", "--resume", "part.h5", "--edge-weights", "ignore", status=1),
           "edges.weights", "used", "unused")
    with h5py.File("part.h5", "a") as f:  # as before the fact
        del f["facts"].attrs["edges.weights"], f["facts"].attrs["edges.attributes"]
    expect(run("train_gcn", data, "--epochs", "4", "--resume", "part.h5", "--edge-weights", "ignore", status=1),
           "edges.weights", "used", "unused")
    run("train_gcn", data, "--epochs", "4", "--resume", "part.h5")
    run("predict", "--checkpoint", "part.h5", "--data", data, "--out", "out.csv")


def options_are_held():
    data = write("both.h5", random_weight(), random_attr())
    error_w, error_a = ("--edge-weights", "error"), ("--edge-attributes", "error")
    expect(run("train_gin", data, *error_w, status=1), "both.h5: edges/weight is not used by gin (--edge-weights error)")
    expect(run("train_gin", data, *error_a, status=1), "both.h5: edges/attr is not used by gin (--edge-attributes error)",
           "--model gine uses it")
    expect(run("train_gat", data, *error_w, status=1), "--edge-weights attribute")
    train("train_gcn", data, *error_w)
    train("train_gat", data, *error_a)
    train("train_gin", write("none.h5"), *error_w, *error_a)
    expect(run("train_gcn", data, "--edge-weights", "attribute", status=2), "gcn takes no edge attributes")
    expect(run("train_gin", data, "--edge-weights", "attribute", status=2), "--model gine uses it")
    expect(run("train_gat", "none.h5", "--edge-weights", "attribute", status=1), "none.h5: edges/weight: missing")
    expect(run("train_gin", "none.h5", "--model", "gine", status=1), "none.h5: edges/attr: missing, --model gine")
    expect(run("train_gin", data, "--model", "gine", "--edge-attributes", "ignore", status=2), "gine needs edge attributes")
    expect(run("train_gcn", data, "--edge-attributes", "attribute", status=2), "expected use or ignore or error")
    sampled = (*LOADERS["neighbor"], "--weighted-sampling")
    text, by_weight = train("train_sage", data, *sampled)
    expect(text, "edges/weight is not used by sage, only for sampling")
    _, uniform = train("train_sage", data, *LOADERS["neighbor"])
    assert by_weight != uniform
    expect(run("train_gcn", data, *sampled, "--edge-weights", "ignore", status=2), "--weighted-sampling: conflicts")
    scales = random_attr() * [1.0, 1.0, 1e6]
    expect(train("train_gat", write("scales.h5", None, scales))[0], "very different scale", "not scaled")


def odd_weights_are_said():
    w = random_weight()
    negative = w.copy()
    negative[:40] = -30.0
    data = write("negative.h5", negative)
    expect(run("train_gcn", data, status=1), "negative.h5: edges/weight: 40 of 400 are negative", "node", "--edge-weights ignore")
    train("train_gcn", data, "--edge-weights", "ignore")
    expect(train("train_gat", data, "--edge-weights", "attribute")[0], "the last of gat's edge attributes")
    slightly = w.copy()
    slightly[7] = -1e-3
    data = write("slightly.h5", slightly)
    expect(train("train_gcn", data)[0], "1 of 400 are negative", "--edge-weights ignore")
    for loader in ("neighbor", "cluster", "saint"):
        expect(run("train_gcn", data, *LOADERS[loader], status=1), "1 of 400 are negative", "batches")
    text, zero = train("train_gcn", write("zero.h5", np.zeros(EDGES)))
    expect(text, "edges/weight: all are 0")
    for value in (np.nan, np.inf):
        bad = w.copy()
        bad[3] = value
        expect(run("train_gcn", write("bad.h5", bad), status=1), "bad.h5: edges/weight")
    train("train_gcn", write("w.h5", w), "--checkpoint", "gcn.h5")
    expect(run("predict", "--checkpoint", "gcn.h5", "--data", "negative.h5", "--out", "out.csv", status=1),
           "negative.h5: edges/weight: 40 of 400 are negative")


def reordered_files_train_alike():
    data = write("both.h5", random_weight(), random_attr())
    run("train_transformer", data, "--epochs", "3", "--checkpoint", "trained.h5")
    run("reorder", "rabbit", data, "ordered.h5")
    for path in (data, "ordered.h5"):
        run("predict", "--checkpoint", "trained.h5", "--data", path, "--out", path + ".csv")
    first, second = (np.loadtxt(path + ".csv", delimiter=",", skiprows=1) for path in (data, "ordered.h5"))
    assert np.allclose(first, second, atol=1e-5)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    names = sys.argv[1:]
    for check in (every_model_uses_or_says, ignored_is_as_absent, outputs_follow_the_equations, files_to_predict_must_match,
                  trainings_resume_as_they_were, options_are_held, odd_weights_are_said, reordered_files_train_alike):
        if not names or check.__name__ in names:
            check()
