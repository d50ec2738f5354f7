"""A data scientist's first hour: tables of one's own with names, missing cells, negative numbers and no split become a
dataset, a trained model, a plot, a report and a table of predictions. Mistakes on the way are said with what helps."""

import json
import math
import os
import random

from programs import expect, read, rows, run, write

KINDS = ["buyer", "seller, \"big\"", "Händler"]
HOMES = [(-40.0, 1200.0), (0.0, -300.0), (55.0, 500.0)]


def write_tables():
    """300 people of three kinds, linked mostly within their kind; a tenth of the incomes is missing, ten have no label."""
    rng = random.Random(3)
    kind = {f"person {i:03}": i % 3 for i in range(300)}
    people = list(kind)
    edges, features = [("from", "to")], [("name", "temperature", "income")]
    for person in people:
        for _ in range(4):
            same = [p for p in people if kind[p] == kind[person] and p != person]
            edges.append((person, rng.choice(same if rng.random() < 0.8 else people)))
    for person in people:
        home = HOMES[kind[person]]
        income = "" if rng.random() < 0.1 else f"{rng.gauss(home[1], 600.0):.2f}"
        features.append((person, f"{rng.gauss(home[0], 30.0):.3f}", income))
    write("edges.csv", edges)
    write("people.csv", features)
    write("kinds.csv", [("name", "kind"), *((person, KINDS[kind[person]]) for person in people[10:])])
    return kind


def convert():
    command = "convert edges edges.csv own.h5 --features people.csv --labels kinds.csv --undirected"
    expect(run(command, status=1), "people.csv:", "--impute")
    assert not os.path.exists("own.h5")
    expect(run(f"{command} --impute mean"), "header", "from,to", "people.csv", "kinds.csv", "300 nodes", "3 classes")
    expect(run("train_gcn own.h5", status=1), "splits: missing", "--split")
    run(f"{command} --impute mean --split 60,20,20 --seed 0 --stratified")
    expect(run("inspect own.h5"), "300, 0 isolated", "negative", *KINDS)


def train():
    expect(run("train_gcn own.h5 --epcohs 5", status=2), "did you mean '--epochs'?")
    expect(run("train_gcn missing.h5", status=1), "missing.h5")
    output = expect(run("train_gcn own.h5 --features-scaling standard --patience 50 --class-scores --plot curves.svg "
                        "--checkpoint gcn.h5 --json"), *KINDS, "precision", "recall")
    result = json.loads(output.splitlines()[-1])
    assert result["test_acc"] > 0.85, result
    assert result["epochs_run"] <= result["epochs"] and result["lr"] > 0
    expect(read("curves.svg"), "<svg", "validation")


def predict(kind):
    command = "predict --checkpoint gcn.h5 --data own.h5 --out predictions"
    expect(run(f"{command}.txt", status=2), ".csv")
    run(f"{command}.csv")
    run(f"{command}.jsonl")
    found, lines = rows("predictions.csv"), [json.loads(line) for line in read("predictions.jsonl").splitlines()]
    assert {row["node"] for row in found} == set(kind) and len(found) == len(lines) == 300
    right = sum(row["class"] == KINDS[kind[row["node"]]] for row in found)
    assert right / 300 > 0.85, right
    for row, line in zip(found, lines):
        shares = {name: float(row[f"probability_{name}"]) for name in KINDS}
        assert math.isclose(sum(shares.values()), 1.0, abs_tol=1e-5)
        assert max(shares, key=shares.get) == row["class"] == line["class"] and row["node"] == line["node"]


kind = write_tables()
convert()
train()
predict(kind)
