#pragma once

#include "../says.h"
#include "../support.h"
#include "gzip_file.h"

namespace adj::test {

/// A folder's files by relative path, to be modified and written; names ending in ".gz" are gzipped.
using FolderText = std::map<std::string, std::string>;

inline FolderText with(FolderText files, const FolderText& changes) {
  for (const auto& [name, text] : changes) files[name] = text;
  return files;
}
/// Without the files whose names begin so.
inline FolderText without(FolderText files, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    std::erase_if(files, [&](const auto& file) { return file.first.starts_with(name); });
  return files;
}

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
    const size_t position = message.find(folder);
    CHECK(message.find('\n') == std::string::npos);
    return position == std::string::npos ? message : message.substr(position + folder.size());
  }
  return "none";
}

/// A change to one file of a valid folder, and the error that it causes.
template <class Options>
struct BadFile {
  std::string file;
  std::optional<std::string> text;  ///< none: the file is removed
  std::string message;              ///< as in `says`; from ':' on it follows the file's name
  Options options{};
};
inline constexpr std::nullopt_t kRemoved = std::nullopt;

/// Checks the error of refused(files, options) for each of them. A file's name is `path` with its name for *.
template <class Options, class Refused>
void check_bad_files(const FolderText& good, const std::string& path,
                     const std::vector<BadFile<Options>>& bad, Refused&& refused) {
  for (const BadFile<Options>& one : bad) {
    std::string name = path;
    name.replace(name.find('*'), 1, one.file);
    CAPTURE(name);
    FolderText files = good;
    if (one.text)
      files[name] = *one.text;
    else
      files.erase(name);
    CHECK(says(refused(files, one.options), one.message.starts_with(':') ? name + one.message : one.message));
  }
}

/// No warnings and notes in its scope, where they are expected.
struct Quiet {
  LogLevel before = log_level();
  Quiet() { set_log_level(LogLevel::error); }
  ~Quiet() { set_log_level(before); }
};

}  // namespace adj::test
