#pragma once

// Warpgroup matrix products (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate"), which only
// code for sm_90a has.

#include <cstdint>

namespace adj::kernels::cuda {

/// Rows of 128 bytes, eight of them a pattern of 1024 bytes in which the 16-byte chunk c of row r lies at
/// c ^ (r % 8): the layout of tiles that both shared-memory stores and tensor cores reach without conflicts.
constexpr int kRowBytes = 128, kPatternBytes = 1024;

__device__ __forceinline__ int swizzled(int row, int chunk) {
  return row * kRowBytes + ((chunk ^ (row % 8)) * 16);
}

/// Tells a warpgroup product where an operand is. `panel_bytes`: between patterns side by side, where rows
/// run along the outer extent and that is longer than one row.
__device__ __forceinline__ uint64_t describe_tile(uint32_t shared_address, uint32_t panel_bytes) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  return kSwizzle128 | uint64_t{kPatternBytes / 16} << 32 | uint64_t{panel_bytes / 16} << 16 |
         ((shared_address & 0x3ffff) / 16);
}

/// What ordinary stores wrote to shared memory is there for the tensor cores, after the next barrier.
__device__ __forceinline__ void publish_to_tensor_cores() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/// Registers of each thread of the warpgroup from here on: some warpgroups of a block give, others take.
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

/// sum += A B of a tile A [64,16] and B [16,N] in bfloat16; `keeps` false: sum = A B. kOuterA, kOuterB: do an
/// operand's rows in shared memory run along its outer extent, M or N, rather than along K? A thread's part
/// of the sum: of row 16 (warp % 4) + lane / 4, two neighbours from column 2 (lane % 4) on, as many of the
/// row 8 below, then both again 8 columns further on. Done after wait_for_products.
template <bool kOuterA, bool kOuterB>
__device__ __forceinline__ void multiply_tiles(float (&sum)[32], uint64_t a, uint64_t b, int keeps) {
  asm volatile(
      "{\n.reg .pred keeps;\nsetp.ne.b32 keeps, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, keeps, 1, 1, %35, %36;\n}\n"
      : ADJ_SUM16(0), ADJ_SUM16(16)
      : "l"(a), "l"(b), "r"(keeps), "n"(int{kOuterA}), "n"(int{kOuterB}));
}
template <bool kOuterA, bool kOuterB>
__device__ __forceinline__ void multiply_tiles(float (&sum)[64], uint64_t a, uint64_t b, int keeps) {
  asm volatile(
      "{\n.reg .pred keeps;\nsetp.ne.b32 keeps, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, keeps, 1, 1, %67, %68;\n}\n"
      : ADJ_SUM16(0), ADJ_SUM16(16), ADJ_SUM16(32), ADJ_SUM16(48)
      : "l"(a), "l"(b), "r"(keeps), "n"(int{kOuterA}), "n"(int{kOuterB}));
}

#undef ADJ_SUM16
#undef ADJ_SUM4

}  // namespace adj::kernels::cuda
