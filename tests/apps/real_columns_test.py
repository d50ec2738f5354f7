"""Measurements of different scale beside columns of 0 and 1: the default scaling standardises the former by name, every model
learns from them, and predictions use what was fitted. Means and deviations are numpy's."""

import json

from programs import expect, h5py, np, read, result_of, rows, run, write

PEOPLE = 1200


def write_tables(rng):
    """Three kinds of people whose ages, incomes and scores overlap; friends are mostly of one kind."""
    kind = rng.integers(0, 3, PEOPLE)
    x = np.column_stack([rng.normal([30, 45, 60], 9, (PEOPLE, 3))[np.arange(PEOPLE), kind].round(),
                         rng.normal([52e3, 30e3, 41e3], 9e3, (PEOPLE, 3))[np.arange(PEOPLE), kind].round(),
                         rng.normal([0.3, 0.5, 0.2], 0.12, (PEOPLE, 3))[np.arange(PEOPLE), kind].round(3),
                         rng.integers(0, 2, PEOPLE)])
    write("people.csv", "id,age,income,score,member,kind\n" + "".join(
        f"p{k},{row[0]:.0f},{row[1]:.0f},{row[2]:.3f},{row[3]:.0f},{'abc'[kind[k]]}\n" for k, row in enumerate(x)))
    friends = [("source", "target")]
    for k in range(PEOPLE):
        same, any_kind = rng.choice(np.flatnonzero(kind == kind[k]), 2), rng.integers(0, PEOPLE)
        friends += [(f"p{k}", f"p{other}") for other in (*same, any_kind) if other != k]
    write("friends.csv", friends)


write_tables(np.random.default_rng(42))
run("convert edges friends.csv people.h5 --undirected --features people.csv --label kind --split 60,20,20 --seed 1")
for program in ("train_gcn", "train_sage", "train_gat", "train_gin"):
    output = expect(run(f"{program} people.h5 --json --checkpoint {program}.h5 --predict first.csv"),
                    "features: 3 of 4 columns standardised (age, income, score)", '"features_scaling": "real"')
    accuracy = json.loads(output.splitlines()[-1])["test_acc"]
    plain = result_of(f"{program} people.h5 --json --features-scaling none")["test_acc"]
    print(f"{program}: {accuracy:.3f}, unscaled {plain:.3f}")
    assert accuracy > 0.94, (program, output)
    assert plain < accuracy - 0.1, (program, plain)
    run(f"predict --checkpoint {program}.h5 --data people.h5 --out again.csv")
    assert read("first.csv") == read("again.csv")
with h5py.File("people.h5") as data, h5py.File("train_gcn.h5") as model:
    x = data["nodes/x"][:].astype(float)[data["splits/train"][:]]
    mean, deviation = model["tensors/features.mean"][:], model["tensors/features.deviation"][:]
assert np.allclose(mean, [*x[:, :3].mean(axis=0), 0], rtol=1e-5), mean
assert np.allclose(deviation, [*x[:, :3].std(axis=0), 1], rtol=1e-5), deviation

# The decision is of the model, not of the table that it meets: here of two people, whose scores are 0 and 1.
write("next.csv", "member,score,income,age,id\n1,0,52000,30,a\n0,1,30000,45,b\n")
write("pairs.csv", "source,target\na,b\n")
run("convert edges pairs.csv next.h5 --undirected --features next.csv --like train_gcn.h5")
run("predict --checkpoint train_gcn.h5 --data next.h5 --out raw.csv")
with h5py.File("next.h5", "a") as data, h5py.File("train_gcn.h5", "a") as model:
    assert [name for name in model["tensors"] if name.startswith("features.")], list(model["tensors"])
    data["nodes/x"][:] = (data["nodes/x"][:] - mean) / deviation
    model["facts"].attrs["features.scaling"] = "none"
run("predict --checkpoint train_gcn.h5 --data next.h5 --out scaled.csv")
tables = [rows(name) for name in ("raw.csv", "scaled.csv")]
assert [row["node"] for row in tables[0]] == ["a", "b"], tables
for one, other in zip(*tables):
    assert one["class"] == other["class"], tables
    for k in "abc":
        assert abs(float(one["probability_" + k]) - float(other["probability_" + k])) < 1e-5, tables
print("ok")
