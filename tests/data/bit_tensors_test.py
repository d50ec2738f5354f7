#!/usr/bin/env python3
"""Compares bit tensors in HDF5 with h5py and numpy, both ways. Needs ADJOINT_BIN_DIR."""
import unittest

from peers import Case, h5py, np

SIZES = (1, 7, 8, 9, 31, 33, 127, 129, 1000)


class BitTensors(Case):
    def setUp(self):
        super().setUp()
        self.given = self.folder / "in.h5"

    def write(self, q, bits, scale, zero, **attributes):
        """Integers [outer, inner] by numpy's own packing."""
        planes = np.stack([np.packbits(q >> p & 1, axis=1, bitorder="little") for p in range(bits)])
        with h5py.File(self.given, "w") as f:
            group = f.create_group("q")
            group["planes"], group["scale"], group["zero"] = planes, scale, zero
            group.attrs.update({"format": "adjoint.bits", "version": 1, "bits": bits, "inner": q.shape[1]} | attributes)
        return planes

    def copy(self):
        return self.run_program("copy_file", "bits", self.given, self.out)

    def test_both_ways(self):
        random = np.random.default_rng(1)
        for bits in range(1, 9):
            for k, outer in enumerate(SIZES):
                inner = SIZES[(3 * k + bits) % len(SIZES)]
                q = random.integers(0, 1 << bits, (outer, inner), np.uint8)
                n = outer if k % 2 else 1
                scale, zero = random.random(n, np.float32) + np.float32(0.1), random.random(n, np.float32) * 7
                planes = self.write(q, bits, scale, zero)
                self.ok(self.copy())
                with h5py.File(self.out) as f:
                    self.holds(f, {"values": scale[:, None] * (q - zero[:, None]), "sums": q.sum(axis=1, dtype=np.int64),
                                   "q/planes": planes, "q/scale": scale, "q/zero": zero})
                    self.assertEqual(dict(f["q"].attrs), {"format": "adjoint.bits", "version": 1, "bits": bits, "inner": inner})
                    self.assertEqual((f["q/planes"].dtype, f["q/scale"].dtype), ("uint8", "float32"))

    def test_refused(self):
        one = np.ones(1, np.float32)
        self.write(np.ones((2, 11), np.uint8), 1, one, one, inner=10)
        result = self.copy()
        self.assertEqual((result.returncode, result.stderr),
                         (1, f"{self.given}: q/planes: row 0 of plane 0 ends with 0x07, expected 0 after number 9\n"))
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
