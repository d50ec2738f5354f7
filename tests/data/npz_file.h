#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

namespace adj::test {

/// An array in numpy's format: header, then the values' bytes.
inline std::string npy(const std::string& type, const std::vector<int64_t>& shape, const std::string& values,
                       bool fortran_order = false) {
  std::string extents;
  for (int64_t extent : shape) extents += fmt::format("{}{}", extent, shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}", type,
                                 fortran_order ? "True" : "False", extents);
  text.resize((text.size() + 11 + 63) / 64 * 64 - 11, ' ');
  text += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(text.size() & 255);
  file += static_cast<char>(text.size() >> 8);
  return file + text + values;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Numbers in this machine's numpy type.
template <class T>
std::string npy(const std::vector<int64_t>& shape, const std::vector<T>& values) {
  const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  return npy(fmt::format("{}{}{}", sizeof(T) == 1 ? '|' : '<', kind, sizeof(T)), shape, raw(values));
}
inline std::string npy_bools(const std::vector<int64_t>& shape, const std::vector<uint8_t>& values) {
  return npy("|b1", shape, raw(values));
}

/// A zip archive built by hand, so that any part of it can be wrong.
struct NpzFile {
  struct Entry {
    std::string name, bytes;
    uint16_t method = 0;  ///< 8: a deflate stream, of stored blocks
    uint16_t flags = 0;
    int64_t claimed = -1;  ///< overrides the uncompressed size
    uint32_t crc_difference = 0;
  };
  std::vector<Entry> entries;

  /// "x" becomes "x.npy".
  NpzFile& add(const std::string& name, std::string bytes, uint16_t method = 0) {
    entries.push_back({.name = name + ".npy", .bytes = std::move(bytes), .method = method});
    return *this;
  }
  Entry& operator[](const std::string& name) {
    for (Entry& entry : entries)
      if (entry.name == name + ".npy") return entry;
    return add(name, "").entries.back();
  }
  void erase(const std::string& name) {
    std::erase_if(entries, [&](const Entry& entry) { return entry.name == name + ".npy"; });
  }

  std::string bytes() const {
    std::string file, directory;
    for (const Entry& entry : entries) {
      const std::string packed = entry.method == 8 ? stored_blocks(entry.bytes) : entry.bytes;
      std::string facts;  // shared by the local header and the directory
      put16(facts, 20);
      put16(facts, entry.flags);
      put16(facts, entry.method);
      put32(facts, 0);
      put32(facts, crc(entry.bytes) ^ entry.crc_difference);
      put32(facts, static_cast<uint32_t>(packed.size()));
      put32(facts, static_cast<uint32_t>(entry.claimed < 0 ? static_cast<int64_t>(entry.bytes.size())
                                                           : entry.claimed));
      put16(facts, static_cast<uint16_t>(entry.name.size()));
      put16(facts, 0);
      directory += "PK\x01\x02";
      put16(directory, 20);
      directory += facts;
      directory.append(10, '\0');  // no comment, disk 0, no attributes
      put32(directory, static_cast<uint32_t>(file.size()));
      directory += entry.name;
      file += "PK\x03\x04" + facts + entry.name + packed;
    }
    const auto offset = static_cast<uint32_t>(file.size()), count = static_cast<uint32_t>(entries.size());
    file += directory + "PK\x05\x06";
    put32(file, 0);
    put16(file, static_cast<uint16_t>(count));
    put16(file, static_cast<uint16_t>(count));
    put32(file, static_cast<uint32_t>(directory.size()));
    put32(file, offset);
    put16(file, 0);
    return file;
  }

  void write(const std::string& path) const { std::ofstream(path, std::ios::binary) << bytes(); }

 private:
  static void put16(std::string& output, uint16_t value) {
    output += static_cast<char>(value & 255);
    output += static_cast<char>(value >> 8);
  }
  static void put32(std::string& output, uint32_t value) {
    put16(output, static_cast<uint16_t>(value & 0xffff));
    put16(output, static_cast<uint16_t>(value >> 16));
  }
  static uint32_t crc(const std::string& bytes) {
    uint32_t crc = ~0u;
    for (unsigned char byte : bytes) {
      crc ^= byte;
      for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
  }
  static std::string stored_blocks(const std::string& bytes) {
    std::string stream;
    for (size_t offset = 0; offset == 0 || offset < bytes.size(); offset += 65535) {
      const std::string block = bytes.substr(offset, 65535);
      stream += offset + 65535 >= bytes.size() ? '\1' : '\0';
      put16(stream, static_cast<uint16_t>(block.size()));
      put16(stream, static_cast<uint16_t>(~block.size()));
      stream += block;
    }
    return stream;
  }
};

}  // namespace adj::test
