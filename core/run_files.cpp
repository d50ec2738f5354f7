#include <adjoint/core/error.h>
#include <adjoint/core/file.h>
#include <adjoint/core/run_files.h>

#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace adj {

RunFiles::RunFiles() {
  const std::pair<int, const char*> streams[] = {{STDOUT_FILENO, "standard output"},
                                                 {STDERR_FILENO, "standard error"}};
  struct stat status {};
  for (const auto& [stream, name] : streams)
    if (fstat(stream, &status) == 0 && S_ISREG(status.st_mode))
      taken_.push_back({{status.st_dev, status.st_ino, ""}, name});
}

std::optional<RunFiles::Identity> RunFiles::identify(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) return Identity{status.st_dev, status.st_ino, ""};
  const std::filesystem::path target = followed(path);
  const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
  if (stat(folder.c_str(), &status) != 0) return {};
  return Identity{status.st_dev, status.st_ino, target.filename().string()};
}

void RunFiles::read(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  if (const auto identity = identify(path)) taken_.emplace_back(*identity, "--" + option);
}

void RunFiles::write(const std::string& option, const std::string& path, const std::string& may_be) {
  if (path.empty()) return;
  if (const auto identity = identify(path)) {
    for (const auto& [other, user] : taken_)
      if (other == *identity && user != "--" + may_be)
        usage_fail("--{}: '{}' is also the file of {}", option, path, user);
    taken_.emplace_back(*identity, "--" + option);
  }
  if (const std::string obstacle = obstacle_to_replacing(path); !obstacle.empty())
    data_fail("{}: --{}: {}", path, option, obstacle);
}

}  // namespace adj
