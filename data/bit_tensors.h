#pragma once

#include <adjoint/data/hdf5_file.h>
#include <adjoint/kernels/bits/bit_tensor.h>

namespace adj {

/// Writes `q` as the group `path`, in an order that depends on no device or kernel: `planes` uint8 [bits,
/// outer, ceil(inner / 8)], where bit k % 8 of byte k / 8 is that of number k (numpy: bitorder "little") and
/// bits behind the last number are 0; `scale` and `zero`, float32 [1] or [outer]; the attributes format,
/// version, bits and inner. Throws Error unless the bit tensor is whole, as read_bits() wants it.
void write_bits(H5Writer& file, const std::string& path, const BitTensor& q);

/// What write_bits() wrote, on the CPU. Throws DataError "FILE: PLACE: what was found, what was expected" for
/// other shapes and types, bits that are not 1 to 8 or set behind the last number, scales that are not finite
/// and above 0, zeros that are not finite, and rows whose numbers sum up to 2^31 or more.
BitTensor read_bits(const H5Reader& file, const std::string& path);

}  // namespace adj
