"""What a trained model and its runs say of tables, splits and columns that are unlike those of the training."""

import json

from programs import expect, h5py, read, refused, result_of, rows, run, write

N = 60


def texts_and_sets():
    write("e.csv", "src,dst\n" + "".join(f"{k},{(k + 1) % N}\n" for k in range(N)))
    drink = ["café", "thé", "rosé", "kiwi"]
    write("n.csv", [["id", "drink"]] + [[k, drink[k % 4]] for k in range(N)])


def test_encodings():
    """Hashed columns are UTF-8 by --like, too, also of edges; letters in two characters are counted."""
    texts_and_sets()
    write("l1.csv", read("n.csv").encode("latin1"))
    write("ends.csv", [["src", "dst", "drink"]] + [[k, (k + 1) % N, "thé"] for k in range(N)])
    write("l1_ends.csv", read("ends.csv").encode("latin1"))
    wrong = '"caf\\xe9": byte 4 is 0xe9, expected UTF-8'
    for name in "text:64", "hash:32", "set:32", "category":
        run(f"convert edges e.csv g.h5 --features n.csv --types drink={name}")
        refused("convert edges e.csv x.h5 --features l1.csv --like g.h5", says=["l1.csv:2: ", wrong])
        words = f"--nodes n=n.csv --edges n:drinks:n=ends.csv --attributes drinks=drink --types n=drink={name} --types drinks=drink={name}"
        run(f"convert tables t.h5 {words}")
        same = "--edges n:drinks:n={} --attributes drinks=drink --like t.h5"
        refused("convert tables x.h5 --nodes n=l1.csv", *same.format("ends.csv").split(), says=["l1.csv:2: ", wrong])
        refused("convert tables x.h5 --nodes n=n.csv", *same.format("l1_ends.csv").split(), says=["l1_ends.csv:2: ", "expected UTF-8"])
    write("nfd.csv", read("n.csv").replace("é", "e\u0301"))
    note = "; drink: 45 fields with combining marks, other texts than with single letters (NFC) and hashed as such"
    for name in "text:64", "hash:32", "set:32":
        assert "combining" not in run(f"convert edges e.csv g.h5 --features n.csv --types drink={name}")
        expect(run("convert edges e.csv x.h5 --features nfd.csv --like g.h5"), note)
        expect(run(f"convert edges e.csv x.h5 --features nfd.csv --types drink={name}"), note)


def test_separators():
    """Sets whose items have another separator than in the training: an error if that is certain, a note if most fields have it."""
    texts_and_sets()
    pair = ["drama", "war", "love", "crime"]

    def table(path, separator, count=N, single=0):
        write(path, [["id", "genres"]] + [[k, pair[k % 4] if k < single or k >= count else pair[k % 4] + separator + pair[(k + 1) % 4]]
                                          for k in range(N)])
    ends = {"|": '"|"', " ": "blanks", "/": '"/"', ";": "a semicolon", ",": "a comma", ", ": "a comma"}
    for kind in "set:32", "set":
        for trained in "|", " ":
            table("n.csv", trained)
            run(f"convert edges e.csv g.h5 --features n.csv --types genres={kind}")
            for separator, name in ends.items():
                if separator == trained or (trained, separator) == (" ", ", "):
                    continue
                text = f"{ends[trained]}, which is between the items in g.h5"
                like = "convert edges e.csv x.h5 --features m.csv --like g.h5"
                table("m.csv", separator)
                refused(like, says=f"m.csv: column 2 (genres) has {name} in 60 fields, and in none {text}, expected it here, too\n")
                table("m.csv", separator, single=20)
                note = f"{name} in 40 fields, and in none {text}"
                if separator in "|;":
                    refused(like, says=note)
                else:
                    expect(run(like), f"; genres: {note}")
                table("m.csv", separator, single=40)
                assert separator in "|;" or ("in none" in run(like)) == separator.startswith(","), separator
    write("n.csv", [["id", "genres"]] + [[k, "science fiction" if k % 2 else "film noir|science fiction"] for k in range(N)])
    write("m.csv", [["id", "genres"]] + [[k, "film noir" if k % 2 else "science fiction"] for k in range(N)])
    run("convert edges e.csv g.h5 --features n.csv --types genres=set")
    assert "in none" not in run("convert edges e.csv x.h5 --features m.csv --like g.h5")  # whole items as in the training
    write("few.csv", "src,dst\n0,1\n")
    write("m.csv", "id,genres\n0,film noir\n1,science fiction\n")
    run("convert edges e.csv g.h5 --features n.csv --types genres=set:32")
    expect(run("convert edges few.csv x.h5 --features m.csv --like g.h5"), "; genres: blanks in 2 fields, and in none")


def test_losses():
    """What numbers lose is said by --like as without it, of nodes and of edges."""
    write("e.csv", "src,dst,amt\na,b,5\nb,c,7\nc,a,9\n")
    write("e2.csv", "src,dst,amt\na,b,123456789\nb,c,16777217\nc,a,9\n")
    write("old.csv", "id,acct,zip\na,1,11\nb,2,12\nc,3,13\n")
    write("new.csv", "id,acct,zip\na,123456789,0011\nb,4,0012\nc,16777217,13\n")
    notes = ("; acct: numbers, 2 numbers are rounded to float32, by 3 at most", "; zip: numbers, 2 begin with a zero, as codes do")
    hint = " (--types COLUMN=category or hash keeps it)"
    expect(run("convert edges e.csv x.h5 --features new.csv"), *notes, hint)
    run("convert edges e.csv g.h5 --features old.csv")
    assert hint not in expect(run("convert edges e.csv x.h5 --features new.csv --like g.h5"), *notes)
    tables = "convert tables {} --nodes v={} --edges v:p:v={} --attributes p=amt"
    run(tables.format("t.h5", "old.csv", "e.csv"))
    expect(run(tables.format("x.h5", "new.csv", "e2.csv") + " --like t.h5"), *notes,
           "; amt: numbers, 2 numbers are rounded to float32, by 3 at most")


def labels_by_part(values, name="y.csv"):
    """A graph of N nodes: half of them train, a quarter validates. `values`: of each column, by part and number."""
    part = ["train" if k < 30 else "val" if k < 45 else "test" for k in range(N)]
    write("e.csv", "src,dst\n" + "".join(f"{k},{(7 * k + 1) % N}\n" for k in range(N)))
    write("n.csv", [["id", "x"]] + [[k, k % 7] for k in range(N)])
    write(name, [["id", *values]] + [[k, *(of(part[k], k) for of in values.values())] for k in range(N)])
    write("parts.csv", [["id", "part"]] + list(enumerate(part)))


def test_untrained_columns():
    """Labels and targets without a value in the training part are refused, labels of one class are named, wherever splits are made."""
    labels_by_part({"good": lambda part, k: k % 2, "new": lambda part, k: "" if part == "train" else k % 2,
                    "late": lambda part, k: 0 if part == "train" else k % 2, "old": lambda part, k: k % 2 if part == "train" else 1})
    run("convert edges e.csv g.h5 --features n.csv --labels y.csv --task node_multilabel")
    both = "labels without a value in the training part: new; of one class in the training part: late (0)"
    expect(run("split g.h5 --table parts.csv --by-column part"), both + "\n")
    expect(run("inspect g.h5"), f"g.h5: splits: {both}\n")
    refused("train_sage g.h5 --epochs 1", says=f"g.h5: {both}; expected some of each")
    for path, part in (("tr", range(30)), ("va", range(30, 45)), ("te", range(45, N))):
        write(path, "".join(f"{k}\n" for k in part))
    expect(run("convert edges e.csv x.h5 --features n.csv --labels y.csv --task node_multilabel --train tr --val va --test te"), both + "\n")
    run("convert tables t.h5 --nodes v=y.csv --edges v:e:v=e.csv --task v=node_multilabel --label v=good --without v=new,late,old")
    labels_by_part({"good": lambda part, k: k % 2, "late": lambda part, k: 0 if part == "train" else k % 2,
                    "old": lambda part, k: k % 2 if part == "train" else 1})
    run("convert edges e.csv g.h5 --features n.csv --labels y.csv --task node_multilabel")
    run("split g.h5 --table parts.csv --by-column part")
    text = run("train_sage g.h5 --epochs 1 --checkpoint m.h5")
    expect(text, "warning: g.h5: labels of one class in the training part: late (0)\n",
           "mean ROC-AUC: undefined for some columns, which the mean leaves out: splits/val: old, splits/test: old\n")
    expect(run("predict g.h5 --checkpoint m.h5 --out p.csv"), "mean ROC-AUC: undefined for some columns, which the mean leaves out: old\n")
    assert "undefined for" not in run("train_sage g.h5 --epochs 1 --metric f1")
    labels_by_part({"price": lambda part, k: k * 1.5, "rent": lambda part, k: "" if part == "train" else k + .5,
                    "flat": lambda part, k: 3 if part == "val" else k})
    run("convert edges e.csv r.h5 --features n.csv --labels y.csv --task node_regression")
    expect(run("split r.h5 --table parts.csv --by-column part"), "targets without a value in the training part: rent\n")
    refused("train_sage r.h5 --epochs 1", says="r.h5: targets without a value in the training part: rent; expected some of each")
    run("split r.h5 all.h5 --seed 1")
    assert "without a value" not in run("split r.h5 r.h5 --replace --seed 1")
    with h5py.File("r.h5", "r+") as f:
        val = f["splits/val"][:]
        f["nodes/y"][sorted(val), 2] = 3
    expect(run("train_sage r.h5 --epochs 1"), "R2: undefined for some columns, which the mean leaves out: splits/val: flat\n")


def test_clamped():
    """Numbers of another table outside of the range of --features-bits are counted, with the names of their columns."""
    write("e.csv", "src,dst\n" + "".join(f"{k},{k}\n" for k in range(N)))

    def table(path, *factors):
        write(path, [["id", "x", "flag", "z", "label"]] + [[k, factors[0] * k, k % 2, factors[1] * (k - 20), "ab"[k % 2]] for k in range(N)])
    table("old.csv", 1, 1), table("far.csv", 2, 1), table("both.csv", 2, -1)
    run("convert edges e.csv g.h5 --features old.csv --split 60,20,20")
    for bits in "8", "1", "32":
        for scaling in "real", "none":
            run(f"train_sage g.h5 --epochs 2 --features-bits {bits} --features-scaling {scaling} --checkpoint m.h5")
            assert "outside" not in run("predict g.h5 --checkpoint m.h5 --out p.csv")
            for path, text in ("far", "30 numbers outside of the training's range become its ends in 8 bits: in x\n"), \
                              ("both", "49 numbers outside of the training's range become its ends in 8 bits: in x, z\n"):
                run(f"convert edges e.csv {path}.h5 --features {path}.csv --like m.h5 --label none")
                found = run(f"predict {path}.h5 --checkpoint m.h5 --out p.csv")
                assert ("outside" in found) == (bits != "32"), found
                if bits == "8":
                    expect(found, "warning: features: " + text)
                    from_file = run(f"predict {path}.h5 --checkpoint m.h5 --out q.csv --features file")
                    expect(from_file, "warning: features: " + text)


    # The same in integers, of which parts are scaled.
    run("train_qgnn g.h5 --bits 4 --epochs 2 --features-bits 8 --features-scaling real --checkpoint m.h5")
    run("infer_qgnn m.h5 --write packed.h5")
    for model in "m.h5", "packed.h5":
        assert "outside" not in run(f"infer_qgnn {model} g.h5 --repeats 1")
        expect(run(f"infer_qgnn {model} both.h5 --repeats 1"), "warning: features: " + text)


def test_types_of_numbers():
    """A column of numbers is not one of dates or ordinals of the same name, also in a table that has numbers alone."""
    write("e.csv", "src,dst,at\n" + "".join(f"{k},{(k + 1) % N},2024-01-{k % 20 + 1:02}\n" for k in range(N)))
    write("f.csv", "src,dst,at\n" + "".join(f"{k},{(k + 1) % N},{45300 + k % 20}\n" for k in range(N)))
    kinds = {"date": "a date", "number": "a number", "ordinal": "an ordinal of 1, 5, 20"}
    for kind in kinds:
        write(f"{kind}.csv", [["id", "c", "label"]] + [[k, f"2024-01-{k % 20 + 1:02}" if kind == "date" else (1, 5, 20)[k % 3], "ab"[k % 2]]
                                                       for k in range(N)])
        types = "--types c=ordinal" if kind == "ordinal" else ""
        run(f"convert edges e.csv {kind}.h5 --features {kind}.csv {types} --split 60,20,20")
        run(f"train_sage {kind}.h5 --epochs 1 --checkpoint {kind}.ckpt")
    run("train_qgnn number.h5 --bits 4 --epochs 1 --checkpoint bits.ckpt")
    for data, model in ("number", "date"), ("date", "number"), ("number", "ordinal"), ("ordinal", "number"):
        says = f"column c is {kinds[data]} here, {kinds[model]} in the training; convert with --like MODEL"
        refused(f"predict {data}.h5 --checkpoint {model}.ckpt --out p.csv", says=says)
        if model == "number":
            refused(f"infer_qgnn bits.ckpt {data}.h5", says=says)
    for table in "e", "f":
        run(f"convert tables {table}.h5 --nodes a=number.csv --edges a:r:a={table}.csv --attributes at --split 60,20,20")
    run("train_gat e.h5 --epochs 1 --checkpoint m.ckpt")
    refused("predict f.h5 --checkpoint m.ckpt --out p.csv", says="edge attributes: column at is a number here, a date in the training")


def test_without_labels():
    """A later table whose column of labels is empty: the message says how it is read."""
    write("e.csv", "src,dst\na,b\nb,c\n")
    write("n.csv", "id,x,label\na,1,p\nb,2,q\nc,3,p\n")
    write("m.csv", "id,x,label\na,1,\nb,2,\nc,3,\n")
    for line, tables in ("convert edges e.csv {}.h5 --features {}.csv", ""), ("convert tables {}.h5 --nodes p={}.csv --edges p:r:p=e.csv", "p="):
        run(line.format("g", "n"))
        later = line.format("h", "m") + " --like g.h5"
        refused(later, says="m.csv: no labels, expected some in column 3 (label) (--label none: there are none)\n")
        run(later + f" --label {tables}none")


def test_compare():
    """Runs are ranked beside others of the same task and validation examples alone."""
    labels_by_part({"label": lambda part, k: "ab"[k % 2]})
    run("convert edges e.csv g.h5 --features n.csv --labels y.csv --split 60,20,20 --splits 3 --undirected")
    for name, line in (("nodes", "train_sage g.h5"), ("more", "train_sage g.h5 --hidden 8"), ("other", "train_gcn g.h5 --split 1"),
                       ("all", "train_gcn g.h5 --split all"), ("links", "train_link g.h5 --val 0.2"),
                       ("wide", "train_link g.h5 --val 0.2 --hidden 16"), ("seed4", "train_link g.h5 --val 0.2 --seed 4")):
        run(f"{line} --epochs 3 --metric auc --quiet --run-dir {name}")
    names = "nodes more other all links wide seed4".split()
    text = run("compare", *names)
    stars = {line.split()[1] for line in text.split("\n\n")[0].splitlines() if line.startswith("*")}
    assert stars >= {"other", "all", "seed4"} and stars & {"nodes", "more"} and stars & {"links", "wide"}, text
    groups = [line for line in text.splitlines() if line.startswith("auc on e")]
    assert len(groups) == 5, text
    for part in (" (node_class, 12 nodes of splits/val): ", " (node_class, 12 nodes of splits/1/val): ", " (node_class, 12 nodes of 3 splits): all: ",
                 "pairs of a split by seed 0): ", "pairs of a split by seed 4): seed4: "):
        assert sum(part in group for group in groups) == 1, (part, text)
    alone = run("compare nodes more")
    assert "node_class, 12" not in alone and alone.count("\nauc on e: ") == 1, alone
    for name in "nodes", "more":  # of an older version
        told = json.loads(read(f"{name}/run.json"))
        del told["validation"]
        write(f"{name}/run.json", json.dumps(told))
    assert run("compare nodes more").count("\nauc on e: ") == 1


def test_splits_and_graphs():
    """Scaling is of the first split's training rows; classes of graphs are of graphs; graphs with names are chosen by them."""
    labels_by_part({"label": lambda part, k: "ab"[k % 2]})
    run("convert edges e.csv g.h5 --features n.csv --labels y.csv --split 60,20,20 --splits 3")
    note = "features: means and deviations are of the training nodes of the first of 3 splits, for all of them\n"
    expect(run("train_gcn g.h5 --split all --epochs 1"), note)
    assert note not in run("train_gcn g.h5 --split 1 --epochs 1") + run("train_gcn g.h5 --split all --epochs 1 --features-scaling none")
    graphs = [f"g{k}" for k in range(12)]
    write("nodes.csv", [["graph_id", "node_id", "x"]] + [[g, k, k] for g in graphs for k in (0, 1)])
    write("bonds.csv", [["graph_id", "src", "dst"]] + [[g, 0, 1] for g in graphs])
    write("graphs.csv", [["graph_id", "label"]] + [[g, ("unk", "a", "b")[k % 3]] for k, g in enumerate(graphs)])
    expect(run("convert tables g.h5 --nodes v=nodes.csv --edges bonds.csv --graphs graphs.csv --graph graph_id"),
           '"unk" is a class, of 4 graphs (')
    run("split g.h5")
    run("train_graph_gin g.h5 --epochs 1 --checkpoint m.h5 --quiet")
    run("predict g.h5 --checkpoint m.h5 --out p.csv --nodes g7,g3")
    assert [row["graph"] for row in rows("p.csv")] == ["g7", "g3"]
    expect(" ".join(run("predict --help").split()), "for a model of graphs, names of graphs, or numbers of those without names")


def test_like_alone():
    """What the file of --like decides is no choice of tables: the file would have another encoder than its features."""
    write("e.csv", "src,dst,w,v\na,b,1,2\nb,c,2,2\nc,a,3,1\n")
    write("n.csv", "id,age,city,label\na,1,rome,x\nb,2,oslo,y\nc,3,rome,x\n")
    words = ("tables {} --nodes p=n.csv --edges p:e:p=e.csv --attributes e=w,v",)
    run("convert", *words[0].format("g.h5").split(), "--impute", "p=mean")
    like = "convert " + words[0].format("x.h5") + " --like g.h5"
    run(like)
    for choice in "--impute p=mean", "--types p=city=hash", "--columns p=age,city", "--without p=city":
        refused(f"{like} {choice}", says="n.csv: --like: conflicts with columns, without, types and impute of the table, which g.h5 decides")
    refused(f"{like} --types e=w=category", says="e.csv: --like: conflicts with ")
    refused(like.replace("e=w,v", "e=w"), says="e.csv: 1 attributes of edges \"e\", expected all 2 of g.h5: w, v")
    run(like.replace("e=w,v", "e=all"))
    write("t.yaml", "nodes: {p: {file: n.csv, types: {city: category}}}\nedges: [{file: e.csv, type: 'p:e:p'}]\n")
    refused("convert tables t.yaml x.h5 --like g.h5", says="n.csv: --like: conflicts with ")


def test_resumed_data():
    """A training is resumed with the scaling of features and the names of classes that its checkpoint has."""
    write("e.csv", "src,dst\n" + "".join(f"n{k},n{(k + 1) % N}\n" for k in range(N)))

    def data(path, factor, names):
        write("n.csv", "id,a,b,label\n" + "".join(f"n{k},{factor * (k % 7)},{factor * (k % 5 + 8)},{names[k % 2]}\n" for k in range(N)))
        run(f"convert edges e.csv {path} --features n.csv --split 60,20,20")
    data("g.h5", 1, "xy")
    data("four.h5", 4, "xy")
    data("named.h5", 1, "ab")
    run("train_gcn g.h5 --epochs 2 --quiet --checkpoint c.h5")
    refused("train_gcn four.h5 --epochs 4 --quiet --resume c.h5", says="c.h5: tensors/features.mean: features were scaled by others than those of this data")
    refused("train_gcn named.h5 --epochs 4 --quiet --resume c.h5", says="c.h5: tensors/classes.names: classes have other names than in this data (a, b), expected the same --data")
    run("train_gcn g.h5 --epochs 4 --quiet --resume c.h5")


def test_other_splits():
    """A metric on test nodes that the training may have seen is said to be one, for nodes, edges and graphs; no other is."""
    warned = " not the data and split that m.h5 was trained on: test "
    write("e.csv", "src,dst,w,label\n" + "".join(f"n{k},n{(7 * k + 1) % N},{k % 3 + 1},{'ab'[k % 2]}\n" for k in range(N)))

    def table(path, count):
        write(path, "id,a,b,label\n" + "".join(f"n{k},{k % 7},{k % 5 + 8},{'xy'[k % 2]}\n" for k in range(count)))
    table("n.csv", N)
    table("more.csv", N + 5)
    run("convert edges e.csv g.h5 --features n.csv --undirected --split 60,20,20 --splits 3")
    run("split g.h5 other.h5 --seed 9")
    run("convert edges e.csv more.h5 --features more.csv --undirected --like g.h5 --split 60,20,20")
    run("convert edges e.csv new.h5 --features more.csv --undirected --like g.h5")
    predict = "predict {} --checkpoint m.h5 --out p.csv"
    for train, more in (("train_sage", ""), ("train_sage", "--features-bits 4"), ("train_gcn", "--node-features degree"), ("train_gat", "--edge-weights ignore"),
                        ("train_gcn", "--split 2"), ("train_sage", "--split all")):
        run(f"{train} g.h5 {more} --epochs 1 --quiet --checkpoint m.h5")
        assert warned not in run(predict.format("g.h5")), (train, more)
        if train == "train_sage":
            assert warned not in run(predict.format("g.h5") + " --features host"), more
        if "degree" not in more:
            assert warned not in run(predict.format("new.h5") + " --class-scores"), (train, more)
        for path in "other.h5", "more.h5":
            expect(run(predict.format(path) + " --class-scores"), f"warning: {path}:{warned}nodes may be among its training nodes\n", "\ntest ")
        others = {0, 1, 2} - {2 if more in ("--split 2", "--split all") else 0}
        for split in others:
            expect(run(predict.format("g.h5") + f" --split {split}"), f"warning: g.h5:{warned}")
    run("convert edges e.csv g.h5 --features n.csv --label none --edge-label label --split 60,20,20")
    run("split g.h5 other.h5 --seed 9")
    run("train_edge g.h5 --epochs 1 --quiet --checkpoint m.h5")
    assert warned not in run(predict.format("g.h5"))
    expect(run(predict.format("other.h5")), f"warning: other.h5:{warned}edges may be among its training edges\n")
    graphs = [f"g{k}" for k in range(12)]
    write("nodes.csv", [["graph_id", "node_id", "x"]] + [[g, k, k] for g in graphs for k in (0, 1)])
    write("bonds.csv", [["graph_id", "src", "dst"]] + [[g, 0, 1] for g in graphs])
    write("graphs.csv", [["graph_id", "label"]] + [[g, "ab"[k % 2]] for k, g in enumerate(graphs)])
    run("convert tables g.h5 --nodes v=nodes.csv --edges bonds.csv --graphs graphs.csv --graph graph_id --split 60,20,20")
    run("split g.h5 other.h5 --seed 9")
    run("train_graph_gin g.h5 --epochs 1 --quiet --checkpoint m.h5")
    assert warned not in run(predict.format("g.h5"))
    expect(run(predict.format("other.h5")), f"warning: other.h5:{warned}graphs may be among its training graphs\n")


def test_scores_of_several_labels():
    """Nodes without any label are not among those of the class scores; labels of the model that a file lacks are named."""
    write("e.csv", "src,dst\n" + "".join(f"n{k},n{(7 * k + 1) % N}\n" for k in range(N)))

    def data(path, tags, more):
        write("n.csv", "id,a,tags\n" + "".join(f"n{k},{k % 7},{tags(k)}\n" for k in range(N)))
        run(f"convert edges e.csv {path} --features n.csv --label tags --task node_multilabel {more}")
    data("g.h5", lambda k: ("", "x", "y", "x|y")[k % 4], "--split 60,20,20")
    run("train_sage g.h5 --epochs 1 --quiet --checkpoint m.h5")
    predict = "predict new.h5 --checkpoint m.h5 --out p.csv --class-scores"
    data("new.h5", lambda k: ("", "x", "y", "x|y")[k % 4], "--like m.h5")
    known = N - len(range(0, N, 4))
    expect(run(predict), f"\nOn the {known} labelled nodes:\n")
    scores = result_of(predict + " --json --quiet")["class_scores"]
    assert scores["examples"] == known and [c["support"] for c in scores["classes"]] == [N // 2, N // 2], scores
    for tags, missing in ((lambda k: ("", "x")[k % 2], "'y'"), (lambda k: ("z", "w|z")[k % 2], "'x', 'y'")):
        data("new.h5", tags, "--like m.h5")
        assert run(predict + " --quiet") == f"warning: no class scores: new.h5 has no labels {missing}\n"
    run("convert edges e.csv new.h5 --features n.csv --label none --like m.h5")
    assert run(predict + " --quiet") == "warning: no class scores: new.h5 has no nodes with a label\n"


def test_codes():
    """Where ids are integers 007 is no node, of pairs, chosen nodes and splits as of edges."""
    write("e.csv", "src,dst\n" + "".join(f"{k},{k % N + 1}\n" for k in range(1, N + 1)))
    write("n.csv", "id,x,label\n" + "".join(f"{k},{k % 7},{'ab'[k % 2]}\n" for k in range(1, N + 1)))
    run("convert edges e.csv g.h5 --features n.csv --split 60,20,20")
    run("train_link g.h5 --epochs 1 --quiet --checkpoint l.h5")
    code = '"007" is no node: it begins with a zero, as codes do, expected integers from 1 to 60'
    write("p.csv", "src,dst\n1,2\n007,4\n")
    refused("predict g.h5 --checkpoint l.h5 --pairs p.csv --out o.csv", says="p.csv:3: " + code)
    write("c.csv", "id\n007\n")
    refused("predict g.h5 --checkpoint l.h5 --nodes c.csv --embeddings o.csv", says="c.csv:2: " + code)
    write("t.csv", "id,part\n007,train\n" + "".join(f"{k},{('train', 'val', 'test')[k % 3]}\n" for k in range(8, N)))
    refused("split g.h5 s.h5 --table t.csv --by-column part", says="t.csv:2: " + code)


for test in (test_encodings, test_separators, test_losses, test_untrained_columns, test_clamped, test_types_of_numbers,
             test_without_labels, test_compare, test_splits_and_graphs, test_like_alone, test_resumed_data, test_other_splits,
             test_scores_of_several_labels, test_codes):
    test()
