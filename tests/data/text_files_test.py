#!/usr/bin/env python3
"""Text files as users have them, read by `convert edges`: encodings, line ends, pipes. What is
expected was written here, or is what numpy makes of it."""
import gzip
import pathlib
import subprocess
import tempfile

from peers import BIN, np

from from_adjoint import read_dataset

rng = np.random.default_rng(3)


def run(*args, data=None):
    command = [str(BIN / "convert"), "edges", *map(str, args), "--quiet"]
    done = subprocess.run(command, input=data, capture_output=True, timeout=300)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def convert(*args, data=None):
    code, out, error = run(*args, data=data)
    assert code == 0, f"{args}: {error}"
    return out


def refused(*args, data=None):
    code, _, error = run(*args, data=data)
    assert code != 0 and error.count("\n") == 1, f"{args}: {error}"
    return error


def ends_of(path):
    """Pairs of names, in the order of the list."""
    found = read_dataset(path)
    names = [str(n) for n in found["node_names"]]
    return [(names[a], names[b]) for a, b in zip(*np.asarray(found["edge_index"]))]


with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    out, file = root / "out.h5", root / "edges.csv"
    pairs = [(f"Müller {k}", f"José {k * 7919 % 5000}") for k in range(40000)]
    text = "Source,Target\n" + "".join(f"{a},{b}\n" for a, b in pairs)

    # Encodings; large, so that characters lie across the pieces that are read.
    for name, options in [("utf-8-sig", []), ("utf-16", []), ("utf-32", []), ("latin-1", ["--encoding", "latin1"]),
                          ("cp1252", ["--encoding", "CP1252"]), ("utf-16-be", ["--encoding", "utf-16be"]),
                          ("utf-8", ["--encoding", "utf-8"]), ("utf-16", ["--encoding", "latin1"])]:
        for pack in (bytes, gzip.compress):
            file.write_bytes(pack(text.encode(name)))
            note = convert(file, out, *options)
            assert sorted(ends_of(out)) == sorted(pairs), name
            assert ("UTF-16LE by its byte order mark" in note) == (name == "utf-16"), note
    file.write_bytes(b"a,b\nJos\xe9,b\n")
    assert 'edges.csv:2: "Jos\\xe9": byte 4 is 0xe9' in refused(file, out) and "--encoding" in refused(file, out)
    assert "edges.csv:2: byte 0xe9 begins no character of utf-8" in refused(file, out, "--encoding", "utf-8")
    file.write_bytes(b"a,b\nb,c\n\x81,c\n")
    assert "edges.csv:3: byte 0x81 begins no character of cp1252" in refused(file, out, "--encoding", "cp1252")
    assert "iconv" in refused(file, out, "--encoding", "none-such")
    assert "iconv" in refused(file, out, "--encoding", "latin1//IGNORE")
    file.write_bytes("a,b\nb,c\n".encode("utf-16-le"))
    assert "a zero byte" in refused(file, out) and "--encoding utf-16le" in refused(file, out)
    file.write_bytes("a,b\nb,c\n".encode("utf-16")[:-1])
    assert "ends within a character of UTF-16LE" in refused(file, out)

    # Line ends.
    file.write_bytes(text.replace("\n", "\r").encode())
    assert "; lines end in CR" in convert(file, out) and sorted(ends_of(out)) == sorted(pairs)
    file.write_bytes(b"a,b\rb,c\r" * 40000 + b"a,b\n")
    assert "edges.csv:80001: a line that ends in LF after lines that end in CR" in refused(file, out)
    file.write_bytes(b"a,b\r\nb,c\r\n")
    assert "CR" not in convert(file, out) and ends_of(out) == [("a", "b"), ("b", "c")]

    # Pipes, which can be read once only, for edges and nodes.
    table = root / "nodes.csv"
    table.write_text("id,size\na,1\nb,2\nc,3\n")
    for source in ("-", "/dev/stdin"):
        convert(source, out, "--features", table, data=b"a,b\nb,c\n")
        assert ends_of(out) == [("a", "b"), ("b", "c")] and read_dataset(out)["name"] == "stdin"
    convert("-", out, data=gzip.compress(text.encode()))
    assert sorted(ends_of(out)) == sorted(pairs)
    file.write_text("a,b\nb,c\n")
    convert(file, out, "--features", "-", data=table.read_bytes())
    assert np.array_equal(read_dataset(out)["x"], [[1], [2], [3]])
    command = f"{BIN}/convert edges <(cat {file}) {out} --features <(cat {table})"
    subprocess.run(["bash", "-c", command], check=True, capture_output=True, timeout=300)
    assert np.array_equal(read_dataset(out)["x"], [[1], [2], [3]])
    assert "no edges" in refused("-", out, data=b"")
