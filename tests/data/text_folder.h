#pragma once

#include "../support.h"
#include "gzip_file.h"

#include <filesystem>
#include <map>
#include <string>

namespace adj::test {

/// A folder's files by relative path, to be modified and written; names ending in ".gz" are gzipped.
using FolderText = std::map<std::string, std::string>;

inline void write_folder(const std::filesystem::path& folder, const FolderText& files) {
  for (const auto& [name, text] : files) {
    std::filesystem::create_directories((folder / name).parent_path());
    write_file((folder / name).string(), name.ends_with(".gz") ? gzipped(text) : text);
  }
}

/// The message of the E that `f` throws, without the folder's name and anything before it; "none" if nothing
/// is thrown.
template <class E, class F>
std::string error_in(const std::string& folder, F&& f) {
  try {
    f();
  } catch (const E& error) {
    const std::string message = error.what();
    const size_t at = message.find(folder);
    CHECK(message.find('\n') == std::string::npos);
    return at == std::string::npos ? message : message.substr(at + folder.size());
  }
  return "none";
}

}  // namespace adj::test
