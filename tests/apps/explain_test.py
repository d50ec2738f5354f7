"""`explain` and `generate ba-shapes`: motifs that are known, tables and a picture with names, and what is refused."""

import csv
import xml.etree.ElementTree as xml

from programs import expect, h5py, np, parts_of, refused, result_of, run, write_graph

rng = np.random.default_rng(5)


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def motif_of(name):
    """"3" of "house_3_top_0"; none of a node of the base graph."""
    return None if name.startswith("base") else name.split("_")[1]


def auc(labels, scores):
    above = [s for label, s in zip(labels, scores) if label]
    below = [s for label, s in zip(labels, scores) if not label]
    return sum((a > b) + 0.5 * (a == b) for a in above for b in below) / (len(above) * len(below))


def neighbourhood(edges, node, hops):
    """Edges between nodes within `hops` edges, as PyG's k_hop_subgraph."""
    sources, seen, last = {}, {node}, {node}
    for src, dst in edges:
        sources.setdefault(dst, []).append(src)
    for _ in range(hops):
        last = {src for dst in last for src in sources.get(dst, [])} - seen
        seen |= last
    return [(src, dst) for src, dst in edges if src in seen and dst in seen]


def test_houses():
    """As in PyG's example on BA-Shapes: the edges of a house explain the roles of its nodes."""
    run("generate ba-shapes ba.h5")
    run("train_gcn ba.h5 --layers 3 --hidden 20 --lr 0.01 --weight-decay 0.005 --dropout 0 --epochs 1000 --seed 2 "
        "--quiet --checkpoint gcn.h5")
    with h5py.File("ba.h5") as file:
        bounds, text = file["nodes/name_offsets"][:], file["nodes/name"][:].tobytes()
        names = [text[a:b].decode() for a, b in zip(bounds, bounds[1:])]
        edges = [(names[a], names[b]) for a, b in zip(file["edges/src"][:], file["edges/dst"][:])]
    assert sum(motif_of(a) is not None and motif_of(a) == motif_of(b) for a, b in edges) == 80 * 12
    for method, least in (("gnn_explainer", 0.95), ("integrated_gradients", 0.95)):
        labels, scores = [], []
        for node in (f"house_{m}_middle_0" for m in range(20, 80, 12)):
            run(f"explain ba.h5 --checkpoint gcn.h5 --node {node} --method {method} --edges e.csv --quiet")
            found = {(row["from"], row["to"]): abs(float(row["importance"])) for row in rows("e.csv")}
            around = neighbourhood(edges, node, 3)
            assert set(found) <= set(around)
            labels += [motif_of(a) is not None and motif_of(a) == motif_of(b) for a, b in around]
            scores += [found.get(edge, 0.0) for edge in around]
        print(f"{method}: AUC {auc(labels, scores):.4f} over {len(labels)} edges, {sum(labels)} in the motif")
        assert auc(labels, scores) >= least, (method, auc(labels, scores))


def test_outputs():
    line = "explain ba.h5 --checkpoint gcn.h5 --node house_25_middle_0 --json --top 4"
    one = result_of(f"{line} --edges e.csv --features f.csv --picture p.svg --threads 1")
    edges, features = rows("e.csv"), rows("f.csv")
    assert len(edges) > 4 and [row["feature"] for row in features] == ["constant"]
    masks = [float(row["importance"]) for row in edges]
    assert masks == sorted(masks, reverse=True) and 0 <= min(masks) and max(masks) <= 1
    for shown, row in zip(one["edges"], edges):
        assert (shown["from"], shown["to"]) == (row["from"], row["to"]) and np.float32(shown["importance"]) == np.float32(row["importance"])
    assert len(one["edges"]) == 4 and one["share"] == 4 / len(edges) and one["fidelity_plus"] in (0, 1)
    assert one["baseline"] is None
    texts = [node.text for node in xml.parse("p.svg").getroot().iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0].startswith("node 'house_25_middle_0': class '") and "house_25_middle_0" in texts[2:], texts
    first = {path: open(path, "rb").read() for path in ("e.csv", "p.svg")}
    result_of(f"{line} --edges e.csv --picture p.svg --threads 2")
    assert all(open(path, "rb").read() == first[path] for path in first)
    assert result_of(f"{line} --seed 2")["edges"] != one["edges"]
    other = result_of(f"{line} --class base --method integrated_gradients --steps 400")
    assert other["output"] == "class 'base'"
    assert abs(other["attributed"] - (other["value"] - other["baseline"])) < 0.02 * abs(other["value"] - other["baseline"])


def test_refused():
    line = "explain ba.h5 --checkpoint gcn.h5"
    refused(f"{line} --node house_3_tip_0", says="\"house_3_tip_0\" is no node", status=2)
    refused(f"{line} --node house_3_topp_0", says="did you mean 'house_3_top_0'?", status=2)
    refused(line, says="expected one of --node NAME, --graph NAME and --edge FROM,TO", status=2)
    refused(f"{line} --graph house_3_top_0", says="--graph", status=2)
    refused(f"{line} --edge house_3_top_0,base_1", says="a model of nodes, got a target among edges or links", status=2)
    refused(f"{line} --node base_1 --method attention", says="has no attention, expected a GAT", status=2)
    refused(f"{line} --node base_1 --class roof", says="has no 'roof', expected base, middle", status=2)
    refused(f"{line} --node base_1 --steps 5", says="--steps: requires --method integrated_gradients", status=2)
    refused(f"{line} --node base_1 --edges e.txt", says="--edges: expected FILE.csv or FILE.jsonl", status=2)
    refused(f"{line} --node base_1 --picture p.png", says="--picture: expected FILE.svg", status=2)
    write_graph("other.h5", {"edges/src": [0], "edges/dst": [1], "nodes/x": np.ones((3, 2), np.float32)}, num_nodes=3, task="none")
    expect(run("explain other.h5 --checkpoint gcn.h5 --node 0", status=1), "2 columns, but gcn.h5 was trained on 1")


def test_graphs_links_and_several_types():
    """A graph by its number, a link between named nodes, an isolated node, numbers of edges; typed models are refused."""
    write_graph("g.h5", {"edges/src": [0, 1, 3, 4, 6, 7], "edges/dst": [1, 2, 4, 5, 7, 8], "graphs/offsets": [0, 3, 6, 9],
                         "graphs/y": [0, 1, 0], "nodes/x": rng.normal(size=(9, 2)).astype(np.float32),
                         **parts_of(np.arange(3), 1, 2)}, num_nodes=9, num_classes=2, task="graph_class")
    run("train_graph_qgin g.h5 --epochs 2 --iterations 2 --hidden 8 --split 0 --quiet --checkpoint q.h5")
    run("train_graph_gin g.h5 --epochs 2 --iterations 2 --hidden 8 --split 0 --quiet --checkpoint g.ckpt.h5")
    for checkpoint in ("q.h5", "g.ckpt.h5"):
        run(f"explain g.h5 --checkpoint {checkpoint} --graph 1 --edges e.csv --epochs 3 --quiet")
        assert {(row["from"], row["to"]) for row in rows("e.csv")} == {("3", "4"), ("4", "5")}
    refused("explain g.h5 --checkpoint q.h5 --graph 3", says="\"3\" is no graph", status=2)
    refused("explain g.h5 --checkpoint q.h5 --node 3", says="a model of graphs, got a target among nodes", status=2)
    run("train_link ba.h5 --epochs 2 --hidden 8 --quiet --checkpoint l.h5")
    found = result_of("explain ba.h5 --checkpoint l.h5 --edge house_3_top_0,house_3_middle_1 --method integrated_gradients --json")
    assert found["output"] == "the link" and {edge["to"] for edge in found["edges"]} != {"house_3_top_0"}
    refused("explain ba.h5 --checkpoint l.h5 --edge house_3_top_0", says="--edge: expected two names", status=2)
    write_graph("alone.h5", {"edges/src": [0, 1], "edges/dst": [1, 0], "nodes/x": rng.normal(size=(8, 3)).astype(np.float32),
                             "nodes/y": [0, 1] * 4, **parts_of(np.arange(8), 4, 6)}, num_nodes=8, num_classes=2, task="node_class")
    run("train_gat alone.h5 --epochs 2 --quiet --checkpoint a.h5")
    for method in ("gnn_explainer", "integrated_gradients", "attention"):
        expect(run(f"explain alone.h5 --checkpoint a.h5 --node 5 --method {method}"), "no edge reaches it")
    run("generate ogbn-mag mag.h5 --scale 0.0005")
    run("train_rgcn mag.h5 --epochs 1 --hidden 4 --quiet --checkpoint r.h5")
    refused("explain mag.h5 --checkpoint r.h5 --node 0", says="layers over several relations, which take no edge mask", status=2)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
