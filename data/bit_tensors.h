#pragma once

#include <adjoint/data/hdf5_file.h>
#include <adjoint/kernels/bits/bit_tensor.h>

namespace adj {

/// Writes `q` as the group `path`, in a layout independent of device and kernel: `planes` uint8 [bits, outer,
/// ceil(inner / 8)], where bit k % 8 of byte k / 8 belongs to number k (numpy: bitorder "little") and padding
/// bits are 0; `scale` and `zero`, float32 [1] or [outer]; the attributes format, version, bits and inner.
/// Throws Error unless the bit tensor is complete, as read_bits() requires.
void write_bits(H5Writer& file, const std::string& path, const BitTensor& q);

/// Reads the format of write_bits(), to the CPU. Throws DataError "FILE: PLACE: what was found, what was
/// expected" for other shapes or types, bits outside 1 to 8, nonzero padding bits, scales that are not finite
/// and positive, zeros that are not finite, rows with numbers beyond float32, and rows whose q sum to 2^31 or
/// more.
BitTensor read_bits(const H5Reader& file, const std::string& path);

}  // namespace adj
