"""Measurements of different scale beside columns of 0 and 1: the default scaling standardises the former by name, every model
learns from them, and predictions use what was fitted. Means and deviations are numpy's."""

import csv
import json
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
PEOPLE = 1200


def run(program, *words):
    ran = subprocess.run([os.path.join(BIN, program), *words], capture_output=True, text=True)
    assert ran.returncode == 0, (program, words, ran.returncode, ran.stdout, ran.stderr)
    return ran.stderr + ran.stdout


def accuracy(output):
    return json.loads(output.splitlines()[-1])["test_acc"]


def write_tables(rng):
    """Three kinds of people whose ages, incomes and scores overlap; friends are mostly of one kind."""
    kind = rng.integers(0, 3, PEOPLE)
    x = np.column_stack([rng.normal([30, 45, 60], 9, (PEOPLE, 3))[np.arange(PEOPLE), kind].round(),
                         rng.normal([52e3, 30e3, 41e3], 9e3, (PEOPLE, 3))[np.arange(PEOPLE), kind].round(),
                         rng.normal([0.3, 0.5, 0.2], 0.12, (PEOPLE, 3))[np.arange(PEOPLE), kind].round(3),
                         rng.integers(0, 2, PEOPLE)])
    with open("people.csv", "w", encoding="utf-8") as f:
        f.write("id,age,income,score,member,kind\n")
        for k, row in enumerate(x):
            f.write(f"p{k},{row[0]:.0f},{row[1]:.0f},{row[2]:.3f},{row[3]:.0f},{'abc'[kind[k]]}\n")
    with open("friends.csv", "w", encoding="utf-8") as f:
        f.write("source,target\n")
        for k in range(PEOPLE):
            same, any_kind = rng.choice(np.flatnonzero(kind == kind[k]), 2), rng.integers(0, PEOPLE)
            for other in (*same, any_kind):
                if other != k:
                    f.write(f"p{k},p{other}\n")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    write_tables(np.random.default_rng(42))
    run("convert", "edges", "friends.csv", "people.h5", "--undirected", "--features", "people.csv", "--label", "kind",
        "--split", "60,20,20", "--seed", "1")
    for program in ("train_gcn", "train_sage", "train_gat", "train_gin"):
        output = run(program, "people.h5", "--json", "--checkpoint", program + ".h5", "--predict", "first.csv")
        assert "features: 3 of 4 columns standardised (age, income, score)" in output, output
        assert '"features_scaling": "real"' in output, output
        plain = accuracy(run(program, "people.h5", "--json", "--features-scaling", "none"))
        print(f"{program}: {accuracy(output):.3f}, unscaled {plain:.3f}")
        assert accuracy(output) > 0.94, (program, output)
        assert plain < accuracy(output) - 0.1, (program, plain)
        run("predict", "--checkpoint", program + ".h5", "--data", "people.h5", "--out", "again.csv")
        with open("first.csv", encoding="utf-8") as first, open("again.csv", encoding="utf-8") as again:
            assert first.read() == again.read()
    with h5py.File("people.h5") as data, h5py.File("train_gcn.h5") as model:
        rows = data["nodes/x"][:].astype(float)[data["splits/train"][:]]
        mean, deviation = model["tensors/features.mean"][:], model["tensors/features.deviation"][:]
    assert np.allclose(mean, [*rows[:, :3].mean(axis=0), 0], rtol=1e-5), mean
    assert np.allclose(deviation, [*rows[:, :3].std(axis=0), 1], rtol=1e-5), deviation

    # The decision is of the model, not of the table that it meets: here of two people, whose scores are 0 and 1.
    with open("next.csv", "w", encoding="utf-8") as f:
        f.write("member,score,income,age,id\n1,0,52000,30,a\n0,1,30000,45,b\n")
    with open("pairs.csv", "w", encoding="utf-8") as f:
        f.write("source,target\na,b\n")
    run("convert", "edges", "pairs.csv", "next.h5", "--undirected", "--features", "next.csv", "--like", "train_gcn.h5")
    run("predict", "--checkpoint", "train_gcn.h5", "--data", "next.h5", "--out", "raw.csv")
    with h5py.File("next.h5", "a") as data, h5py.File("train_gcn.h5", "a") as model:
        assert [name for name in model["tensors"] if name.startswith("features.")], list(model["tensors"])
        raw = data["nodes/x"][:]
        data["nodes/x"][:] = (raw - mean) / deviation
        model["facts"].attrs["features.scaling"] = "none"
    run("predict", "--checkpoint", "train_gcn.h5", "--data", "next.h5", "--out", "scaled.csv")
    tables = []
    for name in ("raw.csv", "scaled.csv"):
        with open(name, encoding="utf-8", newline="") as f:
            tables.append(list(csv.DictReader(f)))
    assert [row["node"] for row in tables[0]] == ["a", "b"], tables
    for one, other in zip(*tables):
        assert one["class"] == other["class"], tables
        for k in "abc":
            assert abs(float(one["probability_" + k]) - float(other["probability_" + k])) < 1e-5, tables
print("ok")
