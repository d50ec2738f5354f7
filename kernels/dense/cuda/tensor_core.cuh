#pragma once

// Warpgroup matrix products (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate"), available
// in code for sm_90a only.

#include <adjoint/kernels/cuda/float16.cuh>
#include <adjoint/kernels/cuda/launch.cuh>

#include <cstdint>
#include <type_traits>

namespace adj::kernels::cuda {

/// Whether the device has these products (compute capability 9.0).
inline bool has_warpgroup_products(Device device) {
  if (!device.is_cuda()) return false;
  const DeviceProperties& gpu = properties(device.index);
  return gpu.major == 9 && gpu.minor == 0;
}

/// Rows of 128 bytes in patterns of eight (1024 bytes), with the 16-byte chunk c of row r at c ^ (r % 8): the
/// swizzled tile layout that shared-memory stores and tensor cores access without bank conflicts.
constexpr int kRowBytes = 128, kPatternBytes = 1024;

__device__ __forceinline__ int swizzled(int row, int chunk) {
  return row * kRowBytes + ((chunk ^ (row % 8)) * 16);
}

/// Matrix descriptor of an operand. `panel_bytes`: stride between adjacent patterns, if rows run along the
/// outer extent and it exceeds one row.
__device__ __forceinline__ uint64_t describe_tile(uint32_t shared_address, uint32_t panel_bytes) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  return kSwizzle128 | uint64_t{kPatternBytes / 16} << 32 | uint64_t{panel_bytes / 16} << 16 |
         ((shared_address & 0x3ffff) / 16);
}

/// The operand `bytes` further on, a multiple of 16: one addition instead of a new descriptor.
__device__ __forceinline__ uint64_t moved(uint64_t tile, int bytes) {
  return tile + static_cast<uint64_t>(bytes / 16);
}

/// Makes ordinary stores to shared memory visible to the tensor cores, after the next barrier.
__device__ __forceinline__ void publish_to_tensor_cores() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits for all committed groups of products but the last kCount.
template <int kCount>
__device__ __forceinline__ void wait_for_all_products_but() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kCount) : "memory");
}
__device__ __forceinline__ void wait_for_products() { wait_for_all_products_but<0>(); }

/// Whether all sums are finite.
template <int kCount>
__device__ __forceinline__ bool all_finite(const float (&sum)[kCount]) {
  float zero[4] = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < kCount; ++i) zero[i % 4] = fmaf(sum[i], 0.0f, zero[i % 4]);
  return zero[0] + zero[1] + (zero[2] + zero[3]) == 0.0f;
}

/// Sets the registers per thread of the warpgroup: some warpgroups of a block release registers, others
/// acquire them.
template <int kCount>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

#define ADJ_SUM4(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3])
#define ADJ_SUM16(i) ADJ_SUM4(i), ADJ_SUM4(i + 4), ADJ_SUM4(i + 8), ADJ_SUM4(i + 12)

/// The asm of one product: `count` sums, listed in `list`, then A, B, keeps and the two layouts.
#define ADJ_MULTIPLY(type, shape, list, a_at, b_at, keeps_at, outer_a_at, outer_b_at, ...)                  \
  asm volatile("{\n.reg .pred keeps;\nsetp.ne.b32 keeps, " keeps_at                                         \
               ", 0;\nwgmma.mma_async.sync.aligned.m64" shape "k16.f32." type "." type " {" list "}, " a_at \
               ", " b_at ", keeps, 1, 1, " outer_a_at ", " outer_b_at ";\n}\n"                              \
               : __VA_ARGS__                                                                                \
               : "l"(a), "l"(b), "r"(keeps), "n"(int{kOuterA}), "n"(int{kOuterB}))
#define ADJ_LIST32                                                                                  \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, " \
  "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define ADJ_LIST64                                                                                    \
  ADJ_LIST32                                                                                          \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, " \
  "%51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define ADJ_LIST128                                                                                        \
  ADJ_LIST64                                                                                               \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, " \
  "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, "     \
  "%103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, " \
  "%120, %121, %122, %123, %124, %125, %126, %127"
#define ADJ_SUM64(i) ADJ_SUM16(i), ADJ_SUM16(i + 16), ADJ_SUM16(i + 32), ADJ_SUM16(i + 48)
#define ADJ_MULTIPLY_N64(type) \
  ADJ_MULTIPLY(type, "n64", ADJ_LIST32, "%32", "%33", "%34", "%35", "%36", ADJ_SUM16(0), ADJ_SUM16(16))
#define ADJ_MULTIPLY_N128(type) \
  ADJ_MULTIPLY(type, "n128", ADJ_LIST64, "%64", "%65", "%66", "%67", "%68", ADJ_SUM64(0))
#define ADJ_MULTIPLY_N256(type) \
  ADJ_MULTIPLY(type, "n256", ADJ_LIST128, "%128", "%129", "%130", "%131", "%132", ADJ_SUM64(0), ADJ_SUM64(64))

/// sum += A B for a tile A [64,16] and B [16,N], N = 2 kCount = 64, 128 or 256, of bfloat16 or float16;
/// `keeps` false: sum = A B. kOuterA, kOuterB: an operand's rows in shared memory run along its outer extent,
/// M or N, rather than along K. A thread holds, of row 16 (warp % 4) + lane / 4, two adjacent columns from 2
/// (lane % 4) on, the same of the row 8 below, then both again 8 columns further on. Complete after
/// wait_for_products.
template <bool kOuterA, bool kOuterB, class Operand = bfloat16, int kCount>
__device__ __forceinline__ void multiply_tiles(float (&sum)[kCount], uint64_t a, uint64_t b, int keeps) {
  constexpr bool kBfloat16 = std::is_same_v<Operand, bfloat16>;
  static_assert(kBfloat16 || std::is_same_v<Operand, float16>);
  static_assert(kCount == 32 || kCount == 64 || kCount == 128);
  if constexpr (kCount == 32 && kBfloat16)
    ADJ_MULTIPLY_N64("bf16");
  else if constexpr (kCount == 32)
    ADJ_MULTIPLY_N64("f16");
  else if constexpr (kCount == 64 && kBfloat16)
    ADJ_MULTIPLY_N128("bf16");
  else if constexpr (kCount == 64)
    ADJ_MULTIPLY_N128("f16");
  else if constexpr (kBfloat16)
    ADJ_MULTIPLY_N256("bf16");
  else
    ADJ_MULTIPLY_N256("f16");
}

/// The same with A in registers: of row 16 (warp % 4) + lane / 4 two adjacent values along K from 2 (lane %
/// 4) on in a[0], of the row 8 below in a[1], then both again 8 further along K. They must be written before
/// begin_products and stay unchanged until wait_for_products.
#define ADJ_MULTIPLY_A(type, shape, list, a_at, b_at, keeps_at, outer_b_at, ...)                             \
  asm volatile("{\n.reg .pred keeps;\nsetp.ne.b32 keeps, " keeps_at                                          \
               ", 0;\nwgmma.mma_async.sync.aligned.m64" shape "k16.f32." type "." type " {" list "}, {" a_at \
               "}, " b_at ", keeps, 1, 1, " outer_b_at ";\n}\n"                                              \
               : __VA_ARGS__                                                                                 \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keeps), "n"(int{kOuterB}))
#define ADJ_MULTIPLY_A_N64(type)                                                                   \
  ADJ_MULTIPLY_A(type, "n64", ADJ_LIST32, "%32, %33, %34, %35", "%36", "%37", "%38", ADJ_SUM16(0), \
                 ADJ_SUM16(16))
#define ADJ_MULTIPLY_A_N128(type) \
  ADJ_MULTIPLY_A(type, "n128", ADJ_LIST64, "%64, %65, %66, %67", "%68", "%69", "%70", ADJ_SUM64(0))
#define ADJ_MULTIPLY_A_N256(type)                                                                           \
  ADJ_MULTIPLY_A(type, "n256", ADJ_LIST128, "%128, %129, %130, %131", "%132", "%133", "%134", ADJ_SUM64(0), \
                 ADJ_SUM64(64))
template <bool kOuterB, class Operand, int kCount>
__device__ __forceinline__ void multiply_tiles(float (&sum)[kCount], const uint32_t (&a)[4], uint64_t b,
                                               int keeps) {
  constexpr bool kBfloat16 = std::is_same_v<Operand, bfloat16>;
  static_assert(kBfloat16 || std::is_same_v<Operand, float16>);
  static_assert(kCount == 32 || kCount == 64 || kCount == 128);
  if constexpr (kCount == 32 && kBfloat16)
    ADJ_MULTIPLY_A_N64("bf16");
  else if constexpr (kCount == 32)
    ADJ_MULTIPLY_A_N64("f16");
  else if constexpr (kCount == 64 && kBfloat16)
    ADJ_MULTIPLY_A_N128("bf16");
  else if constexpr (kCount == 64)
    ADJ_MULTIPLY_A_N128("f16");
  else if constexpr (kBfloat16)
    ADJ_MULTIPLY_A_N256("bf16");
  else
    ADJ_MULTIPLY_A_N256("f16");
}

#define ADJ_INTEGER4(i) "+r"(sum[i]), "+r"(sum[i + 1]), "+r"(sum[i + 2]), "+r"(sum[i + 3])
#define ADJ_INTEGER16(i) ADJ_INTEGER4(i), ADJ_INTEGER4(i + 4), ADJ_INTEGER4(i + 8), ADJ_INTEGER4(i + 12)
#define ADJ_INTEGER64(i) ADJ_INTEGER16(i), ADJ_INTEGER16(i + 16), ADJ_INTEGER16(i + 32), ADJ_INTEGER16(i + 48)
#define ADJ_MULTIPLY_INTEGERS(shape, types, list, a_at, b_at, ...)                                  \
  asm volatile("wgmma.mma_async.sync.aligned.m64" shape types " {" list "}, " a_at ", " b_at ", 1;" \
               : __VA_ARGS__                                                                        \
               : "l"(a), "l"(b))
#define ADJ_MULTIPLY_INTEGERS_OF(types)                                                                 \
  if constexpr (kCount == 32)                                                                           \
    ADJ_MULTIPLY_INTEGERS("n64", types, ADJ_LIST32, "%32", "%33", ADJ_INTEGER16(0), ADJ_INTEGER16(16)); \
  else if constexpr (kCount == 64)                                                                      \
    ADJ_MULTIPLY_INTEGERS("n128", types, ADJ_LIST64, "%64", "%65", ADJ_INTEGER64(0));                   \
  else                                                                                                  \
    ADJ_MULTIPLY_INTEGERS("n256", types, ADJ_LIST128, "%128", "%129", ADJ_INTEGER64(0), ADJ_INTEGER64(64))

/// sum += A B for tiles of bits, A [64,256] and B [N,256], by AND and popcount, N = 2 kCount; both along K. A
/// thread's part of the sum is that of multiply_tiles.
template <int kCount>
__device__ __forceinline__ void multiply_bits(int32_t (&sum)[kCount], uint64_t a, uint64_t b) {
  static_assert(kCount == 32 || kCount == 64 || kCount == 128);
  ADJ_MULTIPLY_INTEGERS_OF("k256.s32.b1.b1.and.popc");
}
/// The same for unsigned bytes, A [64,32] and B [N,32].
template <int kCount>
__device__ __forceinline__ void multiply_bytes(int32_t (&sum)[kCount], uint64_t a, uint64_t b) {
  static_assert(kCount == 32 || kCount == 64 || kCount == 128);
  ADJ_MULTIPLY_INTEGERS_OF("k32.s32.u8.u8");
}

#undef ADJ_MULTIPLY_INTEGERS_OF
#undef ADJ_MULTIPLY_INTEGERS
#undef ADJ_INTEGER64
#undef ADJ_INTEGER16
#undef ADJ_INTEGER4
#undef ADJ_MULTIPLY_A_N256
#undef ADJ_MULTIPLY_A_N128
#undef ADJ_MULTIPLY_A_N64
#undef ADJ_MULTIPLY_A
#undef ADJ_MULTIPLY_N256
#undef ADJ_MULTIPLY_N128
#undef ADJ_MULTIPLY_N64
#undef ADJ_MULTIPLY
#undef ADJ_LIST128
#undef ADJ_LIST64
#undef ADJ_LIST32
#undef ADJ_SUM64
#undef ADJ_SUM16
#undef ADJ_SUM4

}  // namespace adj::kernels::cuda
