"""`train_kge` against numpy: ranks and predictions from the vectors that it writes, resumed trainings, refusals."""

import json
import os

from programs import expect, h5py, np, refused, result_of, rows, run, texts, write

N, STEPS = 60, {"plus one": 1, "plus seven": 7}
FACTS = [(f"n {i}", name, f"n {(i + step) % N}") for name, step in STEPS.items() for i in range(N)]
PARTS = {"train": [], "valid": [], "test": []}
for k, fact in enumerate(FACTS):
    PARTS["valid" if k % 9 == 0 else "test" if k % 9 == 1 else "train"].append(fact)
PARTS["test"].append(("n 3", "plus one", "never, \"seen\""))


def tables():
    os.makedirs("circle", exist_ok=True)
    for part, facts in PARTS.items():
        write(f"circle/{part}.txt", "".join("\t".join(fact) + "\n" for fact in facts))
    run("convert triples circle circle.h5")


def vectors(path):
    with h5py.File(path) as f:
        return dict(zip(texts(f["nodes"], "name"), f["nodes/embedding"][:].astype(float)))


def score(model, h, r, t):
    half = h.shape[-1] // 2
    if model == "transe":
        return -np.abs(h + r - t).sum(-1)
    if model == "distmult":
        return (h * r * t).sum(-1)
    h, t = h[..., :half] + 1j * h[..., half:], t[..., :half] + 1j * t[..., half:]
    if model == "rotate":
        return -np.abs(h * np.exp(1j * r) - t).sum(-1)
    return (h * (r[:half] + 1j * r[half:]) * t.conj()).real.sum(-1)


def test_ranks_and_predictions():
    """Both sides, filtered by all parts; an entity without training counts, and names with commas and quotes hold."""
    every = {fact for facts in PARTS.values() for fact in facts}
    write("q.csv", [["relation", "head", "tail"], ["plus one", "n 5", ""], ["plus seven", "", "n 9"], ["plus one", "", "never, \"seen\""]])
    for model in ("transe", "distmult", "complex", "rotate"):
        found = result_of(f"train_kge circle.h5 --model {model} --training negatives --width 16 --negatives 20 --epochs 30 --batch-size 32 "
                          "--lr 0.02 --deviation 0.3 --predict q.csv --out p.csv --top 4 --embeddings e.h5 --relation-embeddings r.h5 --json --quiet")
        e, r = vectors("e.h5"), vectors("r.h5")
        names = list(e)
        assert set(names) == {end for fact in every for end in (fact[0], fact[2])} and set(r) == set(STEPS)
        matrix = np.array([e[name] for name in names])

        def candidates(fact, side):
            """Scores of entities at that side, by name, without those that make another known triple."""
            values = score(model, matrix if side == 0 else e[fact[0]], r[fact[1]], matrix if side == 2 else e[fact[2]])
            triples = [(name, fact[1], fact[2]) if side == 0 else (fact[0], fact[1], name) for name in names]
            return {name: value for name, value, triple in zip(names, values, triples) if triple not in every or triple == fact}

        ranks = []
        for fact in PARTS["test"]:
            for side in (0, 2):
                scores = candidates(fact, side)
                truth = scores[fact[side]]
                ranks.append(1 + sum(value > truth + 1e-6 for name, value in scores.items() if name != fact[side]))
        ranks = np.array(ranks)
        assert abs((1 / ranks).mean() - found["test_mrr"]) < 1e-3, (model, (1 / ranks).mean(), found)
        assert abs((ranks <= 10).mean() - found["test_hits_10"]) < 0.02 and found["test_hits_1"] <= found["test_hits_3"] <= found["test_hits_10"]
        written = rows("p.csv")
        for place, (fact, side) in enumerate(((("n 5", "plus one", ""), 2), (("", "plus seven", "n 9"), 0), (("", "plus one", "never, \"seen\""), 0))):
            best = sorted(((value, name) for name, value in candidates(fact, side).items()), reverse=True)[:4]
            mine = written[4 * place:4 * place + 4]
            assert [row["rank"] for row in mine] == ["1", "2", "3", "4"]
            np.testing.assert_allclose([float(row["score"]) for row in mine], [value for value, _ in best], rtol=1e-4, atol=1e-5)
            assert all((row["head"], row["relation"], row["tail"])[2 - side] == fact[2 - side] for row in mine)


def test_messages_and_splits():
    text = run("train_kge circle.h5 --width 8 --epochs 2")
    expect(text, "circle: 61 entities, 2 relations", "1 of 15 test triples have an entity that no training triple has; they are kept", "test MRR")
    write("whole.txt", "".join("\t".join(fact) + "\n" for fact in FACTS))
    run("convert triples whole.txt whole.h5")
    expect(run("train_kge whole.h5 --width 8 --epochs 1 --val 0.1 --test 0.2 --seed 3"),
           "whole.h5 has no split of edges: 84 triples train, 12 validate, 24 test, drawn by --seed 3")


def test_resume():
    """A training that was stopped goes on to the same bits, by dense and by sparse updates."""
    for more in ("--training kvsall --dropout 0.2", "--training negatives --negatives 9 --schedule none", "--model rescal --width 6"):
        line = f"train_kge circle.h5 --quiet --json --eval-every 2 {more}" + ("" if "rescal" in more else " --width 8")
        run(f"{line} --epochs 6 --embeddings whole.npy --metrics whole.csv")
        run(f"{line} --epochs 4 --checkpoint c.h5 --metrics part.csv")
        run(f"{line} --epochs 6 --resume c.h5 --embeddings part.npy --metrics part.csv")
        for kind in ("npy", "csv"):
            assert open(f"whole.{kind}", "rb").read() == open(f"part.{kind}", "rb").read(), (more, kind)
        refused(f"{line} --epochs 6 --resume c.h5 --metrics part.csv --lr 0.5", says="was trained with --lr")
        refused(f"{line} --epochs 3 --resume c.h5 --metrics part.csv", says="--resume after 4 epochs, expected at most --epochs 3")
    run("train_kge circle.h5 --quiet --width 8 --training negatives --epochs 4 --checkpoint c2.h5")
    refused("train_kge circle.h5 --quiet --width 8 --training negatives --epochs 6 --resume c2.h5", says="was trained with --epochs 4")
    run("convert triples circle/train.txt other.h5")
    refused("train_kge other.h5 --quiet --width 6 --model rescal --eval-every 2 --epochs 6 --resume c.h5 --metrics part.csv", says="another dataset")
    many = run("train_kge circle.h5 --quiet --width 8 --epochs 60 --eval-every 1 --patience 3 --lr 1e-9 --json")
    assert json.loads(many)["epochs"] < 60


def test_run_folders():
    """A folder has the run's options and results: its run.json repeats it with any usual values, and `compare` ranks it."""
    several = ("--model distmult", "--training kvsall --loss bce --penalty none", "--training negatives --loss softmax --negatives 9 --width 8",
               "--model transe --negatives 9 --width 8 --penalty l2 --penalty-weight 0.1")
    for k, words in enumerate(several):
        found = result_of(f"train_kge circle.h5 --quiet --json --epochs {3 + 2 * k} --eval-every 2 {words} --run-dir runs/{k} --embeddings a.npy")
        assert sorted(os.listdir(f"runs/{k}")) == ["checkpoint.h5", "metrics.csv", "run.json"]
        with open(f"runs/{k}/run.json") as f:
            written = json.load(f)
        assert written["finished"] and written["result"] == found and found["val_acc"] == found["val_mrr"], words
        again = result_of(f"train_kge --config runs/{k}/run.json --quiet --json --embeddings b.npy")
        assert open("a.npy", "rb").read() == open("b.npy", "rb").read() and again["test_acc"] == found["test_acc"], words
    best = max(range(4), key=lambda k: json.load(open(f"runs/{k}/run.json"))["result"]["val_mrr"])
    expect(run("compare " + " ".join(f"runs/{k}" for k in range(4))), "mrr on circle", f"* {best}", "by validation (val_acc), higher is better")
    write("kge.conf", "# a comment\nmodel = transe\nwidth = 8\nepochs = 4\n")
    assert result_of("train_kge circle.h5 --config kge.conf --epochs 2 --negatives 9 --quiet --json")["epochs"] == 2
    for line, says in (("circle.h5 --run-dir runs/0", "already holds a run"), ("circle.h5 --config none.conf", "none.conf"),
                       ("none.h5 --run-dir runs/new", "none.h5")):
        refused(f"train_kge {line} --quiet", says=says)
    assert not os.path.exists("runs/new")
    write("bad.conf", "model = transe\nwidht = 8\n")
    refused("train_kge circle.h5 --config bad.conf", status=2, says="did you mean 'width'?")
    run("train_kge circle.h5 --quiet --model distmult --eval-every 2 --epochs 6 --run-dir runs/0 --resume runs/0/checkpoint.h5")
    assert json.load(open("runs/0/run.json"))["result"]["epochs"] == 6


def test_refusals():
    for line, says in (("", "expected train_kge DATA.h5"), ("circle.h5 --model transh", "--model"),
                       ("circle.h5 --width 7", "--width 7: expected an even number for complex"),
                       ("circle.h5 --negatives 5", "--negatives: requires --training negatives"),
                       ("circle.h5 --training negatives --loss softmax --margin 2", "--margin: requires --loss bce"),
                       ("circle.h5 --loss bce", "--loss bce: conflicts with --training 1vsall"),
                       ("circle.h5 --schedule step", "--schedule step: expected none, linear or cosine"), ("circle.h5 --norm 2", "--norm: requires --model transe"),
                       ("circle.h5 --penalty none --penalty-weight 1", "--penalty-weight: requires a --penalty"),
                       ("circle.h5 --val 0.6 --test 0.5", "nothing is left to train on"),
                       ("circle.h5 --predict q.csv", "--predict: requires --out"), ("circle.h5 --out p.csv", "--out: requires --predict"),
                       ("circle.h5 --checkpoint circle.h5", "is also the file of --data"), ("circle.h5 --embeddings e.txt", "--embeddings"),
                       ("circle.h5 --epochs 0", "--epochs"), ("circle.h5 --device tpu", "tpu")):
        refused(f"train_kge {line}", status=2, says=says)
    refused("train_kge none.h5", says="none.h5")
    for content, says in (("n 5,plus one,\nn 5,plus two,\n", "bad.csv:2: no relation 'plus two'"), ("n 5,plus one\n", "bad.csv:1: 2 fields, expected 3"),
                          ("n 500,plus one,\n", "bad.csv:1: no entity 'n 500'; did you mean"), ("n 5,plus one,n 6\n", "bad.csv:1: two entities"),
                          (",plus one,\n", "bad.csv:1: no entity"), ("head,relation,tail\n", "bad.csv: no queries")):
        write("bad.csv", content)
        refused("train_kge circle.h5 --width 8 --epochs 1 --quiet --predict bad.csv --out p.csv", says=says)


tables()
for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
