#pragma once

#include <adjoint/core/tensor.h>

#include <bit>
#include <cstring>
#include <string_view>

namespace adj::detail {

/// Murmur3 mixing of 64-bit words (Appleby, public domain); not cryptographic. Stored in files, so the
/// algorithm is fixed.
class ContentHash {
 public:
  void add(uint64_t word) {
    word = std::rotl(word * 0x87c37b91114253d5u, 31) * 0x4cf5ad432745937fu;
    state_ = std::rotl(state_ ^ word, 27) * 5 + 0x52dce729u;
  }
  void add(std::string_view text) {
    add(uint64_t{text.size()});
    for (const char c : text) add(uint64_t{static_cast<unsigned char>(c)});
  }
  /// Hashes shape, dtype and contents; an absent tensor differs from an empty one.
  void add(const Tensor& tensor) {
    add(uint64_t{tensor ? 1u : 0u});
    if (!tensor) return;
    add_form(tensor.dtype(), tensor.shape());
    add(add_words(tensor.to(Device::cpu())));
  }
  uint64_t result() const {
    uint64_t h = (state_ ^ (state_ >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 33);
  }

 protected:
  void add_form(DType dtype, const Shape& shape) {
    add(static_cast<uint64_t>(dtype));
    for (int d = 0; d < shape.dims(); ++d) add(static_cast<uint64_t>(shape[d]));
  }
  /// Adds the full words of a CPU tensor; returns the remaining bytes.
  uint64_t add_words(const Tensor& host) {
    const char* bytes = static_cast<const char*>(host.raw_data());
    uint64_t word = 0;
    size_t done = 0;
    for (; done + sizeof word <= host.bytes(); done += sizeof word) {
      std::memcpy(&word, bytes + done, sizeof word);
      add(word);
    }
    word = 0;
    if (done < host.bytes()) std::memcpy(&word, bytes + done, host.bytes() - done);
    return word;
  }

 private:
  uint64_t state_ = 0;
};

}  // namespace adj::detail
