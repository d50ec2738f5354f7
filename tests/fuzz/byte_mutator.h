#pragma once

#include <adjoint/core/random.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace adj::fuzz {

using Bytes = std::string;

class Random {
 public:
  explicit Random(uint64_t seed) : seed_(seed) {}
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(next() % n); }
  uint64_t next() {
    const PhiloxBlock block = philox(seed_, 0, count_++);
    return static_cast<uint64_t>(block.word[0]) << 32 | block.word[1];
  }

 private:
  uint64_t seed_, count_ = 0;
};

/// Offsets of HDF5's structures: most other bytes are values, where mutations find little.
std::vector<size_t> structures(const Bytes& file) {
  std::vector<size_t> places{0};
  for (const char* mark : {"OHDR", "OCHK", "TREE", "SNOD", "HEAP", "GCOL", "FRHP", "FHDB", "FHIB", "FSHD",
                           "FSSE", "BTHD", "BTLF", "BTIN", "FAHD", "FADB", "EAHD", "EAIB", "EADB", "EASB"})
    for (size_t offset = file.find(mark); offset != Bytes::npos; offset = file.find(mark, offset + 1))
      places.push_back(offset);
  // Old object headers have no signature: version 1, a zero, a small number of messages, one reference.
  for (size_t offset = 0; offset + 16 < file.size(); offset += 8)
    if (std::memcmp(&file[offset], "\x01\x00", 2) == 0 && file[offset + 3] == 0 &&
        std::memcmp(&file[offset + 4], "\x01\x00\x00\x00", 4) == 0)
      places.push_back(offset);
  return places;
}

uint64_t interesting(Random& random, size_t size) {
  constexpr uint64_t kMost = ~uint64_t{0};
  const uint64_t offset = random.below(size), any = random.next();
  const uint64_t values[] = {0,          1,          2,        7,         8,
                             0x7f,       0x80,       0xff,     0xffff,    0x7fffffff,
                             0x80000000, 0xffffffff, kMost,    kMost - 1, kMost / 2 + 1,
                             size,       size - 1,   size + 1, offset,    any};
  return values[random.below(std::size(values))];
}

class Mutator {
 public:
  Mutator(Bytes file, Random& random) : file_(std::move(file)), places_(structures(file_)), random_(random) {}

  Bytes mutate() {
    Bytes bytes = file_;
    for (size_t left = 1 + random_.below(4); left > 0 && bytes.size() > 64; --left) change(bytes);
    return bytes;
  }

 private:
  size_t place(const Bytes& bytes) {
    const size_t offset = random_.below(8) == 0 ? random_.below(bytes.size())
                                                : places_[random_.below(places_.size())] + random_.below(96);
    return std::min(offset, bytes.size() - 1);
  }

  void change(Bytes& bytes) {
    const size_t offset = place(bytes), room = bytes.size() - offset;
    switch (random_.below(9)) {
      case 0:
        bytes[offset] ^= static_cast<char>(1u << random_.below(8));
        break;
      case 1:
        bytes[offset] = static_cast<char>(random_.next());
        break;
      case 2:
        bytes[offset] = static_cast<char>(bytes[offset] + (random_.below(2) == 0 ? 1 : -1));
        break;
      case 3:
      case 4: {
        const uint64_t value = interesting(random_, bytes.size());
        const size_t width = std::min(room, size_t{1} << random_.below(4));
        std::memcpy(&bytes[offset], &value, width);
        break;
      }
      case 5: {
        const size_t source = place(bytes),
                     length = std::min({random_.below(64), room, bytes.size() - source});
        std::memmove(&bytes[offset], &bytes[source], length);
        break;
      }
      case 6:
        std::memset(&bytes[offset], random_.below(2) == 0 ? 0 : 0xff, std::min(room, random_.below(64)));
        break;
      case 7:
        if (random_.below(4) == 0) bytes.resize(offset);
        break;
      default: {
        const size_t other = place(bytes),
                     length = std::min({1 + random_.below(32), room, bytes.size() - other});
        std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                         bytes.begin() + static_cast<std::ptrdiff_t>(offset + length),
                         bytes.begin() + static_cast<std::ptrdiff_t>(other));
      }
    }
  }

  Bytes file_;
  std::vector<size_t> places_;
  Random& random_;
};

}  // namespace adj::fuzz
