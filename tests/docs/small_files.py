"""Small files under the names that the pages use, in the current folder."""
import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np

from from_adjoint import pyg_state

EDGES = [(i, (i + step) % 100) for i in range(100) for step in (1, 7)]
OGB = {"edge": "0,1\n1,0\n2,0\n0,2\n", "node-feat": "1,2\n3,4\n5,6\n7,8\n9,10\n11,12\n"}
NODES = {"raw/num-node-list": "6\n", "raw/num-edge-list": "4\n", "raw/node-label": "2\n0\n1\n2\n0\n1\n",
         "split/time/train": "3\n0\n", "split/time/valid": "1\n4\n", "split/time/test": "2\n5\n"}
GRAPHS = {"raw/num-node-list": "2\n1\n3\n", "raw/num-edge-list": "2\n0\n2\n", "raw/graph-label": "0,0,0,1\n1,1,1,0\n0,1,0,1\n",
          "split/scaffold/train": "0\n", "split/scaffold/valid": "1\n", "split/scaffold/test": "2\n"}


def write(path, text):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    (gzip.open if str(path).endswith(".gz") else open)(path, "wt").write(text)


def lines(rows, *first):
    return "".join(",".join(map(str, row)) + "\n" for row in [*first, *rows])


def save_safetensors(path, arrays):
    header, offset = {}, 0
    for name, values in arrays.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header).encode()
    Path(path).write_bytes(len(text).to_bytes(8, "little") + text + b"".join(values.tobytes() for values in arrays.values()))


def run(command):
    subprocess.run(command.split(), check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def write_tables():
    for name in ("edges.csv", "links.csv"):
        write(name, lines(EDGES, ("src", "dst")))
    for name, gap in {"people.csv": "", "nodes.csv": 1}.items():
        write(name, lines([(i, i % 3, gap if i == 5 else i % 7) for i in range(100)], ("id", "age", "height")))
    write("payments.csv", lines([(a, b, a % 9, "ny"[a % 4 == 0]) for a, b in EDGES], ("source", "target", "amount", "fraud")))
    write("accounts.csv", lines([(i, i % 4, i % 7) for i in range(100)], ("id", "kind", "age")))
    write("purchases.csv", lines([(("ann", "bob", f"u{i}")[min(i, 2)], f"i{i * k % 11}", 100 * i + k) for i in range(12) for k in range(1, 9)],
                                 ("user", "item", "when")))
    write("joined.csv", lines([(i, 2015 + i % 6) for i in range(100)], ("id", "joined")))
    write("parts.csv", lines([(i, ("train", "val", "test")[i % 3]) for i in range(100)], ("id", "part")))
    for name in ("kinds.csv", "classes.csv"):
        write(name, lines([(i, "ab"[i % 3 == 0]) for i in range(100)], ("id", "kind")))
    write("web-Google.txt.gz", lines(EDGES).replace(",", "\t"))
    write("matrix.mtx.gz", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n2 3 1\n")
    np.savez("adjacency.npz", adjacency=np.ones((4, 4), np.uint8) - np.eye(4, dtype=np.uint8))
    with sqlite3.connect("shop.db") as shop:
        shop.execute("CREATE TABLE orders (source, target)")
        shop.execute("CREATE TABLE people (id, age, kind)")
        shop.executemany("INSERT INTO orders VALUES (?, ?)", EDGES)
        shop.executemany("INSERT INTO people VALUES (?, ?, ?)", [(i, 18 + i % 50, "ab"[i % 2]) for i in range(100)])
    for name, files in {"ogbn_arxiv": NODES, "ogbn_products": NODES, "ogbg_moltox21": GRAPHS}.items():
        for part, text in {**{f"raw/{part}": text for part, text in OGB.items()}, **files}.items():
            write(f"dataset/{name}/{part}.csv.gz", text)
    mag = {"raw/num-node-dict": "author,paper\n2,3\n", "raw/triplet-type-list": "author,writes,paper\npaper,cites,paper\n",
           "raw/relations/author___writes___paper/edge": "0,2\n1,0\n", "raw/relations/paper___cites___paper/edge": "0,1\n2,0\n",
           "raw/node-label/paper/node-label": "1\n0\n1\n", "raw/node-feat/paper/node_year": "2015\n2018\n2019\n",
           **{f"split/time/paper/{part}": f"{paper}\n" for paper, part in enumerate(("train", "valid", "test"))},
           **{f"raw/relations/{name}___paper/num-edge-list": "2\n" for name in ("author___writes", "paper___cites")}}
    for part, text in mag.items():
        write(f"dataset/ogbn_mag/{part}.csv.gz", text)
    write_triples()
    rings = [(3 * graph + i + 1, 3 * graph + (i + 1) % 3 + 1) for graph in range(40) for i in range(3)]  # of three nodes
    tu = {"A": lines([*rings, *(edge[::-1] for edge in rings)]), "graph_indicator": lines([[i // 3 + 1] for i in range(120)]),
          "graph_labels": lines([[graph % 2] for graph in range(40)]),
          "node_attributes": lines([[i % 5, i // 3 % 2] for i in range(120)])}
    for name, text in tu.items():
        write(f"dataset/PROTEINS/raw/PROTEINS_{name}.txt", text)


def write_triples():
    facts = [(f"http://e.org/{i}", "http://e.org/knows", f"http://e.org/{(i + 1) % 20}") for i in range(20)]
    for name in ("aifb_stripped.nt.gz", "more.nt.gz"):
        write(name, "".join("<{}> <{}> <{}> .\n".format(*fact) for fact in facts))
    for part, heads in {"train": range(18), "valid": [18], "test": [19]}.items():
        write(f"WN18RR/{part}.txt", "".join(f"{i}\tnext\t{(i + 1) % 20}\n" for i in heads))
    write("queries.csv", "head,relation,tail\n3,next,\n,next,7\n")
    write("facts.ttl", "@prefix e: <http://e.org/> .\ne:1 e:age 30 ; e:knows [ e:name \"Ann\" ] .\n")
    for name, people in {"trainingSet.tsv": range(14), "testSet.tsv": range(14, 20)}.items():
        write(name, "person\tlabel_group\n" + "".join(f"http://e.org/{i}\t{'ab'[i % 2]}\n" for i in people))
    for part in ("train", "valid", "test"):
        write(f"{part}.txt", "".join("\t".join(fact) + "\n" for fact in facts))
        write(f"FB15k-237/{part}2id.txt", "2\n0 1 0\n1 0 0\n")
    write("FB15k-237/entity2id.txt", "2\n/m/a\t0\n/m/b\t1\n")
    write("FB15k-237/relation2id.txt", "1\n/r/of\t0\n")


def write_datasets():
    run("build/bin/generate citation cora.h5 --nodes 400 --features 1433 --train-per-class 10 --val 100 --test 100")
    run("build/bin/generate planted large.h5 --nodes 400 --features 16 --classes 2")
    run("build/bin/convert edges payments.csv payments.h5 --features accounts.csv --edge-label fraud --split 60,20,20")
    run("build/bin/convert tu dataset/PROTEINS/raw PROTEINS.h5 --node-attributes")
    for name, copies in {"cora": "arxiv mag other", "large": "tolokers products big web in FILE net", "PROTEINS": "mutag proteins"}.items():
        for copy in copies.split():
            shutil.copy(f"{name}.h5", f"{copy}.h5")
    with h5py.File("net.h5", "a") as net:  # named, and without features and splits
        names = [b"node%d" % i for i in range(400)]
        net["nodes/name"] = np.frombuffer(b"".join(names), np.uint8)
        net["nodes/name_offsets"] = np.cumsum([0, *map(len, names)])
        del net["nodes/x"], net["splits"]


def write_models():
    for name in ("gcn", "gat"):
        run(f"build/bin/train_{name} cora.h5 --epochs 2 --quiet --checkpoint {name}.h5")
    run("build/bin/train_graph_qgin proteins.h5 --epochs 1 --quiet --split 0 --checkpoint graphs.h5")
    run("build/bin/predict cora.h5 --checkpoint gcn.h5 --quiet --out predictions.h5")
    save_safetensors("gat.safetensors", pyg_state("gat.h5", {"convs.0": "conv1", "convs.1": "conv2"}))
    state = {f"head.{part}.{name}": values for part in ("lins.0", "lins.1", "0", "3")
             for name, values in (("weight", np.eye(3, dtype=np.float32)), ("bias", np.zeros(3, np.float32)))}
    ours, theirs = ({name: values for name, values in state.items() if ("lins" in name) == own} for own in (True, False))
    save_safetensors("model.safetensors", ours)
    save_safetensors("theirs.safetensors", theirs)
    with h5py.File("model.h5", "w") as file:
        for name, values in ours.items():
            file[name] = values


def write_all():
    write_tables()
    write_datasets()
    write_models()
