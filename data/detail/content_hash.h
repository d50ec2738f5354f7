#pragma once

#include <adjoint/core/tensor.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace adj::detail {

/// Murmur3 mixing of 64-bit words (Appleby, public domain); not cryptographic. Stored in files, so the
/// algorithm is fixed.
class ContentHash {
 public:
  ContentHash() = default;
  explicit ContentHash(uint64_t state) : state_(state) {}  ///< goes on from state() of another
  uint64_t state() const { return state_; }
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
  /// Bytes that do not fill a word yet.
  static constexpr std::ptrdiff_t kWord = sizeof(uint64_t);
  struct Rest {
    uint64_t word = 0;
    size_t bytes = 0;
  };
  /// Adds the full words of `rest` and a CPU tensor, and leaves the remaining bytes in `rest`.
  void add_words(const Tensor& host, Rest& rest) {
    const char* bytes = static_cast<const char*>(host.raw_data());
    const char* const end = bytes + host.bytes();
    const auto take = [&](size_t count) {
      std::memcpy(reinterpret_cast<char*>(&rest.word) + rest.bytes, bytes, count);
      bytes += count;
      rest.bytes += count;
    };
    while (bytes < end) {
      if (rest.bytes == 0 && end - bytes >= kWord) {
        uint64_t word = 0;
        std::memcpy(&word, bytes, sizeof word);
        bytes += sizeof word;
        add(word);
        continue;
      }
      take(std::min(sizeof rest.word - rest.bytes, static_cast<size_t>(end - bytes)));
      if (rest.bytes < sizeof rest.word) continue;
      add(rest.word);
      rest = {};
    }
  }
  /// Adds the full words of a CPU tensor; returns the remaining bytes.
  uint64_t add_words(const Tensor& host) {
    Rest rest;
    add_words(host, rest);
    return rest.word;
  }

 private:
  uint64_t state_ = 0;
};

}  // namespace adj::detail
