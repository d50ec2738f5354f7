"""`convert ogb` of several types of nodes, in the layouts of ogbn-mag and ogbl-biokg; h5py reads the results."""

import gzip
import os

from programs import PARTS, expect, h5py, holds, np, refused, result_of, run, write


def write_mag(**changes):
    """The layout of ogbn-mag: types, relations, features and years of papers, their venues, a split by time."""
    files = {"raw/num-node-dict": "author,institution,paper\n3,2,4\n",
             "raw/triplet-type-list": "author,affiliated_with,institution\nauthor,writes,paper\npaper,cites,paper\n",
             "raw/nodetype-has-label": "author,institution,paper\nFalse,False,True\n",
             "raw/relations/author___affiliated_with___institution/edge": "0,0\n2,1\n",
             "raw/relations/author___affiliated_with___institution/num-edge-list": "2\n",
             "raw/relations/author___writes___paper/edge": "0,3\n1,0\n2,1\n0,0\n", "raw/relations/author___writes___paper/num-edge-list": "4\n",
             "raw/relations/author___writes___paper/edge_reltype": "1\n1\n1\n1\n", "raw/relations/paper___cites___paper/edge": "0,1\n3,3\n2,0\n",
             "raw/relations/paper___cites___paper/num-edge-list": "3\n", "raw/relations/paper___cites___paper/edge-feat": "0.5\n1\n2\n",
             "raw/node-feat/paper/node-feat": "0.5,1\n-1,2\n3,4\n5,6\n", "raw/node-feat/paper/node_year": "2015\n2018\n2019\n2016\n",
             "raw/node-label/paper/node-label": "1\n0\n2\n1\n", "split/time/nodetype-has-split": "author,institution,paper\nFalse,False,True\n",
             "split/time/paper/train": "0\n3\n", "split/time/paper/valid": "1\n", "split/time/paper/test": "2\n"} | changes
    for name, content in files.items():
        path = f"mag/{name}.csv.gz"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if content is None:
            if os.path.exists(path):
                os.remove(path)
        else:
            write(path, gzip.compress(content.encode()))


def test_ogb_nodes():
    """ogbn-mag's layout."""
    write_mag()
    expect(run("convert ogb mag mag.h5"), "3 types of nodes, 3 types of edges, 9 nodes and 9 directed edges")
    whole = {"nodes/author@num_nodes": 3, "nodes/institution@num_nodes": 2, "nodes/paper/x": [[0.5, 1], [-1, 2], [3, 4], [5, 6]],
             "nodes/paper/y": [1, 0, 2, 1], "nodes/paper@num_classes": 3, "nodes/paper/splits/train": [0, 3], "nodes/paper/splits/val": [1],
             "nodes/paper/splits/test": [2], "edges/affiliated_with/src": [0, 2], "edges/affiliated_with/dst": [0, 1],
             "edges/writes@source": "author", "edges/writes@target": "paper", "edges/writes/src": [0, 1, 2, 0], "edges/writes/dst": [3, 0, 1, 0]}
    holds("mag.h5", whole | {"edges/cites/src": [0, 3, 2], "edges/cites/dst": [1, 3, 0], "edges/cites/attr": [[0.5], [1], [2]]})
    run("convert ogb mag mag.h5 --add-inverse-edges --node-tables node_year")
    holds("mag.h5", whole | {"nodes/paper/x": [[0.5, 1, 2015], [-1, 2, 2018], [3, 4, 2019], [5, 6, 2016]], "edges/rev_writes@source": "paper",
                             "edges/rev_writes/src": [3, 0, 1, 0], "edges/rev_writes/dst": [0, 1, 2, 0], "edges/rev_affiliated_with/src": [0, 1],
                             "edges/cites/src": [0, 3, 2, 1, 0], "edges/cites/dst": [1, 3, 0, 0, 2], "edges/cites/attr": [[0.5], [1], [2], [0.5], [2]]})
    expect(run("convert ogb mag mag.h5 --split 50,25,25 --seed 2"), "nodes paper: split by seed 2: 2 nodes to train")
    with h5py.File("mag.h5") as f:
        assert sorted(np.concatenate([f[f"nodes/paper/splits/{part}"][:] for part in PARTS])) == [0, 1, 2, 3]
    for changes, says in (
            ({"raw/relations/author___writes___paper/edge": "0,3\n1,0\n2,1\n0,4\n"}, "edge.csv.gz:4: "),
            ({"raw/relations/author___writes___paper/edge": "0,3\n1,0\n3,1\n0,0\n"}, 'edge.csv.gz:3: 3 to 1, expected 0 to 2 of "author" and 0 to 3 of "paper"'),
            ({"raw/relations/author___writes___paper/edge": "0,3\n1,0\n"}, "edge.csv.gz: 2 lines, expected 4 as in num-edge-list"),
            ({"raw/relations/paper___cites___paper/edge": None}, "edge.csv.gz is missing"),
            ({"raw/relations/paper___cites___paper/num-edge-list": "1\n2\n"}, "2 graphs, expected one"),
            ({"raw/triplet-type-list": "author,writes,book\n"}, ':1: nodes of type "book", expected one of num-node-dict'),
            ({"raw/triplet-type-list": "author,writes\n"}, ":1: 2 fields, expected source, relation and target"),
            ({"raw/triplet-type-list": None}, "raw: triplet-type-list.csv.gz is missing"),
            ({"raw/num-node-dict": "author,institution,paper\n3,2\n"}, ":2: 2 fields, expected a number for each of 3 types"),
            ({"raw/num-node-dict": "author,institution,paper\n3,2,4\n3,2,4\n"}, ":3: numbers of a second graph"),
            ({"raw/num-node-dict": "author,institution,paper\n3,0,4\n"}, ':2: "0" nodes of type "institution", expected 1 to'),
            ({"raw/node-feat/paper/node-feat": "0.5,1\n-1,2\n"}, "node-feat.csv.gz: 2 lines, expected 4 as in num-node-dict"),
            ({"raw/node-label/paper/node-label": "1\n0\n"}, "2 lines, expected 4 as in num-node-dict"),
            ({"split/time/paper/valid": "0\n"}, "index 0 is already in train"), ({"split/time/paper/test": None}, "test.csv.gz is missing")):
        write_mag(**changes)
        refused("convert ogb mag x.h5", says=says)
        write_mag()
    refused("convert ogb mag x.h5 --node-tables node_month", says="no type has node_month.csv.gz")


def test_ogb_links():
    """ogbl-biokg's layout, whose pickles are refused."""
    files = {"raw/num-node-dict": "disease,drug\n3,4\n", "raw/triplet-type-list": "disease,disease-drug,drug\ndrug,drug-drug_pain,drug\n",
             "raw/relations/disease___disease-drug___drug/edge": "0,0\n2,3\n", "raw/relations/disease___disease-drug___drug/num-edge-list": "2\n",
             "raw/relations/disease___disease-drug___drug/edge_reltype": "0\n0\n", "raw/relations/drug___drug-drug_pain___drug/edge": "1,2\n",
             "raw/relations/drug___drug-drug_pain___drug/num-edge-list": "1\n", "raw/relations/drug___drug-drug_pain___drug/edge_reltype": "7\n"}
    for name, content in files.items():
        os.makedirs(os.path.dirname(f"biokg/{name}"), exist_ok=True)
        write(f"biokg/{name}.csv.gz", gzip.compress(content.encode()))
    os.makedirs("biokg/split/random", exist_ok=True)
    for part in ("train", "valid", "test"):
        write(f"biokg/split/random/{part}.pt", b"PK")
    refused("convert ogb biokg x.h5", says=("biokg/split/random/valid.pt: a pickle of torch, which is not read, expected valid.csv beside it", "docs/programs.md"))
    head = "head_type,head,relation,tail_type,tail\n"
    write("biokg/split/random/valid.csv", head + "disease,1,0,drug,2\n")
    write("biokg/split/random/test.csv", head + "drug,0,7,drug,3\ndrug,3,7,drug,3\n")
    expect(run("convert ogb biokg kg.h5"), "triples: 3 to train (raw/), 1 to validate, 2 to test")
    holds("kg.h5", {"nodes/drug@num_nodes": 4, "edges/disease-drug/src": [0, 2, 1], "edges/disease-drug/dst": [0, 3, 2],
                    "edges/disease-drug/splits/train": [0, 1], "edges/disease-drug/splits/val": [2], "edges/disease-drug/splits/test": [],
                    "edges/drug-drug_pain/src": [1, 0, 3], "edges/drug-drug_pain/dst": [2, 3, 3], "edges/drug-drug_pain/splits/train": [0],
                    "edges/drug-drug_pain/splits/val": [], "edges/drug-drug_pain/splits/test": [1, 2]})
    assert result_of("inspect kg.h5 --json")["problems"] == []
    for rows, says in (("drug,0,5,drug,3\n", 'test.csv:2: relation "5", expected a number of edge_reltype'),
                       ("disease,0,7,drug,3\n", "test.csv:2: disease and drug, expected drug and drug as relation 7 has"),
                       ("drug,0,7,drug,4\n", 'test.csv:2: "4", expected a node of "drug" from 0 to 3')):
        write("biokg/split/random/test.csv", head + rows)
        refused("convert ogb biokg x.h5", says=says)
    write("biokg/split/random/test.csv", "head,relation,tail\n0,7,3\n")
    refused("convert ogb biokg x.h5", says="head_type")
    refused("convert ogb biokg x.h5 --add-inverse-edges", status=2, says="--add-inverse-edges: expected none for triples")


for check in (test_ogb_nodes, test_ogb_links):
    check()
