"""`export_onnx`: what onnxruntime computes with the file against `predict`, on the training's data and on others of other sizes, with
parallel edges, several loops of a node and nodes without edges. Without onnxruntime and onnx (PyPI) only what is refused."""
import json

from programs import datasets_in, expect, library, np, packed, parts_of, refused, run, write_graph

onnx, onnxruntime = library("onnx"), library("onnxruntime")
WIDTH = 5


def graph(path, task, nodes, edges, seed, weight=False, attr=False, graphs=0):
    """The last four nodes have no edges; node 1 has three loops, of different weights, and a pair four edges."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, max(nodes - 4, 1), (2, edges))
    offsets = None
    if graphs:  # edges stay within a graph
        offsets = np.r_[0, np.sort(rng.choice(np.arange(1, nodes), graphs - 1, replace=False)), nodes]
        first, last = (offsets[np.searchsorted(offsets, src, "right") + k] for k in (-1, 0))
        dst = rng.integers(first, last)
    if edges:
        src[:4], dst[:4] = (1, 1, 1, 2), (1, 1, 1, 2)
        src[4:7], dst[4:7] = src[7], dst[7]
    x = rng.normal(1, 3, (nodes, WIDTH))
    x[:, 0], x[nodes // 2] = rng.integers(0, 2, nodes), 0
    count = {"node": nodes, "edge": edges, "graph": graphs}.get(task.split("_")[0], 0)
    y = {"class": np.arange(count) % 3, "regression": rng.normal(20, 50, (count, 2))}.get(task.split("_")[-1])
    places = {"edges/src": src, "edges/dst": dst, "nodes/x": x.astype(np.float32), "graphs/offsets": offsets,
              "edges/weight": rng.uniform(0.1, 2, edges).astype(np.float32) if weight else None,
              "edges/attr": rng.normal(size=(edges, 2)).astype(np.float32) if attr else None}
    if count > 8:
        group = task.split("_")[0] + "s"
        places |= {f"{group}/y": y, **parts_of(rng.permutation(count), count // 2, 3 * count // 4)}
        if y.ndim == 1:
            places |= packed(f"{group}/class_names", ["käse", "b", 'say "c"'])
    classes = {"num_classes": 3} if task.endswith("_class") else {}
    return write_graph(path, places, num_nodes=nodes, task=task if count > 8 else "none", **classes)


def arrays(path):
    """A dataset as the file's inputs."""
    data = datasets_in(path)
    found = {"x": data["nodes/x"], "edge_index": np.stack([data["edges/src"], data["edges/dst"]]).astype(np.int64),
             "edge_weight": data.get("edges/weight"), "edge_attr": data.get("edges/attr"), "num_nodes": np.array([len(data["nodes/x"])])}
    if "graphs/offsets" in data:
        found["batch"] = np.repeat(np.arange(len(data["graphs/offsets"]) - 1), np.diff(data["graphs/offsets"]))
    return found


def session(path="m.onnx"):
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def computed(model, inputs, output=0):
    names = [each.name for each in model.get_inputs()]
    return model.run(None, {name: inputs[name] for name in names})[output]


def close(found, expected, what):
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max(), (what, np.abs(found - expected).max())


def compare(line, *datasets, inputs):
    """Trains on the first dataset, and compares on all."""
    if onnx is None or onnxruntime is None:
        return None
    run(f"{line} --epochs 3 --quiet --checkpoint c.h5", datasets[0])
    run("export_onnx c.h5 m.onnx --quiet")
    model = session()
    assert [each.name for each in model.get_inputs()] == inputs.split(), (line, [each.name for each in model.get_inputs()])
    for data in datasets:
        feeds, words = arrays(data), []
        if line.startswith("train_link"):
            feeds["pairs"] = np.random.default_rng(1).integers(0, len(feeds["x"]), (2, 40))
            np.savetxt("pairs.csv", feeds["pairs"].T, fmt="%d", delimiter=",", header="source,target", comments="")
            run("predict --checkpoint c.h5 --embeddings z.h5 --quiet --data", data)
            close(computed(model, feeds, 1), datasets_in("z.h5")["nodes/embedding"], (line, data))
            words = ["--pairs", "pairs.csv"]
        run("predict --checkpoint c.h5 --out p.h5 --quiet --data", data, *words)
        found = {name.rpartition("/")[2]: value for name, value in datasets_in("p.h5").items()}
        expected = found["score"] if "score" in found else found["prediction"]
        close(computed(model, feeds).reshape(expected.shape), expected, (line, data))
    return model


def pair(name, task, bare=False, **options):
    found = [graph(f"{name}0.h5", task, 60, 240, 1, **options), graph(f"{name}1.h5", task, 33, 90, 2, **options)]
    return found + [graph(f"{name}2.h5", task, 5, 0, 3, **options)] if bare else found


plain, weighted = pair("plain", "node_class", bare=True), pair("weighted", "node_class", bare=True, weight=True)
rich, numbers = pair("rich", "node_class", bare=True, attr=True, weight=True), pair("numbers", "node_regression", weight=True)
links, edges = pair("links", "none", weight=True), pair("edges", "edge_class", attr=True, weight=True)
graphs, measured = pair("graphs", "graph_class", graphs=12), pair("measured", "graph_regression", graphs=12, attr=True)

# Every layer; every option of each, crossed with depth, norms and what edges have.
for line, datasets, inputs in (
        ("train_gcn --layers 3", weighted, "x edge_index edge_weight"),
        ("train_gcn --norm batch --features-scaling standard", plain, "x edge_index"),
        ("train_gcn --layers 1", numbers, "x edge_index edge_weight"),
        ("train_gcn --node-features one-hot-degree", plain[:1], "edge_index num_nodes"),
        ("train_gcn --node-features degree --features-bits 4", plain[:2], "edge_index num_nodes"),
        ("train_sage --layers 3 --norm layer --residual --features-scaling rows", weighted, "x edge_index"),
        ("train_sage --aggr max --layers 4 --residual --features-bits 8", plain, "x edge_index"),
        ("train_sage --aggr pool --norm batch", plain, "x edge_index"),
        ("train_gat --layers 3 --heads 3 --hidden 4 --residual", plain, "x edge_index"),
        ("train_gat --heads 2 --hidden 4 --output-heads 3 --norm layer", rich, "x edge_index edge_attr"),
        ("train_gat --model gatv2 --layers 1 --output-heads 2", numbers, "x edge_index"),
        ("train_gat --model gatv2 --layers 3 --heads 2 --hidden 4 --norm batch --residual --edge-weights attribute", rich,
         "x edge_index edge_weight edge_attr"),
        ("train_transformer --layers 3 --heads 2 --hidden 4 --residual", rich, "x edge_index edge_attr"),
        ("train_transformer --gate --heads 3 --hidden 4 --norm batch", plain, "x edge_index"),
        ("train_gin --layers 3 --residual", plain, "x edge_index"),
        ("train_gin --model gine --train-eps --norm layer", rich, "x edge_index edge_attr"),
        ("train_gin --model gine --norm none --edge-weights attribute", weighted, "x edge_index edge_weight"),
        ("train_gcn --positional degree", plain, "x edge_index"),
        ("train_agnn --layers 3", plain, "x edge_index"),
        ("train_gps --heads 2 --hidden 8 --layers 2", plain, "x edge_index"),
        ("train_graph_gps --heads 4 --hidden 8 --layers 2 --pool max", graphs, "x edge_index batch"),
        ("train_graph_gin --pool mean --train-eps --layers 2", graphs, "x edge_index batch"),
        ("train_graph_gin --node-features constant --layers 1", graphs, "edge_index batch"),
        ("train_graph_gin --pool attention --layers 2", graphs, "x edge_index batch"),
        ("train_graph_gin --pool sag --pool-ratio 0.3 --layers 1", graphs, "x edge_index batch"),
        ("train_graph_gps --heads 2 --hidden 4 --layers 1 --pool topk --positional degree", graphs, "x edge_index batch"),
        ("train_graph_gps --heads 2 --hidden 4 --layers 1 --pool set2set", graphs, "x edge_index batch"),
        ("train_graph_gin --model graph-gine --pool max --layers 3", measured, "x edge_index edge_attr batch"),
        ("train_link --hidden 8 --embedding 6", links, "x edge_index edge_weight pairs"),
        ("train_link --model gat --heads 2 --decoder mlp --hidden 8", links, "x edge_index pairs"),
        ("train_edge --model sage --aggr pool --hidden 8", edges, "x edge_index edge_attr"),
        ("train_edge --model gat --heads 2 --hidden 4", edges, "x edge_index edge_attr")):
    compare(line, *datasets, inputs=inputs)

model = compare("train_graph_gps --heads 2 --hidden 8 --layers 1", *graphs, inputs="x edge_index batch")
if model is not None:
    # Nodes and edges in another order, of a batch whose graphs lie among each other.
    feeds = arrays(graphs[0])
    order, rng = np.random.default_rng(3).permutation(60), np.random.default_rng(4)
    place = np.argsort(order)
    moved = {"x": feeds["x"][order], "batch": feeds["batch"][order], "edge_index": rng.permutation(place[feeds["edge_index"]], axis=1)}
    close(computed(model, moved), computed(model, feeds), "moved")
    # A number without nodes is a graph without: its row is that of an empty pooling, the others stay.
    skipping = feeds | {"batch": feeds["batch"] + (feeds["batch"] > 4)}
    rows = computed(model, skipping)
    close(np.delete(rows, 5, 0), computed(model, feeds), "empty graph")

    facts = model.get_modelmeta().custom_metadata_map
    assert json.loads(facts["class_names"]) == ["käse", "b", 'say "c"'] and facts["program"] == "train_graph_gps", facts
    assert facts["task"] == "graph_class" and facts["option.heads"] == "2" and facts["features_scaling"] == "real", facts
    weights = {each.name: each for each in onnx.load("m.onnx").graph.initializer}
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(weights["body.input.weight"]), datasets_in("c.h5", "tensors")["best.body.input.weight"])

    # A degree without a column is refused by both.
    run("train_gcn plain1.h5 --node-features one-hot-degree --epochs 1 --quiet --checkpoint c.h5")
    run("export_onnx c.h5 m.onnx --quiet")
    refused("predict plain0.h5 --checkpoint c.h5 --out p.h5", says="in-edges, expected")
    try:
        computed(session(), arrays("plain0.h5"))
    except Exception as error:
        expect(str(error), "Gather")
    else:
        raise AssertionError("a degree without a column")

    # The features that it does not make are an input, named as such.
    run("train_graph_gin graphs0.h5 --node-features random-walk --walk-steps 3 --epochs 1 --quiet --checkpoint c.h5")
    expect(run("export_onnx c.h5 m.onnx"), "x float32 [nodes, 3]", "chances of random walks", "logits float32 [graphs, 3]")
    feeds = arrays("graphs0.h5")
    walk = np.zeros((60, 60))
    np.add.at(walk, tuple(feeds["edge_index"]), 1)
    walk /= np.maximum(walk.sum(1, keepdims=True), 1)
    feeds["x"] = np.stack([np.diag(np.linalg.matrix_power(walk, k)) for k in (1, 2, 3)], 1).astype(np.float32)
    run("predict graphs0.h5 --checkpoint c.h5 --out p.h5 --quiet")
    close(computed(session(), feeds), datasets_in("p.h5")["graphs/score"], "random walks")

    # Trained in 16 bits, it computes in 32.
    run("train_sage plain0.h5 --precision bfloat16 --epochs 2 --quiet --checkpoint c.h5")
    expect(run("export_onnx c.h5 m.onnx"), "trained in bfloat16, computes in float32")
    run("predict plain0.h5 --checkpoint c.h5 --out p.h5 --quiet")
    expected = datasets_in("p.h5")["nodes/score"]
    assert np.abs(computed(session(), arrays("plain0.h5")) - expected).max() < 0.03 * np.abs(expected).max()

# What is said, and what is refused, by the part's name.
run("train_sage plain0.h5 --epochs 1 --quiet --checkpoint c.h5")
expect(run("export_onnx c.h5 m.onnx"), "SAGE-mean 5-64-3 of train_sage, epoch", "input x float32 [nodes, 5]",
       "input edge_index int64 [2, edges]", "output logits float32 [nodes, 3]")
assert run("export_onnx --checkpoint c.h5 --out m.onnx --quiet") == ""
run("train_gcn plain0.h5 --node-features learned --epochs 1 --quiet --checkpoint learned.h5")
run("train_qgnn plain0.h5 --epochs 1 --quiet --checkpoint quantised.h5")
refused("export_onnx learned.h5 m.onnx", says=("train_gcn", "--node-features learned is not exported to ONNX"))
refused("export_onnx quantised.h5 m.onnx", says="models of train_qgnn are not exported to ONNX, as they are quantised")
refused("export_onnx plain0.h5 m.onnx", says="plain0.h5")
refused("export_onnx learned.h5", says="export_onnx CHECKPOINT.h5 MODEL.onnx", status=2)
refused("export_onnx learned.h5 learned.h5", says="--out: expected FILE.onnx, got 'learned.h5'", status=2)
refused("export_onnx nothing.h5 m.onnx", says="nothing.h5")
