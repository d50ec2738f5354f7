#!/usr/bin/env python3
"""Compares what `convert edges` reads from files of Python's csv module with what was written, and with numpy."""
import csv
import pathlib
import tempfile

from peers import PARTS, np, run

from from_adjoint import read_dataset

rng = np.random.default_rng(7)
PIECES = ["a", "Zoë", " ", ",", ";", '"', '""', "\n", "\r\n", "#", "%", "7", "-1", "NA", "x y", "\t", "."]


def word(k):
    """Distinct by its number, with anything in it; csv does not strip blanks around fields without quotes."""
    return "".join(rng.choice(PIECES, rng.integers(1, 6))).strip() + f"|{k}"


def convert(*args):
    return run("convert edges", *args, "--quiet")


def write(path, rows, **how):
    with open(path, "w", newline="", encoding="utf-8") as f:
        csv.writer(f, **how).writerows(rows)
    return path


with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    for delimiter in ",;\t":
        for quoting in (csv.QUOTE_ALL, csv.QUOTE_MINIMAL):
            how = dict(delimiter=delimiter, quoting=quoting, lineterminator=rng.choice(["\n", "\r\n"]))
            names = [word(k) for k in range(300)]
            ends = rng.integers(0, len(names), (900, 2))
            if quoting == csv.QUOTE_MINIMAL:  # what begins as a comment before the first edge
                ends = ends[[not names[a].startswith(("#", "%")) for a, _ in ends].index(True):]
            used = list(dict.fromkeys(ends.ravel()))
            x = rng.normal(size=(len(names), 3)).astype(np.float32)
            x[rng.random(x.shape) < 0.2] = np.nan
            classes = [word(1000 + k) for k in range(5)]
            label = rng.integers(-1, 5, len(names))
            write(root / "edges", [["source", "target"], *([names[a], names[b]] for a, b in ends)], **how)
            write(root / "x", [["id", "f,g", "h", "i"],
                               *([names[k], *("" if np.isnan(v) else repr(float(v)) for v in x[k])] for k in used)], **how)
            write(root / "y", [["id", "label"], *([names[k], classes[label[k]] if label[k] >= 0 else "None"] for k in used)], **how)
            for imputation, statistic in (("mean", np.nanmean), ("median", np.nanmedian), ("zero", lambda c: 0)):
                output = convert(root / "edges", root / "o.h5", "--features", root / "x", "--labels", root / "y", "--impute", imputation,
                                 "--split", "50,30,20", "--stratified", "--seed", 3)
                data = read_dataset(root / "o.h5")
                found, called, y = data["node_names"], data["class_names"], data["y"]
                assert found == [names[k] for k in used], (found[:3], [names[k] for k in used[:3]])
                assert {(found[a], found[b]) for a, b in data["edge_index"].T} == {(names[a], names[b]) for a, b in ends}
                train = data["splits"][0]["train"]
                expected = np.stack([np.where(np.isnan(c), statistic(c[train].astype(np.float64)), c) for c in x[used].T], 1)
                assert np.allclose(data["x"], expected, rtol=1e-6, atol=1e-7)
                assert called == sorted((classes[k] for k in set(label[used]) if k >= 0), key=str.encode)
                assert [called[k] if k >= 0 else None for k in y] == [classes[k] if k >= 0 else None for k in label[used]]
                parts = [data["splits"][0][part] for part in PARTS]
                assert sorted(np.concatenate(parts)) == list(np.flatnonzero(y >= 0))
                for part, share in zip(parts, (0.5, 0.3, 0.2)):
                    for k in range(5):
                        assert abs(np.sum(y[part] == k) - share * np.sum(y == k)) < 2
                fitted = "" if imputation == "zero" else f" of {len(train)} training nodes"
                assert f"{np.isnan(x[used]).sum()} missing numbers imputed ({imputation}{fitted}) in 3 columns" in output, output
                assert "line 1 taken as header: " in output and f'of "None"' in output, output
print("edges, features, labels and splits as they went in")
