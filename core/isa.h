#pragma once

#include <string>
#include <string_view>

namespace adj {

/// The instruction set that the CPU kernels of this process use: "avx512" (x86-64-v4), "avx2" (x86-64-v3),
/// "sse2", "neon" or "generic". A build with ADJOINT_NATIVE=OFF for x86-64 holds the kernels for avx2 and for
/// avx512 and uses the higher one that the CPU has, or the one that the environment variable ADJOINT_ISA
/// names; other builds have only those of their target. Bits are the same for one instruction set, and
/// may differ in the last places between two: sums of vectors have more or fewer lanes. Throws UsageError if
/// ADJOINT_ISA names an instruction set that this build or CPU lacks.
std::string_view cpu_isa();
/// For `--version` and `--explain`: "avx512 (of avx2, avx512)".
std::string describe_cpu_isa();

namespace detail {
/// True if kernels::cpu_v4 runs instead of kernels::cpu. One load after the first call.
bool uses_cpu_v4();
}  // namespace detail

}  // namespace adj
