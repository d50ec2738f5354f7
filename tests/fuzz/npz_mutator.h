#pragma once

#include "../data/npz_file.h"
#include "byte_mutator.h"

namespace adj::fuzz {

/// Mutates an .npz: array contents, with a correct CRC so that the changes are seen; the archive's own bytes;
/// or the set of arrays.
class NpzMutator {
 public:
  explicit NpzMutator(Random& random) : random_(random) {}

  Bytes mutate(test::NpzFile file) {
    for (size_t left = random_.below(4); left > 0 && !file.entries.empty(); --left) {
      const size_t k = random_.below(file.entries.size());
      test::NpzFile::Entry& entry = file.entries[k];
      switch (random_.below(12)) {
        case 0:
          file.entries.erase(file.entries.begin() + static_cast<std::ptrdiff_t>(k));
          break;
        case 1:
          file.entries.push_back(entry);
          break;
        case 2:
          entry.name = file.entries[random_.below(file.entries.size())].name;
          break;
        case 3:
          entry.method = static_cast<uint16_t>(random_.below(16));
          break;
        case 4:
          entry.claimed = static_cast<int64_t>(interesting(random_, entry.bytes.size()) & 0xffffffffu);
          break;
        case 5:
          entry.bytes = file.entries[random_.below(file.entries.size())].bytes;
          break;
        case 6:
          change_header(entry.bytes);
          break;
        default:
          change_values(entry.bytes);
      }
    }
    const Bytes bytes = file.bytes();
    return random_.below(3) == 0 ? Mutator(bytes, random_).mutate() : bytes;
  }

 private:
  /// Replaces a word of the header, with or without the same length.
  void change_header(Bytes& bytes) {
    static const char* const words[] = {
        "<f4",  ">i8",   "|b1",        "|O", "<U3", "|S0", "<f2", "True", "False", "(3,)",
        "(0,)", "(2, 2", "2147483647", "{",  "'",   ")",   "}",   "-1",   "[",     "9223372036854775807",
        "\\",   "shape"};
    const size_t end = std::min<size_t>(bytes.size(), 100);
    if (end < 12) return;
    const Bytes word = words[random_.below(std::size(words))];
    const size_t position = 8 + random_.below(end - 8);
    if (random_.below(2) == 0) {
      bytes.replace(position, std::min(word.size(), bytes.size() - position), word);
    } else {
      bytes.insert(position, word);
    }
  }

  /// Overwrites a number, at any byte offset.
  void change_values(Bytes& bytes) {
    if (bytes.size() < 16) return;
    const size_t position = random_.below(4) == 0
                                ? random_.below(bytes.size())
                                : bytes.size() - 1 - random_.below(std::min<size_t>(64, bytes.size() - 1));
    const uint64_t value = interesting(random_, bytes.size());
    std::memcpy(&bytes[position], &value, std::min(bytes.size() - position, size_t{1} << random_.below(4)));
  }

  Random& random_;
};

}  // namespace adj::fuzz
