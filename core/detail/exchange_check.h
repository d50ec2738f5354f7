#pragma once

#include <adjoint/core/tensor.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace adj::detail {

// What all ranks of a group throw when their calls differ.

/// A block as both sides name it.
inline std::string text_of(const Tensor& block) { return block ? block.str() : "nothing"; }

[[noreturn]] inline void fail_calls(size_t rank, std::string_view call, std::string_view first) {
  fail("rank {} calls {}, and rank 0 {}: expected the same call", rank, call, first);
}
[[noreturn]] inline void fail_blocks(size_t sender, std::string_view block, size_t receiver,
                                     std::string_view target) {
  fail("rank {} sends {} to rank {}, which expected {}", sender, block, receiver, target);
}

}  // namespace adj::detail
