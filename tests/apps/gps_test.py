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
    for pool in ("sum", "mean", "max"):
        found = result_of(f"train_graph_gps {line} --node-features random-walk --walk-steps 8 --features-scaling standard --pool {pool} "
                          "--checkpoint g.h5 --predict t.csv")
        assert found["test_acc"] == 1.0, (pool, found)
    run("predict rings.h5 --checkpoint g.h5 --out p.csv")
    with open("t.csv") as trained, open("p.csv") as again:
        for a, b in zip(csv.DictReader(trained), csv.DictReader(again), strict=True):
            assert all(abs(float(a[c]) - float(b[c])) < 1e-4 for c in a), (a, b)


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
