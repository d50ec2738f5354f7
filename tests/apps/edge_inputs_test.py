"""Edge weights and attributes of a file: every training program uses them or says that it does not. Outputs of trained models
are held against forward passes in numpy, by the equations of PyG's layers."""

import sys

from plain_layers import attend, layer_of, summed, weights_of, with_loops
from programs import datasets_in, expect, h5py, np, parts_of, read, run, write_graph

NODES, EDGES = 60, 400


def write(path, weight=None, attr=None, graphs=False, seed=0):
    """Random features, edges with loops and parallel ones; of graphs, twelve of five nodes each."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, NODES, EDGES), rng.integers(0, NODES, EDGES)
    if graphs:
        src = dst // 5 * 5 + src % 5
    x = rng.normal(size=(NODES, 4)).astype(np.float32)
    places = {"graphs/offsets": np.arange(0, NODES + 1, 5), "graphs/y": np.arange(12) % 3, **parts_of(rng.permutation(12), 6, 9)} if graphs else {
        "nodes/y": np.arange(NODES) % 3, **parts_of(rng.permutation(NODES), 30, 45)}
    for name, values in (("weight", weight), ("attr", attr)):
        if values is not None:
            places[f"edges/{name}"] = np.asarray(values, np.float32)
    return write_graph(path, {"edges/src": src, "edges/dst": dst, "nodes/x": x, **places}, num_nodes=NODES, num_classes=3,
                       task="graph_class" if graphs else "node_class")


def random_weight(seed=5):
    return np.exp(np.random.default_rng(seed).normal(size=EDGES))


def random_attr(seed=6, columns=3):
    return np.random.default_rng(seed).normal(size=(EDGES, columns))


def train(line, status=0):
    """What it writes, and the training losses by epoch, as text."""
    output = run(f"{line} --epochs 2 --seed 1 --metrics course.csv", status=status)
    return output, None if status else read("course.csv")


# Each model, and whether it uses weights and attributes.
MODELS = [("train_gcn", "gcn", True, False), ("train_sage", "sage", False, False), ("train_gin", "gin", False, False),
          ("train_gin", "gine", False, True), ("train_gat", "gat", False, True), ("train_gat", "gatv2", False, True),
          ("train_transformer", "transformer", False, True), ("train_agnn", "agnn", False, False),
          ("train_qgnn", "gcn", False, False), ("train_qgnn", "gin", False, False), ("train_link", "gcn", True, False),
          ("train_link", "sage", False, False), ("train_link", "gat", False, True),
          ("train_graph_gin", "graph-gin", False, False), ("train_graph_gin", "graph-gine", False, True),
          ("train_graph_qgin", "graph-qgin", False, False), ("train_gps", "gps", False, False),
          ("train_graph_gps", "graph-gps", False, False)]
SEVERAL = {"train_gin", "train_gat", "train_qgnn", "train_link", "train_graph_gin"}
LOADERS = {"none": "", "inductive": "--inductive", "neighbor": "--loader neighbor --fanouts 3 --batch-size 16",
           "cluster": "--loader cluster --parts 4 --parts-per-batch 2", "saint": "--loader saint --budget 10 --coverage 2"}


def loaders_of(program):
    if "graph" in program:
        return ["none"]
    if program == "train_link":
        return ["none", "neighbor"]
    if program == "train_gps":
        return ["none", "inductive"]
    return [name for name in LOADERS if name != "neighbor" or program not in ("train_agnn", "train_qgnn")]


def every_model_uses_or_says():
    """Each x {weights, attributes} x each loader, alone and together: other digits than without, or the line."""
    for graphs in (False, True):
        w, a = random_weight(), random_attr()
        write("both.h5", w, a, graphs)
        for program, model, weights, attributes in MODELS:
            if ("graph" in program) != graphs:
                continue
            for loader in loaders_of(program):
                words = (f"--model {model} " if program in SEVERAL else "") + LOADERS[loader]
                seen = {}
                for use_w in ("use", "ignore"):
                    for use_a in ("use", "ignore"):
                        if model.endswith("gine") and use_a == "ignore":
                            continue
                        text, seen[use_w, use_a] = train(
                            f"{program} both.h5 --edge-weights {use_w} --edge-attributes {use_a} {words}")
                        place = (program, model, loader, use_w, use_a, text)
                        assert ("edges/weight is not used by " + model in text) == (use_w == "use" and not weights), place
                        assert ("edges/weight: used by " + model in text) == (use_w == "use" and weights), place
                        assert ("edges/attr is not used by " + model in text) == (use_a == "use" and not attributes), place
                        assert (f"edges/attr: 3 columns, used by {model}" in text) == (use_a == "use" and attributes), place
                place = (program, model, loader)
                for use in ("use", "ignore"):
                    if ("use", use) in seen:
                        assert (seen["use", use] != seen["ignore", use]) == weights, place
                    if (use, "ignore") in seen:
                        assert (seen[use, "use"] != seen[use, "ignore"]) == attributes, place


def ignored_is_as_absent():
    w, a = random_weight(), random_attr()
    write("both.h5", w, a)
    write("none.h5")
    write("attr.h5", None, a)
    for program in ("train_gcn", "train_gat", "train_sage"):
        for loader in loaders_of(program):
            text, without = train(f"{program} none.h5 {LOADERS[loader]}")
            assert "edges/" not in text, text
            text, ignoring = train(f"{program} both.h5 --edge-weights ignore --edge-attributes ignore {LOADERS[loader]}")
            assert "edges/" not in text, text
            assert without == ignoring, (program, loader)
    # Attributes follow their edges: in another order of the same edges only rounding differs.
    write("permuted.h5", None, a[np.random.default_rng(1).permutation(EDGES)])
    write("zeros.h5", None, np.zeros_like(a))
    assert len({train(f"train_transformer {data}")[1] for data in ("attr.h5", "permuted.h5", "zeros.h5")}) == 3


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def attention(kind, s, x, src, dst, attr, heads, last):
    if kind != "transformer":
        src, dst, attr = with_loops(src, dst, attr, NODES)
    _, y = attend(kind, s, x, src, dst, attr, heads)
    skipped = x @ s["lin_skip.weight"] + s["lin_skip.bias"] if kind == "transformer" else s["bias"]
    return (y.mean(1) if last else y.reshape(NODES, -1)) + skipped


def mlp(s, x):
    relu = lambda y: np.maximum(y, 0.0)
    return relu(x @ s["nn.lins.0.weight"] + s["nn.lins.0.bias"]) @ s["nn.lins.1.weight"] + s["nn.lins.1.bias"]


def gine(s, x, src, dst, attr):
    messages = np.maximum(x[src] + attr @ s["lin.weight"] + s["lin.bias"], 0.0)
    return mlp(s, (1.0 + s["eps"]) * x + summed(dst, messages, NODES))


def gcn(s, x, src, dst, weight):
    """PyG's gcn_norm; of several loops of a node the last counts."""
    loops = np.ones(NODES)
    loops[dst[src == dst]] = weight[src == dst]
    keep = src != dst
    src, dst, weight = np.r_[src[keep], np.arange(NODES)], np.r_[dst[keep], np.arange(NODES)], np.r_[weight[keep], loops]
    root = 1.0 / np.sqrt(summed(dst, weight, NODES))
    return summed(dst, (root[src] * weight * root[dst])[:, None] * (x @ s["weight"])[src], NODES) + s["bias"]


def outputs_follow_the_equations():
    elu = lambda y: np.where(y > 0, y, np.expm1(y))
    relu = lambda y: np.maximum(y, 0.0)
    write("whole.h5", random_weight(), random_attr())
    found = datasets_in("whole.h5")
    x, src, dst = found["nodes/x"].astype(float), found["edges/src"], found["edges/dst"]
    weight, attr = found["edges/weight"].astype(float), found["edges/attr"].astype(float)
    both = np.c_[attr, weight]
    gat_words, gine_words = "train_gat --heads 2 --hidden 5 --attention-dropout 0", "train_gin --model gine --hidden 7 --norm none"
    transformer_words = gat_words.replace("gat", "transformer") + " --norm none"
    as_attribute = "--edge-weights attribute"
    for words, edges, activation in ((gat_words, attr, elu), (f"{gat_words} --model gatv2", attr, elu),
                                     (f"{gat_words} {as_attribute}", both, elu), (transformer_words, attr, relu),
                                     (f"{transformer_words} {as_attribute}", both, relu), (gine_words, attr, relu),
                                     (f"{gine_words} --edge-attributes ignore {as_attribute}", weight[:, None], relu),
                                     ("train_gcn --hidden 5", weight, relu)):
        program = words.split()[0]
        for loader in ("none", "neighbor"):
            run(f"{words} --data whole.h5 --epochs 3 --checkpoint trained.h5 --dropout 0 --features-scaling none {LOADERS[loader]}")
            first, last = (layer_of(weights_of("trained.h5"), number) for number in range(2))
            if program in ("train_gat", "train_transformer"):
                kind = "gatv2" if "gatv2" in words else program.removeprefix("train_")
                heads = lambda last: 1 if last and program == "train_gat" else 2
                layer = lambda s, h, last: attention(kind, s, h, src, dst, edges, heads(last), last)
            elif program == "train_gin":
                layer = lambda s, h, last: gine(s, h, src, dst, edges)
            else:
                layer = lambda s, h, last: gcn(s, h, src, dst, edges)
            expected = softmax(layer(last, activation(layer(first, x, False)), True))
            for method in ["graph"] if program == "train_gcn" else ["graph", "layers"]:
                run(f"predict --checkpoint trained.h5 --data whole.h5 --out out.h5 --evaluation {method}")
                worst = np.abs(datasets_in("out.h5")["nodes/probability"] - expected).max()
                assert worst < 1e-5, (words, loader, method, worst)


def files_to_predict_must_match():
    a = random_attr()
    predict = lambda checkpoint, path, status=0: run(f"predict --checkpoint {checkpoint} --data {path} --out out.csv", status=status)
    write("both.h5", random_weight(), a)
    write("none.h5")
    train("train_gat both.h5 --checkpoint gat.h5")
    expect(predict("gat.h5", "both.h5"), "edges/weight is not used by gat")
    expect(predict("gat.h5", "none.h5", 1), "none.h5: edges: 0 edge attribute columns, trained on 3")
    expect(predict("gat.h5", write("two.h5", None, a[:, :2]), 1), "two.h5: edges: 2 edge attribute columns, trained on 3")
    train("train_gat both.h5 --checkpoint weight.h5 --edge-weights attribute")
    predict("weight.h5", "both.h5")
    expect(predict("weight.h5", write("attr.h5", None, a), 1), "attr.h5: edges: no edge weights, trained with them")
    train("train_gcn both.h5 --checkpoint gcn.h5")
    text = predict("gcn.h5", "both.h5")
    expect(text, "edges/attr is not used by gcn")
    assert "edges/weight" not in text
    expect(predict("gcn.h5", "none.h5"), "none.h5 has none, all weigh 1")
    train("train_gcn none.h5 --checkpoint plain.h5")
    expect(predict("plain.h5", "both.h5"), "edges/weight is not used by gcn")
    ignoring = read("out.csv")
    predict("plain.h5", "none.h5")
    assert read("out.csv") == ignoring
    train("train_gcn both.h5 --checkpoint ignores.h5 --edge-weights ignore --edge-attributes ignore")
    assert "edges/" not in predict("ignores.h5", "both.h5")
    train("train_gat attr.h5 --checkpoint ignores.h5 --edge-attributes ignore")
    text = predict("ignores.h5", "both.h5")
    expect(text, "edges/weight is not used by gat")
    assert "edges/attr" not in text, text
    # Of graphs, and quantised.
    write("graphs.h5", None, a, graphs=True)
    train("train_graph_gin graphs.h5 --model graph-gine --checkpoint gine.h5")
    predict("gine.h5", "graphs.h5")
    expect(predict("gine.h5", write("bare.h5", graphs=True), 1), "bare.h5: edges: 0 edge attribute columns, trained on 3")
    train("train_qgnn both.h5 --checkpoint q.h5")
    expect(run("infer_qgnn --checkpoint q.h5 --data both.h5"), "edges/weight is not used by", "edges/attr is not used by")
    train("train_qgnn both.h5 --checkpoint q.h5 --edge-weights ignore --edge-attributes ignore")
    assert "edges/" not in run("infer_qgnn --checkpoint q.h5 --data both.h5")


def trainings_resume_as_they_were():
    write("both.h5", random_weight(), random_attr())
    for words in ("train_gat", "train_gat --edge-weights attribute", "train_gcn", "train_gin --model gine"):
        run(f"{words} --data both.h5 --epochs 4 --seed 1 --metrics whole.csv")
        run(f"{words} --data both.h5 --epochs 2 --seed 1 --checkpoint part.h5 --metrics part.csv")
        run(f"{words} --data both.h5 --epochs 4 --seed 1 --resume part.h5 --metrics part.csv")
        assert read("whole.csv") == read("part.csv"), words
    run("train_gcn both.h5 --epochs 2 --checkpoint part.h5")
    resumed = "train_gcn both.h5 --epochs 4 --resume part.h5"
    expect(run(f"{resumed} --edge-weights ignore", status=1), "edges.weights", "used", "unused")
    with h5py.File("part.h5", "a") as f:  # as before the fact
        del f["facts"].attrs["edges.weights"], f["facts"].attrs["edges.attributes"]
    expect(run(f"{resumed} --edge-weights ignore", status=1), "edges.weights", "used", "unused")
    run(resumed)
    run("predict --checkpoint part.h5 --data both.h5 --out out.csv")


def options_are_held():
    write("both.h5", random_weight(), random_attr())
    write("none.h5")
    error_w, error_a, sampled = "--edge-weights error", "--edge-attributes error", f"{LOADERS['neighbor']} --weighted-sampling"
    for words, status, parts in (
            (f"gin both.h5 {error_w}", 1, ["both.h5: edges/weight is not used by gin (--edge-weights error)"]),
            (f"gin both.h5 {error_a}", 1, ["both.h5: edges/attr is not used by gin (--edge-attributes error)", "--model gine uses it"]),
            (f"gat both.h5 {error_w}", 1, ["--edge-weights attribute"]),
            ("gcn both.h5 --edge-weights attribute", 2, ["gcn takes no edge attributes"]),
            ("gin both.h5 --edge-weights attribute", 2, ["--model gine uses it"]),
            ("gat none.h5 --edge-weights attribute", 1, ["none.h5: edges/weight: missing"]),
            ("gin none.h5 --model gine", 1, ["none.h5: edges/attr: missing, --model gine"]),
            ("gin both.h5 --model gine --edge-attributes ignore", 2, ["gine needs edge attributes"]),
            ("gcn both.h5 --edge-attributes attribute", 2, ["expected use or ignore or error"]),
            (f"gcn both.h5 {sampled} --edge-weights ignore", 2, ["--weighted-sampling: conflicts"])):
        expect(run(f"train_{words}", status=status), *parts)
    train(f"train_gcn both.h5 {error_w}")
    train(f"train_gat both.h5 {error_a}")
    train(f"train_gin none.h5 {error_w} {error_a}")
    text, by_weight = train(f"train_sage both.h5 {sampled}")
    expect(text, "edges/weight is not used by sage, only for sampling")
    assert by_weight != train(f"train_sage both.h5 {LOADERS['neighbor']}")[1]
    write("scales.h5", None, random_attr() * [1.0, 1.0, 1e6])
    expect(train("train_gat scales.h5")[0], "very different scale", "not scaled")


def odd_weights_are_said():
    negative, slightly = random_weight(), random_weight()
    negative[:40], slightly[7] = -30.0, -1e-3
    write("negative.h5", negative)
    write("slightly.h5", slightly)
    edges = datasets_in("negative.h5", "edges")
    src, dst = edges["src"], edges["dst"]
    degree = np.bincount(dst, negative, NODES) + ~np.isin(np.arange(NODES), src[src == dst])
    expect(run("train_gcn negative.h5", status=1), "negative.h5: edges/weight: 40 of 400 are negative", "--edge-weights ignore",
           f"that of node {degree.argmin()} is {degree.min():.3g} with its self-loop")
    train("train_gcn negative.h5 --edge-weights ignore")
    expect(train("train_gat negative.h5 --edge-weights attribute")[0], "the last of gat's edge attributes")
    expect(train("train_gcn slightly.h5")[0], "1 of 400 are negative", "--edge-weights ignore")
    for loader in ("neighbor", "cluster", "saint"):
        expect(run(f"train_gcn slightly.h5 {LOADERS[loader]}", status=1), "1 of 400 are negative", "batches")
    write("zero.h5", np.zeros(EDGES))
    expect(train("train_gcn zero.h5")[0], "edges/weight: all are 0")
    for value in (np.nan, np.inf):
        bad = random_weight()
        bad[3] = value
        write("bad.h5", bad)
        expect(run("train_gcn bad.h5", status=1), "bad.h5: edges/weight")
    write("w.h5", random_weight())
    train("train_gcn w.h5 --checkpoint gcn.h5")
    expect(run("predict --checkpoint gcn.h5 --data negative.h5 --out out.csv", status=1),
           "negative.h5: edges/weight: 40 of 400 are negative")


def reordered_files_train_alike():
    write("both.h5", random_weight(), random_attr())
    run("train_transformer both.h5 --epochs 3 --checkpoint trained.h5")
    run("reorder rabbit both.h5 ordered.h5")
    found = []
    for path in ("both.h5", "ordered.h5"):
        run(f"predict --checkpoint trained.h5 --data {path} --out out.csv")
        found.append(np.loadtxt("out.csv", delimiter=",", skiprows=1))
    assert np.allclose(*found, atol=1e-5)


for check in (every_model_uses_or_says, ignored_is_as_absent, outputs_follow_the_equations, files_to_predict_must_match,
              trainings_resume_as_they_were, options_are_held, odd_weights_are_said, reordered_files_train_alike):
    if check.__name__ in (sys.argv[1:] or [check.__name__]):
        check()
