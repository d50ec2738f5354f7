// Child process that runs the HDF5 library to read one file: the library crashes or hangs on some damaged
// files, so it is isolated, with limits of time and memory, and can read only the given file. Answers the
// requests of hdf5_wire.h until the reader closes the socket.
#include <adjoint/core/error.h>
#include <adjoint/data/hdf5_child/directory.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using namespace adj;
using namespace adj::hdf5;

constexpr size_t kSlack = size_t{1} << 30;  // address space on top of the data
// CPU time on top of the data; a sanitizer's code is slower.
#ifdef __SANITIZE_ADDRESS__
constexpr rlim_t kSeconds = 3;
#else
constexpr rlim_t kSeconds = 1;
#endif
constexpr size_t kBytesPerSecond = size_t{20} << 20;
constexpr size_t kMaxCache = size_t{1} << 30;  // for decompressed values
constexpr size_t kMaxRequest = size_t{1} << 20;

void set_limit(int resource, rlim_t value) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min(value, limit.rlim_max);
  setrlimit(resource, &limit);
}

size_t address_space_in_use() {
  size_t pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%zu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/// Raises the limits of memory and time by this much.
void allow(size_t bytes) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  set_limit(RLIMIT_CPU, seconds + 1 + kSeconds + bytes / kBytesPerSecond);
  if (const size_t now = address_space_in_use(); now > 0) set_limit(RLIMIT_AS, now + bytes + kSlack);
}

class Service {
 public:
  std::string answer(std::string_view request) {
    Decoder in(request);
    switch (in.get<char>()) {
      case kList:
        return list(in.get<std::vector<std::string>>());
      case kRead: {
        const auto index = in.get<uint64_t>(), first = in.get<uint64_t>(), rows = in.get<uint64_t>();
        return read(index, first, rows);
      }
      default:
        throw DataError("an unknown request");
    }
  }

 private:
  std::string list(const std::vector<std::string>& wanted) {
    struct stat status {};
    if (fstat(kFile, &status) != 0) throw DataError("no file to read");
    allow(static_cast<size_t>(status.st_size));
    open(status);
    directory_.emplace(file_.get(), static_cast<size_t>(status.st_size), wanted);
    for (const auto& object : directory_->found()) objects_.push_back(&object);
    return directory_->encoded();
  }

  void open(const struct stat& status) {
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_file_locking(access.get(), false, true);
    std::string name = fmt::format("/proc/self/fd/{}", kFile);
    // HDF5 opens files by name, which an in-memory or removed file does not have.
    if (status.st_nlink == 0) {
      std::string image(static_cast<size_t>(status.st_size), '\0');
      allow(3 * image.size());
      for (size_t offset = 0; offset < image.size();) {
        const ssize_t got =
            pread(kFile, image.data() + offset, image.size() - offset, static_cast<off_t>(offset));
        if (got <= 0) throw DataError("cannot be read");
        offset += static_cast<size_t>(got);
      }
      H5Pset_fapl_core(access.get(), 1 << 16, false);
      H5Pset_file_image(access.get(), image.data(), image.size());
      name = unique_name();
    }
    file_ = Handle(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
    if (file_) return;
    const std::string reason = last_error();
    unsigned long long have = 0, base = 0, want = 0;
    if (std::sscanf(reason.c_str(), "truncated file: eof = %llu, sblock->base_addr = %llu, stored_eof = %llu",
                    &have, &base, &want) == 3)
      throw DataError(fmt::format("truncated: {} bytes, expected {}", have, want));
    hdf5::fail("", unreadable());
  }

  std::string read(uint64_t index, uint64_t first, uint64_t rows) {
    if (index >= objects_.size()) throw DataError("a request out of order");
    const auto& [path, found] = *objects_[index];
    std::vector<hsize_t> start(found.shape.size(), 0), count(found.shape.begin(), found.shape.end());
    const uint64_t all = count.empty() ? 1 : count[0];
    if (!found.readable || !found.problem.empty() || found.bytes == 0 || first > all || rows > all - first)
      throw DataError("a request out of order");
    const size_t row = found.bytes / all, cache = std::min(kMaxCache, static_cast<size_t>(found.band) * row);
    allow(rows * row + 2 * cache);
    if (path != path_) {
      const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
      // A chunk decompressed for some rows is cached for the others.
      H5Pset_chunk_cache(access.get(), 521, std::max(cache, size_t{1} << 20), 1.0);
      dataset_ = Handle(H5Dopen2(file_.get(), path.c_str(), access.get()), H5Dclose);
      path_ = path;
    }
    const Handle type(H5Dget_type(dataset_.get()), H5Tclose), space(H5Dget_space(dataset_.get()), H5Sclose);
    if (!dataset_ || !type || !space) hdf5::fail(path, unreadable());
    std::string values(rows * row, '\0');
    Handle memory(H5Screate(H5S_SCALAR), H5Sclose);
    if (!count.empty()) {
      start[0] = first;
      count[0] = rows;
      memory = Handle(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose);
      if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0)
        hdf5::fail(path, unreadable());
    }
    const hid_t as = found.raw ? type.get() : number_type(found.dtype).memory;
    if (H5Dread(dataset_.get(), as, memory.get(), space.get(), H5P_DEFAULT, values.data()) < 0)
      hdf5::fail(path, unreadable());
    return values;
  }

  Handle file_;
  std::optional<Directory> directory_;
  std::vector<const std::pair<const std::string, Found>*> objects_;  // of the directory, by position
  std::string path_;
  Handle dataset_;
};

}  // namespace

int main() {
  // Drops everything inherited from the parent: files, signal handlers, CPU affinity.
  syscall(SYS_close_range, kFile + 1u, ~0u, 0u);
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  set_limit(RLIMIT_CORE, 0);

  H5open();
  quiet();
  H5Lunregister(H5L_TYPE_EXTERNAL);  // a path through a link to another file ends there
  Service service;
  std::string request;
  for (uint64_t length = 0; receive_all(kRequests, &length, sizeof length) && length <= kMaxRequest;) {
    request.resize(length);
    if (!receive_all(kRequests, request.data(), length)) break;
    char verdict = '+';
    std::string answer;
    try {
      answer = service.answer(request);
    } catch (const std::exception& error) {
      verdict = '-';
      answer = error.what();
    }
    length = answer.size();
    if (!send_all(kRequests, &verdict, 1) || !send_all(kRequests, &length, sizeof length) ||
        !send_all(kRequests, answer.data(), answer.size()))
      break;
  }
  _exit(0);  // HDF5's exit handlers are useless here, and may crash
}
