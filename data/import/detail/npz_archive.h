#pragma once

#include <adjoint/core/error.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct zip;
struct zip_file;

namespace adj {

/// A zip archive of .npy files, read on demand. All errors are one-line DataErrors naming the file and, if
/// any, the array (without ".npy").
class NpzArchive {
 public:
  struct Entry {
    uint64_t index = 0;
    uint64_t bytes = 0;   ///< uncompressed size, from the directory
    uint64_t packed = 0;  ///< compressed size
    uint16_t method = 0;
    bool encrypted = false;
  };

  /// Sequential reader of an entry's bytes.
  class Stream {
   public:
    /// Returns fewer bytes than requested only at the end, where the CRC is checked too.
    size_t read(void* buffer, size_t bytes);

   private:
    friend class NpzArchive;
    struct Close {
      void operator()(zip_file* file) const;
    };
    const NpzArchive* archive_ = nullptr;
    std::string array_;
    std::unique_ptr<zip_file, Close> file_;
  };

  static NpzArchive open(const std::string& path);
  /// From memory, which must outlive the archive; `name` replaces the path in messages.
  static NpzArchive from_image(std::span<const std::byte> image, const std::string& name);

  const std::string& file() const { return name_; }
  uint64_t file_bytes() const { return bytes_; }
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  /// A stream at an entry's first byte, after checking the directory's information: a plain entry, stored or
  /// deflated, no larger than the file, and no higher compression ratio than deflate allows (zip bombs).
  Stream stream(const std::string& array) const;
  template <class... Args>
  [[noreturn]] void fail(std::string_view array, fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(array, fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail_with(std::string_view array, const std::string& message) const;

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };

  [[noreturn]] void fail_to_open(std::string_view head, int code) const;
  void list();

  std::string name_;
  uint64_t bytes_ = 0;
  std::unique_ptr<zip, Discard> zip_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace adj
