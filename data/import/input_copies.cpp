#include <adjoint/core/detail/descriptor.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/sqlite_file.h>
#include <adjoint/data/import/text_source.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace adj {

namespace {

[[noreturn]] void fail_to_copy(const std::string& path, const std::string& what) {
  data_fail("{}: {}: {}", excerpt(path), what, std::strerror(errno));
}

/// A file without a name.
detail::Descriptor nameless_file(const std::string& path) {
  std::string name = (std::filesystem::temp_directory_path() / "adjoint-XXXXXX").string();
  detail::Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.get() < 0) fail_to_copy(path, "cannot be copied to " + name);
  ::unlink(name.c_str());
  return file;
}

void write(const detail::Descriptor& copy, const std::string& path, std::string_view bytes) {
  if (!detail::write_all(copy.get(), bytes))
    fail_to_copy(path, "cannot be copied to the folder of temporary files (TMPDIR)");
}

detail::Descriptor copy_of(const std::string& path) {
  const detail::Descriptor pipe(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (pipe.get() < 0) fail_to_copy(path, "cannot be opened");
  detail::Descriptor copy = nameless_file(path);
  std::string piece(size_t{1} << 18, '\0');
  for (;;) {
    const ssize_t got = ::read(pipe.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to_copy(path, "cannot be read");
    if (got == 0) return copy;
    write(copy, path, std::string_view(piece).substr(0, static_cast<size_t>(got)));
  }
}

}  // namespace

InputCopies::InputCopies(std::span<const std::string> paths) {
  std::map<std::string, detail::SqliteFile> files;
  struct stat status {};
  for (const std::string& path : paths) {
    if (path.empty() || copies_.contains(path)) continue;
    if (::stat(path.c_str(), &status) == 0) {
      if (S_ISFIFO(status.st_mode))
        copies_.emplace(path, std::make_shared<detail::Descriptor>(copy_of(path)));
    } else if (const auto table = detail::SqlitePath::parse(path)) {
      auto copy = std::make_shared<detail::Descriptor>(nameless_file(path));
      files.try_emplace(table->file, table->file)
          .first->second.write_csv(path, table->rows,
                                   [&](std::string_view text) { write(*copy, path, text); });
      copies_.emplace(path, std::move(copy));
      tables_.insert(path);
    }
  }
}

int64_t InputCopies::row_in(const std::string& path, int64_t line) const {
  std::string piece(size_t{1} << 18, '\0');
  const int copy = copies_.at(path)->get();
  int64_t row = 0, offset = 0;
  bool quoted = false;
  for (int64_t got = 1, current = 1; current < line && got > 0; offset += got) {
    got = detail::read_all(copy, offset, piece.data(), piece.size());
    for (int64_t k = 0; k < got && current < line; ++k) {
      quoted ^= piece[static_cast<size_t>(k)] == '"';
      if (piece[static_cast<size_t>(k)] != '\n') continue;
      ++current;
      row += !quoted;
    }
  }
  return row;
}

std::string input_file(const std::string& path) {
  const auto table = detail::SqlitePath::parse(path);
  return table ? table->file : path;
}

bool is_input(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) || detail::SqlitePath::parse(path);
}

std::string InputCopies::readable(const std::string& path) const {
  const auto copy = copies_.find(path);
  return copy == copies_.end() ? path : fmt::format("/proc/self/fd/{}", copy->second->get());
}

}  // namespace adj
