"""`split` and `convert --split` against splits that numpy computes from the same tables; h5py reads the results."""

import os
from datetime import datetime

from programs import PARTS, datasets_in, expect, h5py, np, packed, run, write, write_graph


def dataset(path, y, more=(), **attributes):
    rng = np.random.default_rng(1)
    n = len(y)
    src, dst = rng.integers(0, n, (2, 4 * n))
    write_graph(path, {"edges/src": src, "edges/dst": dst, "nodes/y": np.asarray(y, np.int64), "extra/kept": np.arange(3), **dict(more)},
                **{"num_nodes": n, "num_classes": int(np.max(y)) + 1} | attributes)
    with h5py.File(path, "a") as f:
        f.create_dataset("nodes/x", data=rng.random((n, 3)), chunks=(n, 3), compression="gzip")


def splits_of(path):
    with h5py.File(path) as f:
        groups = ["splits"] + ["splits/%d" % k for k in range(1, len(f["splits"]) - 2)]
        return [[f[group + "/" + part][:] for part in PARTS] for group in groups]


def others(path):
    """All values of a file but its splits, and how they are stored."""
    found = {}
    with h5py.File(path) as f:
        f.visititems(lambda name, o: found.__setitem__(name, (o.dtype, o.compression, o[()].tobytes()))
                     if isinstance(o, h5py.Dataset) and not name.startswith("splits") else None)
        found["attributes"] = dict(f.attrs)
    return found


def lists(parts):
    return [sorted(np.asarray(part).tolist()) for part in parts]


def table(path, *columns):
    write(path, zip(*columns))


def random_splits():
    y = np.repeat([0, 1, 2, -1], [50, 30, 20, 7])
    np.random.default_rng(2).shuffle(y)
    dataset("own.h5", y)
    before = others("own.h5")
    expect(run("train_gcn own.h5", status=1), "own.h5: splits: missing", "split own.h5 --split 60,20,20")
    expect(run("train_gcn own.h5 --split 60,20,20", status=2), "`split FILE.h5 --split 60,20,20`")
    out = run("split own.h5")
    expect(out, "split by seed 0: 60 nodes to train, 20 to validate, 20 to test", "7 nodes without a label")
    assert others("own.h5") == before
    (first,) = splits_of("own.h5")
    assert [len(part) for part in first] == [60, 20, 20]
    assert sorted(np.concatenate(first)) == np.flatnonzero(y >= 0).tolist()
    expect(run("inspect own.h5"), "60 train, 20 val, 20 test")
    run("train_gcn own.h5 --epochs 2 --quiet")

    # An existing split stays, unless asked.
    content = open("own.h5", "rb").read()
    expect(run("split own.h5", status=1), "splits: 1 already", "--replace", "split own.h5 OUT.h5")
    expect(run("split own.h5 own.h5", status=1), "--replace")
    assert open("own.h5", "rb").read() == content
    expect(run("split own.h5 other.h5 --seed 5"), "without the splits of own.h5 (1)")
    assert open("own.h5", "rb").read() == content
    assert lists(splits_of("other.h5")[0]) != lists(first)
    assert others("other.h5") == before

    # Several splits have the seeds after --seed; stratified ones the classes' shares.
    expect(run("split own.h5 --splits 3 --seed 4 --stratified --split 50,30,20 --replace"),
           "3 splits by seeds 4 to 6, stratified: 50 nodes to train, 30 to validate, 20 to test each",
           "instead of the splits of own.h5 (1)", "25 (50.0 %)", "9 (30.0 %)", "4 (20.0 %)")
    many = splits_of("own.h5")
    assert len(many) == 3
    for k, parts in enumerate(many):
        run(f"split own.h5 one.h5 --seed {4 + k} --stratified --split 50,30,20")
        assert lists(splits_of("one.h5")[0]) == lists(parts)
        shares = [np.bincount(y[part], minlength=3).tolist() for part in parts]
        assert np.abs(np.subtract(shares, [[25, 15, 10], [15, 9, 6], [10, 6, 4]])).max() <= 2, shares
    assert len({tuple(parts[0]) for parts in many}) == 3
    run("split own.h5 --replace")
    assert lists(splits_of("own.h5")[0]) == lists(first)
    assert len(splits_of("own.h5")) == 1
    assert others("own.h5") == before

    # Classes of one and two nodes cannot be everywhere.
    dataset("small.h5", np.repeat([0, 1, 2], [1, 2, 60]), packed("nodes/class_names", "abc"))
    out = run("split small.h5 --stratified")
    expect(out, "classes that are not in every part: a, b\n")
    expect(run("split small.h5 --replace --split 98,1,1"), "test")
    dataset("tiny.h5", [0, 1, -1, -1])
    expect(run("split tiny.h5", status=1), "tiny.h5: a split of 2 nodes with a label into", "some in each part")
    assert not any(place.startswith("splits") for place in datasets_in("tiny.h5"))


def columns():
    y = np.array([0, 1, 0, 1, 0, 1, -1, 0])
    names = ["ann", "bob", "c, d", "dan", "eve", "fay", "gus", "hal"]
    dataset("own.h5", y, packed("nodes/name", names))
    write("parts.csv", "who,age,when\nhal,3,TRAIN\nfay,3,validation\n\"c, d\",3,dev\nann,3,training\nbob,1,Test\neve,1,\n"
                       "gus,9,train\nzoe,1,test\n")
    out = run("split own.h5 --table parts.csv --by-column when")
    assert lists(splits_of("own.h5")[0]) == [[0, 7], [2, 5], [1]]
    expect(out, "split by column 3 (when)", "rows of other nodes, passed over: 1 (zoe), the first in line ", "nodes without a value, in no part: 1 (eve), the first in line ",
           "nodes without a label, in no part: 1 (gus), the first in line ", "nodes without a row, in no part: 1 of 8")
    run("split own.h5 out.h5 --table parts.csv --by-column 3")  # the same by its number
    assert lists(splits_of("out.h5")[0]) == [[0, 7], [2, 5], [1]]
    write("numbers.csv", "ann,train,2\nbob,val,1\neve,test,3\n")
    expect(run("split own.h5 out.h5 --table numbers.csv --by-column 2", status=1),
           'numbers.csv:1: column "2", a number or a name in "ann,train,2", expected --header yes (a name) or no')
    run("split own.h5 out.h5 --table numbers.csv --by-column 2 --header no")
    assert lists(splits_of("out.h5")[0]) == [[0], [1], [4]]
    write("years.csv", "id,2\nann,train\nbob,val\neve,test\n")  # which names ids
    run("split own.h5 out.h5 --table years.csv --by-column 2")

    for text, words, parts in (
            ("who,when\nann,train\nbob,tset\n", "", ["bad.csv:3: \"tset\" in column 2 (when), expected train, val or test"]),
            ("who,when\nann,train\nann,val\n", "", ["bad.csv:3: 'ann' occurs twice"]),
            ("who,when\nann,train\nbob,test\n", "", ["no nodes with a label is in val by column 2 (when)"]),
            ("who,when\nx,train\ny,test\nz,val\n", "", ["no column 1 (who) is of the file's nodes, expected names, as 'ann'"]),
            ("who,part\nann,train\n", "", ["no column \"when\", expected a number from 1 to 2"]),
            ("when\ntrain\n", "", ["one column", "--by-row"]), ("when\ntrain\n", "--by-row", ["1 rows for 8 nodes"]),
            ("when\n" + "train\n" * 9, "--by-row", ["bad.csv:10: row 8, from 0"]),
            ("who,when\nann,train,3\n", "", ["bad.csv:2: 3 fields, expected 2"]), ("", "", ["no rows"])):
        write("bad.csv", text)
        expect(run(f"split own.h5 --replace --table bad.csv --by-column when {words}", status=1), *parts)
        assert lists(splits_of("own.h5")[0]) == [[0, 7], [2, 5], [1]]
    for words, part in (("--by-column a", "require --table"), ("--table bad.csv", "--table: requires"),
                        ("--table bad.csv --by-column a --by-time b", "conflicts with --by-time"),
                        ("--table bad.csv --by-column a --seed 1", "conflict with --by-column"),
                        ("--table bad.csv --by-column a --split 1,1,98", "--split: conflicts"),
                        ("--table bad.csv --by-column a --id b --by-row", "--id: conflicts"),
                        ("--until 1,2", "--until: requires --by-time"), ("--by-row", "require --table"),
                        ("--split 50,50", "three percentages"), ("--splits 0", "--splits"), ("--splits 10001", "--splits"),
                        ("--seed=-1", "--seed")):
        expect(run(f"split own.h5 out.h5 {words}", status=2), part)

    # Rows without ids, one of them blank; by the original order of a reordered file.
    write("rows.csv", "train\nval\n\ntest\ntrain\nval\ntest\ntrain\n")
    run("split own.h5 rows.h5 --table rows.csv --by-row --by-column 1")
    assert lists(splits_of("rows.h5")[0]) == [[0, 4, 7], [1, 5], [3]]
    # The names that rows belong to are said; a table that has them is refused.
    expect(run("split own.h5 rows.h5 --table rows.csv --by-row --by-column 1"),
           'rows.csv: row k is the k-th of the nodes of own.h5, first "ann", second "bob"')
    write("bad.csv", "part,who\n" + "".join(f'train,"{name}"\n' for name in names))
    expect(run("split own.h5 rows.h5 --table bad.csv --by-row --by-column part", status=1),
           "bad.csv: --by-row, but column 2 (who) has names of nodes, expected --id who")
    dataset("numbers.h5", y)
    write("rows2.csv", "part,x\n" + "".join(f"{part},{k}\n" for k, part in enumerate("train val test".split() * 2 + ["train", "val"])))
    assert "k-th" not in run("split numbers.h5 rows.h5 --table rows2.csv --by-row --by-column part")
    run("reorder random numbers.h5 mixed.h5 --seed 1")
    order = datasets_in("mixed.h5")["nodes/order"]
    assert order.tolist() != list(range(8))
    table("numbered.csv", ["id"] + list(range(8)), ["part", "train", "val", "test", "train", "val", "test", "train", "val"])
    run("split mixed.h5 --table numbered.csv --by-column part")
    assert lists(order[part] for part in splits_of("mixed.h5")[0]) == [[0, 3], [1, 4, 7], [2, 5]]
    run("split mixed.h5 --replace --table rows.csv --by-row --by-column 1")
    assert lists(order[part] for part in splits_of("mixed.h5")[0]) == [[0, 4, 7], [1, 5], [3]]

    # Integer ids, in any order, as data frames with gaps write them.
    ids = np.array([70, -3, 12345678901, 5, 6, 7, 8, 9])
    dataset("ids.h5", y, {"nodes/id": ids})
    table("ids.csv", ["x", 1, 2, 3, 4, 5, 6], ["part", "val", "train", "test", "train", "val", "test"],
          ["node_id", "-3", "12345678901", "5.0", "70", "6", "7"])
    run("split ids.h5 --table ids.csv --by-column part")
    assert lists(splits_of("ids.h5")[0]) == [[0, 2], [1, 4], [3, 5]]
    dataset("twice.h5", y, {"nodes/id": [1, 1, 2, 3, 4, 5, 6, 7]})
    expect(run("split twice.h5 --table ids.csv --by-column part", status=1),
           "twice.h5: nodes/id: nodes 0 and 1 are both called '1'")


def by_time(times, shares):
    """Cuts at the changes of time nearest to the shares, the earlier of equally near ones."""
    times = np.sort(times)
    changes = np.flatnonzero(np.diff(times)) + 1
    first = min(changes[:-1], key=lambda k: abs(k - round(len(times) * shares[0] / 100)))
    second = min(changes[changes > first], key=lambda k: abs(k - round(len(times) * (shares[0] + shares[1]) / 100)))
    return times[first - 1], times[second - 1]


def times():
    rng = np.random.default_rng(5)
    n = 120
    y = rng.integers(0, 3, n)
    y[:10] = -1
    y[10:13] = 0, 1, 2
    labelled = np.flatnonzero(y >= 0)
    dataset("own.h5", y)

    def check(path, values, *options, cuts):
        out = run(f"split own.h5 out.h5 --table {path} --by-time when", *options)
        time = np.asarray(values)[labelled]
        wanted = [labelled[time <= cuts[0]], labelled[(time > cuts[0]) & (time <= cuts[1])], labelled[time > cuts[1]]]
        assert lists(splits_of("out.h5")[0]) == lists(wanted), out
        return out

    years = rng.integers(2010, 2020, n)
    table("years.csv", ["id"] + list(range(n)), ["when"] + years.tolist())
    for shares in ([60, 20, 20], [80, 10, 10], [1, 1, 98], [98, 1, 1], [30, 60, 10]):
        cuts = by_time(years[labelled], shares)
        out = check("years.csv", years, "--split", ",".join(map(str, shares)), cuts=cuts)
        expect(out, "split by time: train 2010 to %d (" % cuts[0], "val %d to %d (" % (cuts[0] + 1, cuts[1]))
        sizes = [np.sum(years[labelled] <= cut) for cut in cuts]
        exact = [round(len(labelled) * share / 100) for share in (shares[0], shares[0] + shares[1])]
        assert ("nodes of equal times stay together" in out) == (sizes != exact), out
    check("years.csv", years, "--until", "2012,2017", cuts=(2012, 2017))
    for until, status, part in (("2017,2012", 2, "'2017' is after '2012'"), ("2017", 2, "expected two times"),
                                ("2015-03,2017", 2, "'2015-03' is a date without a time zone, expected a number"),
                                ("2012,2030", 1, "is in test")):
        expect(run(f"split own.h5 out.h5 --table years.csv --by-time when --until {until}", status=status), part)

    # All times differ: exact shares, and nanoseconds that float64 cannot tell apart.
    nanoseconds = 1_600_000_000_000_000_000 + rng.permutation(n)
    table("exact.csv", ["id"] + list(range(n)), ["when"] + nanoseconds.tolist())
    ordered = np.sort(nanoseconds[labelled])
    out = check("exact.csv", nanoseconds, cuts=(ordered[65], ordered[87]))
    assert "stay together" not in out

    # ISO dates of several precisions, with and without zones.
    moments = np.sort(rng.integers(0, 10**9, n))[rng.permutation(n)]
    forms = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"]
    texts = [datetime.utcfromtimestamp(int(t)).strftime(forms[k % 3]) for k, t in enumerate(moments)]
    parsed = np.array([(datetime.fromisoformat(text) - datetime(1970, 1, 1)).total_seconds() for text in texts])
    table("dates.csv", ["id"] + list(range(n)), ["when"] + texts)
    check("dates.csv", parsed, cuts=by_time(parsed[labelled], [60, 20, 20]))
    ends = [(datetime(1985, 4, 1) - datetime(1970, 1, 1)).total_seconds() - 1,
            (datetime(1992, 2, 29) - datetime(1970, 1, 1)).total_seconds() + 86399]
    check("dates.csv", parsed, "--until", "1985-03,1992-02-29", cuts=ends)
    zones = ["%s%s" % (datetime.utcfromtimestamp(int(t)).isoformat(), ["Z", "+05:30", "-0800"][k % 3])
             for k, t in enumerate(moments)]
    zoned = np.array([t - [0, 19800, -28800][k % 3] for k, t in enumerate(moments)])
    table("zones.csv", ["id"] + list(range(n)), ["when"] + zones)
    check("zones.csv", zoned, cuts=by_time(zoned[labelled], [60, 20, 20]))

    for bad, said in [("2021-02-30", "expected a number or a date"), ("yesterday", "expected a number or a date"),
                      ("2021-02-03", "is a date without a time zone, expected a number as in line 12"),
                      ("inf", "expected a number or a date")]:
        table("bad.csv", ["id"] + list(range(n)), ["when"] + years[:-1].tolist() + [bad])
        expect(run("split own.h5 out.h5 --table bad.csv --by-time when", status=1),
               "bad.csv:121: \"%s\" in column 2 (when)" % bad, said)
    table("two.csv", ["id"] + list(range(n)), ["when"] + [k % 2 for k in range(n)])
    expect(run("split own.h5 out.h5 --table two.csv --by-time when", status=1), "2 different times", "expected 3 or more")


def graphs_and_formats():
    # Graphs are split as wholes, and rows of tables are graphs.
    dataset("many.h5", np.zeros(60, int), {"graphs/offsets": np.arange(0, 61, 3) // 2 * 2, "graphs/y": np.arange(20) % 2},
            task="graph_class", num_classes=2)
    with h5py.File("many.h5", "a") as f:
        del f["edges"], f["nodes/y"]
        f["edges/src"], f["edges/dst"] = np.arange(60), np.arange(60) ^ 1
    expect(run("split many.h5 --stratified"), "12 graphs to train, 4 to validate, 4 to test", "6 (60.0 %)")
    (parts,) = splits_of("many.h5")
    assert [np.bincount(part % 2).tolist() for part in parts] == [[6, 6], [2, 2], [2, 2]]
    assert sorted(np.concatenate(parts)) == list(range(20))
    table("graphs.csv", ["graph"] + list(range(20)), ["when"] + list(range(20, 0, -1)))
    run("split many.h5 --replace --table graphs.csv --by-time when --split 50,25,25")
    assert lists(splits_of("many.h5")[0]) == [list(range(10, 20)), list(range(5, 10)), list(range(5))]
    run("train_graph_gin many.h5 --split 0 --epochs 1 --quiet")

    # convert, from arrays with and without splits.
    rng = np.random.default_rng(1)
    arrays = {"edge_index": rng.integers(0, 60, (2, 300)), "x": rng.normal(size=(60, 4)).astype("f4"), "y": np.arange(60) % 3}
    np.savez("a.npz", **arrays)
    expect(run("convert npz a.npz a.h5 --split 50,25,25 --stratified --splits 2 --seed 7"),
           "2 splits by seeds 7 to 8, stratified: 30 nodes to train, 15 to validate, 15 to test each")
    for parts in splits_of("a.h5"):
        assert [np.bincount(part % 3).tolist() for part in parts] == [[10] * 3, [5] * 3, [5] * 3]
    run("convert npz a.npz plain.h5")
    run("split plain.h5 --split 50,25,25 --stratified --splits 2 --seed 7")
    assert [lists(parts) for parts in splits_of("plain.h5")] == [lists(parts) for parts in splits_of("a.h5")]
    run("train_gcn a.h5 --epochs 2 --quiet")
    masks = {part + "_mask": np.arange(60) % 3 == k for k, part in enumerate(PARTS)}
    np.savez("masks.npz", **arrays, **masks)
    expect(run("convert npz masks.npz b.h5 --split 60,20,20"), "instead of the input's splits (1)",
           "split by seed 0: 36 nodes to train")
    expect(run("convert npz a.npz b.h5 --seed 3", status=2), "--seed: requires --split")
    np.savez("floats.npz", **{**arrays, "y": rng.normal(size=(60, 2)).astype("f4")})
    expect(run("convert npz floats.npz c.h5 --split 60,20,20 --stratified", status=1), "expected classes for a stratified split")
    run("convert npz floats.npz c.h5 --split 60,20,20")
    assert [len(part) for part in splits_of("c.h5")[0]] == [36, 12, 12]

    # TU: graphs of two nodes.
    os.mkdir("TU")
    write("TU/TU_A.txt", [ends for g in range(1, 20, 2) for ends in ((g, g + 1), (g + 1, g))])
    write("TU/TU_graph_indicator.txt", [[g // 2 + 1] for g in range(20)])
    write("TU/TU_graph_labels.txt", [[g % 2] for g in range(10)])
    expect(run("convert tu TU tu.h5 --split 60,20,20"), "6 graphs to train, 2 to validate, 2 to test")
    assert sorted(np.concatenate(splits_of("tu.h5")[0])) == list(range(10))

    # OGB: percentages instead of a folder of several.
    os.makedirs("ogb/raw")
    for name, rows in [("num-node-list", [[20]]), ("num-edge-list", [[40]]), ("edge", rng.integers(0, 20, (40, 2))),
                       ("node-feat", rng.random((20, 2))), ("node-label", [[k % 2] for k in range(20)])]:
        np.savetxt("ogb/raw/%s.csv" % name, rows, fmt="%d" if name != "node-feat" else "%.5f", delimiter=",")
    for split in ("time", "place"):
        os.makedirs("ogb/split/" + split)
        for part, nodes in [("train", range(10)), ("valid", range(10, 15)), ("test", range(15, 20))]:
            np.savetxt("ogb/split/%s/%s.csv" % (split, part), list(nodes), fmt="%d")
    expect(run("convert ogb ogb ogb.h5", status=2), "several splits, place, time")
    run("convert ogb ogb ogb.h5 --split time")
    assert lists(splits_of("ogb.h5")[0]) == [list(range(10)), list(range(10, 15)), list(range(15, 20))]
    expect(run("convert ogb ogb ogb.h5 --split 60,20,20 --seed 2"), "split by seed 2: 12 nodes")
    assert sorted(np.concatenate(splits_of("ogb.h5")[0])) == list(range(20))
    expect(run("convert ogb ogb ogb.h5 --split time --seed 2", status=2), "--seed: requires --split TRAIN,VAL,TEST")

    # GraphLand: targets are scaled by the training nodes that are drawn.
    os.mkdir("land")
    target = np.arange(20) ** 1.5
    write("land/info.yaml", "dataset_name: land\ntask: regression\ntarget_name: t\nmetric: R2\nnumerical_features_names: [a]\n"
                            "fraction_features_names: []\ncategorical_features_names: []\nhas_unlabeled_nodes: false\n")
    table("land/features.csv", [""] + list(range(20)), ["a"] + rng.random(20).tolist())
    table("land/targets.csv", [""] + list(range(20)), ["t"] + target.tolist())
    table("land/edgelist.csv", ["source"] + list(range(19)), ["target"] + list(range(1, 20)))
    expect(run("convert graphland land land.h5 --split 50,25,25 --seed 1"), "split by seed 1: 10 nodes")
    (parts,) = splits_of("land.h5")
    train = target[parts[0]]
    assert np.allclose(datasets_in("land.h5")["nodes/y"][:, 0], (target - train.mean()) / train.std(), atol=1e-5)
    expect(run("convert graphland land land.h5 --split XX", status=2), "RL or RH or TH or THI")


random_splits()
columns()
times()
graphs_and_formats()
print("splits as numpy computes them, and all else of the files unchanged")
