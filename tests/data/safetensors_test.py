#!/usr/bin/env python3
"""Compares safetensors files with numpy, and to the byte with the reference implementation if it is installed (PyPI's
safetensors). Needs ADJOINT_BIN_DIR."""
import json
import struct
import unittest

from peers import Case, library, np

KINDS = {"f8": "F64", "f4": "F32", "f2": "F16", "i8": "I64", "i4": "I32", "u1": "U8", "b1": "BOOL"}


def arrays():
    random = np.random.default_rng(1)
    found = {f"{name}.{kind}": np.asarray(random.random(shape) * 200).astype(kind) for kind in ("f8", "f4", "i8", "i4", "u1")
             for name, shape in (("weight", (3, 5)), ("é \"quoted\"\n", (7,)), ("none", (0, 2)), ("one", ()))}
    return found | {"mask": random.random(9) < 0.5, "half": np.array([0, -0.0, 1, -2.5, 6e-8, 65504, np.inf, np.nan], "f2")}


def widened(values):
    return {name: value.astype({"f2": "f4", "b1": "u1"}.get(value.dtype.str[1:], value.dtype)) for name, value in values.items()}


def written(values, metadata):
    """By the format's description, in the order given."""
    header, data = {"__metadata__": metadata}, b""
    for name, value in values.items():
        header[name] = {"dtype": KINDS[value.dtype.str[1:]], "shape": value.shape,
                        "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def read(data):
    kinds = {text: kind for kind, text in KINDS.items()}
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    return {name: np.frombuffer(data[8 + length:][slice(*item["data_offsets"])], kinds[item["dtype"]]).reshape(item["shape"])
            for name, item in header.items()}, metadata


class Safetensors(Case):
    def copy(self, data):
        source, out = self.folder / "in.safetensors", self.folder / "out.safetensors"
        source.write_bytes(data)
        self.ok(self.run_program("copy_file", "safetensors", source, out))
        return out

    def test_both_ways(self):
        found, metadata = read(self.copy(written(arrays(), {"format": "pt", "é": "\t"})).read_bytes())
        self.assertEqual(metadata, {"format": "pt", "é": "\t"})
        self.assertEqual(set(found), set(arrays()))
        for name, value in widened(arrays()).items():
            self.assertEqual((found[name].dtype, found[name].shape), (value.dtype, value.shape))
            self.assertEqual(found[name].tobytes(), value.tobytes(), name)

    def test_the_bytes_are_the_reference_implementations(self):
        reference = library("safetensors.numpy")
        if reference is None:
            return
        values = widened(arrays())
        data = reference.save(values, {"format": "np"})
        copy = self.copy(data)
        self.assertEqual(copy.read_bytes(), data)
        for name, value in reference.load_file(copy).items():
            np.testing.assert_array_equal(value, values[name])
        self.copy(reference.save(arrays()))


if __name__ == "__main__":
    unittest.main()
