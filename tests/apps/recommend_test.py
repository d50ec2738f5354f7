"""`train_recommend` against numpy: splits, vectors, metrics and recommendations; other files, resumed trainings, refusals."""

import json
import os

from programs import expect, h5py, np, refused, result_of, rows, run, texts, write

SMALL = "--width 16 --batch-size 100 --eval-every 5"


def parts_in(path):
    """Names and interactions that a checkpoint has."""
    with h5py.File(path) as f:
        group = f["tensors"]
        parts = {part: [tuple(pair) for pair in group[f"interactions.{part}"][:].tolist()] for part in ("train", "val", "test")}
        return texts(group, "interactions.user"), texts(group, "interactions.item"), parts


def edges_in(path, edge="user:took:item"):
    with h5py.File(path) as f:
        for group in f["edges"].values():
            return list(zip(group["src"][:].tolist(), group["dst"][:].tolist()))


def sets_of(pairs, users):
    found = [set() for _ in range(users)]
    for user, item in pairs:
        found[user].add(item)
    return found


def lists_of(u, v, left_out, k):
    """The k best of each user in float64, of equal scores the first, without those left out."""
    scores = u.astype(float) @ v.astype(float).T
    for user, items in enumerate(left_out):
        scores[user, list(items)] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return [[int(item) for item in row if scores[user, item] > -np.inf] for user, row in enumerate(best)]


def measured(lists, wanted, k, items, popularity):
    """By their definitions, over users with items to be found."""
    found = {name: [] for name in ("recall", "precision", "f1", "map", "ndcg", "mrr", "hit_ratio", "popularity")}
    covered = set()
    for one, relevant in zip(lists, wanted):
        if not relevant:
            continue
        covered.update(one)
        hits = [item in relevant for item in one]
        best = sum(1 / np.log2(j + 2) for j in range(min(k, len(relevant))))
        precision, recall = sum(hits) / k, sum(hits) / len(relevant)
        found["precision"].append(precision)
        found["recall"].append(recall)
        found["f1"].append(2 * precision * recall / (precision + recall) if any(hits) else 0)
        found["map"].append(sum(sum(hits[:j + 1]) / (j + 1) for j in range(len(one)) if hits[j]) / min(k, len(relevant)))
        found["ndcg"].append(sum(1 / np.log2(j + 2) for j in range(len(one)) if hits[j]) / best)
        found["mrr"].append(max((1 / (j + 1) for j in range(len(one)) if hits[j]), default=0))
        found["hit_ratio"].append(any(hits))
        found["popularity"].append(np.mean([popularity[item] for item in one]))
    return {**{name: np.mean(values) for name, values in found.items()}, "coverage": len(covered) / items, "users": len(found["recall"])}


def propagated(x, pairs, users, alphas):
    a = np.zeros((len(x), len(x)))
    for user, item in pairs:
        a[user, users + item] = a[users + item, user] = 1
    degree = a.sum(1)
    root = np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1)), 0)
    a = root[:, None] * a * root
    y = alphas[0] * x
    for alpha in alphas[1:]:
        x = a @ x
        y = y + alpha * x
    return y


def test_against_numpy():
    """All that the program says of a training is what its file of vectors and its checkpoint give; it learns the tastes."""
    run("generate tastes t.h5 --users 120 --items 60 --tastes 4 --interactions 14 --seed 3")
    for more, alphas, least in (("", [0.25] * 4, 0.3), ("--layers 1 --alphas 0.3,2 --metric ndcg", [0.3, 2], 0.2)):
        found = result_of(f"train_recommend t.h5 {SMALL} --epochs 30 --lr 0.02 --k 7 --checkpoint c.h5 --embeddings u.npy --item-embeddings i.npy "
                          f"--out r.csv --top 5 --json --quiet {more}")
        users, items, parts = parts_in("c.h5")
        every = sorted(pair for pairs in parts.values() for pair in pairs)
        assert every == sorted(edges_in("t.h5")) and (len(users), len(items)) == (120, 60)
        of_user = {part: sets_of(pairs, 120) for part, pairs in parts.items()}
        for user in range(120):
            n = sum(len(of_user[part][user]) for part in parts)
            assert len(of_user["val"][user]) == len(of_user["test"][user]) == int(0.1 * n + 0.5), user
        u, v = np.load("u.npy")["embedding"], np.load("i.npy")["embedding"]
        with h5py.File("c.h5") as f:
            x = f["tensors/best.embedding.weight"][:].astype(float)
        np.testing.assert_allclose(np.concatenate([u, v]), propagated(x, parts["train"], 120, alphas), rtol=1e-4, atol=1e-6)
        popularity = np.bincount([item for _, item in parts["train"]], minlength=60)
        known = sets_of(parts["train"] + parts["val"], 120)
        for part, left_out in (("val", of_user["train"]), ("test", known)):
            for name, value in measured(lists_of(u, v, left_out, 7), of_user[part], 7, 60, popularity).items():
                assert abs(found[f"{part}_{name}"] - value) < 2e-3, (part, name, value, found)
        assert found["metric"] == ("ndcg@7" if more else "recall@7") and found["test_acc"] == found["test_ndcg" if more else "test_recall"]
        assert found["test_recall"] > least, found
        wanted = [[users[user], items[item], str(rank + 1)] for user, one in
                  enumerate(lists_of(u, v, sets_of(every, 120), 5)) for rank, item in enumerate(one)]
        written = rows("r.csv")
        assert sum([row["user"], row["item"], row["rank"]] == want for row, want in zip(written, wanted)) > 0.98 * len(wanted) == 0.98 * len(written)


def test_tables():
    """From a CSV with times: the latest test, pairs count once at their first time, names have any characters."""
    table = [["user", "item", "when", "stars"]]
    for user in range(30):
        for k in range(6):
            table.append([f'u "{user}", x', f"i,{(user + k * k) % 20}", 1000 * ((user * 7 + k) % 11) + k, 5])
    table += [['u "3", x', "i,3", 99999, 1], ["new", "i,1", 5, 2]]
    write("t.csv", table)
    run("convert tables own.h5 --edges user:rated:item=t.csv --time when --weight stars")
    text = run(f"train_recommend own.h5 {SMALL} --epochs 5 --val 0.2 --test 0.2 --checkpoint c.h5 --out r.jsonl --top 50")
    expect(text, "own.h5: 1 edges repeat another", "weights of edges are passed over", "own.h5 has no split of edges: 121 interactions train, 30 validate, "
           "30 test, of each user the latest, by time", "test of 30 users (1 without items to test passed over), lists of 20 items", "hit_ratio", "181 known")
    users, items, parts = parts_in("c.h5")
    first = {}
    for user, item, when, _ in table[1:]:
        first[user, item] = min(int(when), first.get((user, item), 1 << 40))
    for user in {user for user, _ in first}:
        order = sorted((time, pair[1]) for pair, time in first.items() if pair[0] == user)
        mine = {part: {items[i] for u, i in pairs if users[u] == user} for part, pairs in parts.items()}
        assert len(order) == 1 or (mine["test"], mine["val"]) == ({order[-1][1]}, {order[-2][1]}), (user, order, mine)
    answers = [json.loads(line) for line in open("r.jsonl")]
    for user in users:  # the last rank is of the last item that is new
        mine = [answer for answer in answers if answer["user"] == user]
        assert {answer["item"] for answer in mine} == set(items) - {item for u, item in first if u == user}
        assert [answer["rank"] for answer in mine] == list(range(1, len(mine) + 1))
    expect(run(f"train_recommend own.h5 {SMALL} --epochs 1 --val 0.2 --test 0.2 --split-by random --seed 4"), "drawn for each user by --seed 4")
    parts = ["train", "train", "train", "val", "test", "", "train", "test"]
    write("p.csv", [["user", "item", "part"], *([f"u{k % 9}", f"i{k // 9}", parts[(k // 9 + k) % 7]] for k in range(63)), ["u0", "i0", "test"], ["cold", "i1", "test"]])
    run("convert tables p.h5 --edges user:took:item=p.csv --split-column part")
    text = run(f"train_recommend p.h5 {SMALL} --epochs 2 --out r.csv")
    expect(text, "p.h5: 9 edges are in no part of the split and passed over", "1 of 10 users have no interaction to train on",
           "1 edges to validate or test repeat one of an earlier part", "r.csv: 1 users without an interaction in training are passed over: cold")
    refused("train_recommend p.h5 --split-by random --quiet", status=2, says="--split-by: conflicts with the split that p.h5 has")


def test_other_files():
    """`predict` goes by names: other users and orders, further interactions; it refuses names that it does not know."""
    run("generate tastes t.h5 --users 50 --items 40 --tastes 2 --interactions 8")
    run(f"train_recommend t.h5 {SMALL} --epochs 10 --checkpoint c.h5 --embeddings u.npy --item-embeddings i.npy --out own.csv --top 6 --quiet")
    run("predict t.h5 --checkpoint c.h5 --out again.csv --top 6")
    assert open("own.csv").read() == open("again.csv").read()
    lists = {}
    for row in rows("own.csv"):
        lists.setdefault(row["user"], []).append(row["item"])
    user, other = "user31", "user4"
    write("more.csv", [["user", "item"], [user, lists[user][0]], [other, lists[other][2]], [user, lists[user][1]]])
    run("convert tables more.h5 --edges user:bought:item=more.csv --header yes")
    expect(run("predict more.h5 --checkpoint c.h5 --out m.csv --top 3"), "edges user:bought:item are taken for user:took:item", "m.csv: 6 items for 2 users")
    found = [(row["user"], row["item"]) for row in rows("m.csv")]
    assert found == [(user, item) for item in lists[user][2:5]] + [(other, item) for item in (*lists[other][:2], lists[other][3])]
    found = result_of(f"predict more.h5 --checkpoint c.h5 --out m.csv --nodes {other} --json --quiet")
    assert found["users"] == 1 and [row["user"] for row in rows("m.csv")] == [other] * 10
    for row, says in ((["user5O", "item3"], "bad.h5: user 'user5O' is none of the 50 that c.h5 was trained on; did you mean"),
                      (["user5", "tape"], "bad.h5: item 'tape' is none of the 40 that c.h5")):
        write("bad.csv", [["user", "item"], row])
        run("convert tables bad.h5 --edges user:took:item=bad.csv --header yes")
        refused("predict bad.h5 --checkpoint c.h5 --out m.csv --quiet", says=says)
    for more, says in (("--nodes nobody", "nobody"), ("--embeddings e.csv", "--embeddings: c.h5 recommends items"), ("--out m.h5", "ends in .csv or .jsonl")):
        refused(f"predict more.h5 --checkpoint c.h5 --quiet {'' if '--out' in more else '--out m.csv'} {more}", status=2, says=says)
    run("train_gcn --epochs 1 --checkpoint gcn.h5 --quiet")
    refused("predict t.h5 --checkpoint gcn.h5 --out m.csv --top 3", status=2, says="--top: train_gcn, epoch 1 is a model of nodes, expected one of recommendations")
    with h5py.File("c.h5", "a") as f:
        f["tensors/interactions.train"][0, 1] = 40
    refused("predict t.h5 --checkpoint c.h5 --out m.csv", says="c.h5: tensors/interactions.train: number 40 in row 0, expected 0 to 39")


def test_runs():
    """Resumed trainings and any number of threads have the same bits; run folders repeat a run, and `compare` ranks them."""
    line = f"train_recommend t.h5 {SMALL} --quiet --json"
    run(f"{line} --epochs 15 --threads 1 --embeddings a.npy --metrics a.csv")
    run(f"{line} --epochs 10 --threads 2 --checkpoint c.h5 --metrics b.csv")
    run(f"{line} --epochs 15 --resume c.h5 --embeddings b.npy --metrics b.csv")
    for kind in ("npy", "csv"):
        assert open(f"a.{kind}", "rb").read() == open(f"b.{kind}", "rb").read(), kind
    refused(f"{line} --epochs 15 --resume c.h5 --metrics b.csv --penalty 0.5", says="was trained with --penalty")
    found = result_of(f"{line} --epochs 10 --lr 0.01 --run-dir runs/0 --item-embeddings a.npy")
    run(f"{line} --epochs 10 --layers 0 --run-dir runs/1")
    assert sorted(os.listdir("runs/0")) == ["checkpoint.h5", "metrics.csv", "run.json"] and json.load(open("runs/0/run.json"))["result"] == found
    result_of("train_recommend --config runs/0/run.json --quiet --json --item-embeddings b.npy")
    assert open("a.npy", "rb").read() == open("b.npy", "rb").read()
    expect(run("compare runs/0 runs/1"), "recall@20 on tastes", "by validation (val_acc), higher is better")
    assert result_of(f"{line} --epochs 90 --patience 10 --lr 1e-9 --seed 1")["epochs"] < 90


def test_refusals():
    for line, says in (("", "expected train_recommend DATA.h5"), ("t.h5 --metric auc", "--metric"), ("t.h5 --alphas 1,2", "2 numbers, expected 4"),
                       ("t.h5 --alphas 1,x,3,4", "--alphas"), ("t.h5 --val 0.6 --test 0.5", "nothing is left to train on"), ("t.h5 --k 0", "--k"),
                       ("t.h5 --checkpoint t.h5", "is also the file of --data"), ("t.h5 --out r.txt", ".csv or .jsonl"), ("t.h5 --device tpu", "tpu"),
                       ("t.h5 --item-embeddings e.txt", "--item-embeddings"), ("t.h5 --layer 2", "did you mean '--layers'")):
        refused(f"train_recommend {line}", status=2, says=says)
    write("one.csv", "a,b\nb,c\n")
    run("convert tables one.h5 --edges one.csv --header no")
    write("few.csv", "user,item\nann,pen\nbob,pen\nann,book\n")
    run("convert tables few.h5 --edges user:took:item=few.csv --header yes")
    for name, more in (("full", ""), ("most", "b,0,train\n")):  # user a has every item
        write("all.csv", "user,item,part\n" + "".join(f"a,{i},train\n" for i in range(5)) + "b,2,val\nb,3,test\n" + more)
        run(f"convert tables {name}.h5 --edges user:took:item=all.csv --header yes --split-column part")
    expect(run("train_recommend most.h5 --epochs 3 --out r.csv"), "5 interactions of users who have every item in training are in no batch")
    assert [row["user"] for row in rows("r.csv")] == ["b", "b"]
    run("convert tables two.h5 --edges user:took:item=few.csv --edges user:saw:item=few.csv --header yes")
    for line, says in (("none.h5", "none.h5"), ("full.h5", "every user has every item in training"), ("one.h5", "of one type of nodes, expected edges from users to items"),
                       ("few.h5", "split of 3 interactions of 2 users: 0 to validate, 0 to test, expected one at least"),
                       ("two.h5", "2 types of edges between two types of nodes, user:saw:item, user:took:item; expected --edges"),
                       ("two.h5 --edges sow", "no edges of type \"sow\""), ("few.h5 --split-by time", "have no times")):
        refused(f"train_recommend {line} --quiet", says=says)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
