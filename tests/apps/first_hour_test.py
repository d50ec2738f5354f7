"""A data scientist's first hour: tables of one's own with names, missing cells, negative numbers and no split become a
dataset, a trained model, a plot, a report and a table of predictions. Mistakes on the way are said with what helps."""

import csv
import json
import math
import os
import random
import subprocess
import tempfile

BIN = os.environ["ADJOINT_BIN_DIR"]
KINDS = ["buyer", "seller, \"big\"", "Händler"]
HOMES = [(-40.0, 1200.0), (0.0, -300.0), (55.0, 500.0)]


def run(program, *words, status=0):
    ran = subprocess.run([os.path.join(BIN, program), *words], capture_output=True, text=True)
    assert ran.returncode == status, (program, words, ran.returncode, ran.stdout, ran.stderr)
    return ran.stderr + ran.stdout


def expect(text, *parts):
    for part in parts:
        assert part in text, (part, text)


def write_tables():
    """300 people of three kinds, linked mostly within their kind; a tenth of the incomes is missing, ten have no label."""
    rng = random.Random(3)
    kind = {f"person {i:03}": i % 3 for i in range(300)}
    people = list(kind)
    with open("edges.csv", "w", newline="", encoding="utf-8") as f:
        rows = csv.writer(f)
        rows.writerow(["from", "to"])
        for person in people:
            for _ in range(4):
                same = [p for p in people if kind[p] == kind[person] and p != person]
                rows.writerow([person, rng.choice(same if rng.random() < 0.8 else people)])
    with open("people.csv", "w", newline="", encoding="utf-8") as f:
        rows = csv.writer(f)
        rows.writerow(["name", "temperature", "income"])
        for person in people:
            home = HOMES[kind[person]]
            income = "" if rng.random() < 0.1 else f"{rng.gauss(home[1], 600.0):.2f}"
            rows.writerow([person, f"{rng.gauss(home[0], 30.0):.3f}", income])
    with open("kinds.csv", "w", newline="", encoding="utf-8") as f:
        rows = csv.writer(f)
        rows.writerow(["name", "kind"])
        for person in people[10:]:
            rows.writerow([person, KINDS[kind[person]]])
    return kind


def convert():
    tables = ["edges.csv", "own.h5", "--features", "people.csv", "--labels", "kinds.csv", "--undirected"]
    output = run("convert", "edges", *tables, status=1)
    expect(output, "people.csv:", "--impute")
    assert not os.path.exists("own.h5")
    output = run("convert", "edges", *tables, "--impute", "mean")
    expect(output, "header", "from,to", "people.csv", "kinds.csv", "300 nodes", "3 classes")
    output = run("train_gcn", "own.h5", status=1)
    expect(output, "splits: missing", "--split")
    run("convert", "edges", *tables, "--impute", "mean", "--split", "60,20,20", "--seed", "0", "--stratified")
    output = run("inspect", "own.h5")
    expect(output, "300, 0 isolated", "negative", *KINDS)


def train():
    expect(run("train_gcn", "own.h5", "--epcohs", "5", status=2), "did you mean '--epochs'?")
    expect(run("train_gcn", "missing.h5", status=1), "missing.h5")
    output = run("train_gcn", "own.h5", "--features-scaling", "standard", "--patience", "50", "--class-scores", "--plot",
                 "curves.svg", "--checkpoint", "gcn.h5", "--json")
    expect(output, *KINDS, "precision", "recall")
    result = json.loads(output.splitlines()[-1])
    assert result["test_acc"] > 0.85, result
    assert result["epochs_run"] <= result["epochs"] and result["lr"] > 0
    with open("curves.svg", encoding="utf-8") as f:
        expect(f.read(), "<svg", "validation")
    return result


def predict(kind, result):
    expect(run("predict", "--checkpoint", "gcn.h5", "--data", "own.h5", "--out", "predictions.txt", status=2), ".csv")
    run("predict", "--checkpoint", "gcn.h5", "--data", "own.h5", "--out", "predictions.csv")
    run("predict", "--checkpoint", "gcn.h5", "--data", "own.h5", "--out", "predictions.jsonl")
    with open("predictions.csv", newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    with open("predictions.jsonl", encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    assert {row["node"] for row in rows} == set(kind) and len(rows) == len(lines) == 300
    right = sum(row["class"] == KINDS[kind[row["node"]]] for row in rows)
    assert right / 300 > 0.85, right
    for row, line in zip(rows, lines):
        shares = {name: float(row[f"probability_{name}"]) for name in KINDS}
        assert math.isclose(sum(shares.values()), 1.0, abs_tol=1e-5)
        assert max(shares, key=shares.get) == row["class"] == line["class"] and row["node"] == line["node"]


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    kind = write_tables()
    convert()
    predict(kind, train())
