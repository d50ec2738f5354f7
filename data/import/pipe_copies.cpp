#include <adjoint/core/detail/descriptor.h>
#include <adjoint/core/text.h>
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
  if (file.get() < 0) fail_to_copy(path, "a pipe, which cannot be copied to " + name);
  ::unlink(name.c_str());
  return file;
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
    if (!detail::write_all(copy.get(), std::string_view(piece).substr(0, static_cast<size_t>(got))))
      fail_to_copy(path, "a pipe, which cannot be copied to the folder of temporary files (TMPDIR)");
  }
}

}  // namespace

PipeCopies::PipeCopies(std::span<const std::string> paths) {
  struct stat status {};
  for (const std::string& path : paths)
    if (!copies_.contains(path) && ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode))
      copies_.emplace(path, std::make_shared<detail::Descriptor>(copy_of(path)));
}

std::string PipeCopies::readable(const std::string& path) const {
  const auto copy = copies_.find(path);
  return copy == copies_.end() ? path : fmt::format("/proc/self/fd/{}", copy->second->get());
}

}  // namespace adj
