"""`train_gps` and `train_graph_gps`: graphs that no message passing tells apart, predictions by `predict`, attention that crosses
the edges, and what is refused."""

import csv

from programs import expect, np, parts_of, refused, result_of, run, write_graph

rng = np.random.default_rng(11)
RING, SKIPS, COPIES = 23, (2, 3, 5), 12


def write_rings(path):
    """Circular skip-link graphs (Murphy et al. 2019): all nodes of all classes have four neighbours."""
    src, dst, y = [], [], []
    for k in range(len(SKIPS) * COPIES):
        skip, place = SKIPS[k % len(SKIPS)], rng.permutation(RING)
        for i in range(RING):
            for step in (1, skip):
                for a, b in ((i, (i + step) % RING), ((i + step) % RING, i)):
                    src.append(place[a] + k * RING), dst.append(place[b] + k * RING)
        y.append(k % len(SKIPS))
    graphs = len(y)
    write_graph(path, {"edges/src": src, "edges/dst": dst, "graphs/offsets": np.arange(graphs + 1) * RING, "graphs/y": np.array(y),
                       **parts_of(rng.permutation(graphs), 18, 24)}, num_nodes=graphs * RING, num_classes=len(SKIPS), task="graph_class")


def test_rings():
    """A GIN sees one graph; with the probabilities of random walks the transformer tells the classes apart."""
    write_rings("rings.h5")
    line = "rings.h5 --split 0 --iterations 10 --epochs 20 --hidden 16 --batch-size 8 --quiet --json"
    assert result_of(f"train_graph_gin {line} --node-features constant")["test_acc"] < 0.7
    walks = "--node-features random-walk --walk-steps 8 --features-scaling standard"
    assert result_of(f"train_graph_gps {line} {walks}")["test_acc"] == 1.0
    for pool in ("mean", "max", "attention", "set2set", "topk", "sag --pool-ratio 0.3"):
        found = result_of(f"train_graph_gps {line} --positional random-walk --pool {pool} --checkpoint g.h5 --predict t.csv")
        assert found["test_acc"] > 0.9, (pool, found)
        same_predictions("rings.h5", "g.h5")
        for program in ("train_graph_gps", "train_graph_gin"):
            run(f"{program} rings.h5 --split 0 --epochs 1 --positional random-walk --precision bfloat16 --pool {pool}")
    refused(f"train_graph_gps {line} --pool-ratio 0.3", says="--pool-ratio: requires --pool topk or sag", status=2)
    refused(f"train_graph_qgin {line} --pool topk", says="expected sum or mean or max", status=2)


def same_predictions(data, checkpoint):
    """What `--predict` wrote, `predict` computes again."""
    run(f"predict {data} --checkpoint {checkpoint} --out p.csv")
    with open("t.csv") as trained, open("p.csv") as again:
        for a, b in zip(csv.DictReader(trained), csv.DictReader(again), strict=True):
            assert all(abs(float(a[c]) - float(b[c])) < 1e-4 for c in a), (a, b)


def test_positional():
    """Two cliques that share an edge: the first eigenvector tells them apart, without any features or training labels nearby."""
    size = 30
    src, dst = zip(*[(a + part, b + part) for part in (0, size) for a in range(size) for b in range(size) if a < b], (0, size))
    y = np.repeat([0, 1], size)
    places = {"edges/src": np.array(src), "edges/dst": np.array(dst), "nodes/y": y, **parts_of(rng.permutation(2 * size), 8, 20)}
    write_graph("cliques.h5", places, num_nodes=2 * size, num_classes=2, task="node_class")
    write_graph("featured.h5", places | {"nodes/x": rng.normal(size=(2 * size, 3)).astype(np.float32)}, num_nodes=2 * size,
                num_classes=2, task="node_class")
    line = "--epochs 40 --quiet --json --checkpoint c.h5 --predict t.csv"
    refused("train_gps cliques.h5 --epochs 1", says="nodes/x: missing, train_gps needs node features")
    for data in ("cliques.h5", "featured.h5"):
        for program in ("train_gps", "train_gcn", "train_gat", "train_sage"):
            if program == "train_gcn" or data == "cliques.h5":
                found = result_of(f"{program} {data} --positional laplacian --positional-size 2 {line}")
                # The transformer sees either sign, and with it either clique.
                assert program == "train_gps" or found["test_acc"] == 1.0, (program, data, found)
                same_predictions(data, "c.h5")
        for kind in ("random-walk", "degree"):
            result_of(f"train_gcn {data} --positional {kind} {line}")
            same_predictions(data, "c.h5")
    expect(run("train_gcn featured.h5 --epochs 1 --positional laplacian"),
           "positional encoding: laplacian, 8 columns beside the features; 1 component")
    run("train_gcn featured.h5 --epochs 3 --positional laplacian --positional-size 2 --report r.html --quiet")
    with open("r.html") as page:
        expect(page.read(), "positional 2")
    a, b = (result_of(f"train_gps cliques.h5 --positional laplacian --epochs 5 --quiet --json --threads {t}")["train_loss"] for t in (1, 2))
    assert a == b
    for options, says in (("--inductive --loader neighbor", "conflicts with --inductive"), ("--features-bits 8", "conflicts with --features-bits 8"),
                          ("--features file --loader neighbor", "conflicts with --features file"), ("--positional-size 0", "expected")):
        refused(f"train_sage featured.h5 --positional laplacian {options}", says=says, status=2)
    refused("train_gcn cliques.h5 --positional-size 3", says="--positional-size: requires --positional", status=2)
    refused("train_gcn cliques.h5 --positional laplacain", says="laplacian", status=2)


def write_far(path, nodes=80):
    """Without edges each node has the class that most nodes' first column says: only attention brings it there."""
    x = rng.normal(size=(nodes, 4)).astype(np.float32)
    y = (x[:, 0] > np.median(x[:, 0])).astype(np.int32)
    write_graph(path, {"edges/src": np.arange(nodes), "edges/dst": np.arange(nodes), "nodes/x": x, "nodes/y": y,
                       **parts_of(rng.permutation(nodes), 40, 60)}, num_nodes=nodes, num_classes=2, task="node_class")


def test_nodes():
    write_far("far.h5")
    found = result_of("train_gps far.h5 --epochs 60 --hidden 16 --quiet --json --checkpoint n.h5 --predict t.csv --class-scores")
    assert found["test_acc"] > 0.8 and found["class_scores"]["temperature"] > 0
    run("predict far.h5 --checkpoint n.h5 --out p.csv")
    with open("t.csv") as trained, open("p.csv") as again:
        for a, b in zip(csv.DictReader(trained), csv.DictReader(again), strict=True):
            assert abs(float(a["score_0"]) - float(b["score_0"])) < 1e-4
    one, two = (result_of(f"train_gps far.h5 --epochs 5 --quiet --json --threads {threads}")["train_loss"] for threads in (1, 2))
    assert one == two
    expect(run("train_gps far.h5 --epochs 1 --heads 8 --attention-dropout 0.1"), "GPS 4-3x64-2 heads 8")
    refused("train_gps far.h5 --heads 3", says="3 heads share --hidden 64, expected a divisor of it", status=2)
    write_far("wide.h5", 50000)
    refused("train_gps wide.h5 --epochs 1 --quiet", says="a graph has 50000 nodes, too many for attention between all of them")


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
