"""What a trained model and its runs say of tables, splits and columns that are unlike those of the training."""

from programs import expect, read, refused, run, write

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


for test in (test_encodings, test_separators, test_losses):
    test()
