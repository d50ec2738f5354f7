// Changes valid files in many ways and loads them: each must load, or be refused with a DataError of one
// line. Some of them crash or hang HDF5's library, which is why the reader runs it in a child; these are
// counted.
//   hdf5_fuzz [RUNS [SEED]]

#include "../data/schema.h"
#include <adjoint/core/random.h>
#include <adjoint/data/citation_generator.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <unistd.h>

namespace {

using namespace adj;
using Bytes = std::string;

constexpr double kLongestSeconds =
    120.0;  // a hang ends after seconds of processor time; the machine may be busy

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

Bytes read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Where HDF5's own structures begin: most bytes of a file are values, where a change tells little.
std::vector<size_t> structures(const Bytes& file) {
  std::vector<size_t> places{0};
  for (const char* mark : {"OHDR", "OCHK", "TREE", "SNOD", "HEAP", "GCOL", "FRHP", "FHDB", "FHIB", "FSHD",
                           "FSSE", "BTHD", "BTLF", "BTIN", "FAHD", "FADB", "EAHD", "EAIB", "EADB", "EASB"})
    for (size_t at = file.find(mark); at != Bytes::npos; at = file.find(mark, at + 1)) places.push_back(at);
  // Old object headers have no mark: version 1, a zero, a small number of messages, one reference.
  for (size_t at = 0; at + 16 < file.size(); at += 8)
    if (std::memcmp(&file[at], "\x01\x00", 2) == 0 && file[at + 3] == 0 &&
        std::memcmp(&file[at + 4], "\x01\x00\x00\x00", 4) == 0)
      places.push_back(at);
  return places;
}

uint64_t interesting(Random& random, size_t size) {
  const uint64_t values[] = {0,
                             1,
                             2,
                             7,
                             8,
                             0x7f,
                             0x80,
                             0xff,
                             0xffff,
                             0x7fffffff,
                             0x80000000,
                             0xffffffff,
                             ~uint64_t{0},
                             ~uint64_t{0} - 1,
                             uint64_t{1} << 63,
                             size,
                             size - 1,
                             size + 1,
                             random.below(size),
                             random.next()};
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
    const size_t at = random_.below(8) == 0 ? random_.below(bytes.size())
                                            : places_[random_.below(places_.size())] + random_.below(96);
    return std::min(at, bytes.size() - 1);
  }

  void change(Bytes& bytes) {
    const size_t at = place(bytes), room = bytes.size() - at;
    switch (random_.below(9)) {
      case 0:
        bytes[at] ^= static_cast<char>(1u << random_.below(8));
        break;
      case 1:
        bytes[at] = static_cast<char>(random_.next());
        break;
      case 2:
        bytes[at] = static_cast<char>(bytes[at] + (random_.below(2) == 0 ? 1 : -1));
        break;
      case 3:
      case 4: {
        const uint64_t value = interesting(random_, bytes.size());
        const size_t width = std::min(room, size_t{1} << random_.below(4));
        std::memcpy(&bytes[at], &value, width);
        break;
      }
      case 5: {
        const size_t from = place(bytes), length = std::min({random_.below(64), room, bytes.size() - from});
        std::memmove(&bytes[at], &bytes[from], length);
        break;
      }
      case 6:
        std::memset(&bytes[at], random_.below(2) == 0 ? 0 : 0xff, std::min(room, random_.below(64)));
        break;
      case 7:
        if (random_.below(4) == 0) bytes.resize(at);
        break;
      default: {
        const size_t other = place(bytes),
                     length = std::min({1 + random_.below(32), room, bytes.size() - other});
        std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                         bytes.begin() + static_cast<std::ptrdiff_t>(at + length),
                         bytes.begin() + static_cast<std::ptrdiff_t>(other));
      }
    }
  }

  Bytes file_;
  std::vector<size_t> places_;
  Random& random_;
};

/// What became of a file: "loaded", or the kind of error. Anything but a DataError of one line ends the
/// program.
std::string load(const Bytes& bytes, const std::string& path) {
  try {
    if (path.empty()) {
      (void)load_dataset(std::as_bytes(std::span(bytes.data(), bytes.size())), "image");
    } else {
      write(path, bytes);
      (void)load_dataset(path);
    }
    return "loaded";
  } catch (const DataError& error) {
    const std::string message = error.what();
    if (message.find('\n') != std::string::npos || message.size() > 2000) {
      fmt::print(stderr, "not one line: {}\n", message);
      std::exit(1);
    }
    if (message.find("the HDF5 library crashed") != std::string::npos) return "HDF5 crashed";
    if (message.find("the HDF5 library came to no end") != std::string::npos) return "HDF5 hung";
    if (message.find("the HDF5 library says") != std::string::npos) return "refused by HDF5";
    return "refused by the checks";
  }
}

std::vector<Bytes> corpus(const std::filesystem::path& scratch) {
  std::vector<Bytes> files;
  for (bool sparse : {false, true}) {
    test::small_file(sparse).write(scratch / "seed.h5");
    files.push_back(read(scratch / "seed.h5"));
  }
  CitationOptions options;
  options.nodes = 200;
  options.features = 60;
  options.train_per_class = 5;
  options.val = options.test = 40;
  save_dataset(make_citation_dataset(options), scratch / "seed.h5", 6);
  files.push_back(read(scratch / "seed.h5"));
  for (const auto& entry : std::filesystem::directory_iterator(ADJOINT_FUZZ_CORPUS))
    files.push_back(read(entry.path()));
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  const long runs = argc > 1 ? std::atol(argv[1]) : 4000;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::string pattern = (std::filesystem::temp_directory_path() / "adjoint-fuzz-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return 1;
  const std::filesystem::path scratch = pattern;

  Random random(seed);
  std::vector<Mutator> mutators;
  for (const Bytes& file : corpus(scratch)) {
    write(scratch / "case.h5", file);
    fmt::print("seed of {} bytes: {}\n", file.size(), load(file, ""));
    mutators.emplace_back(file, random);
  }
  std::map<std::string, long> outcomes;
  double longest = 0.0;
  for (long run = 0; run < runs; ++run) {
    const Bytes bytes = mutators[static_cast<size_t>(run) % mutators.size()].mutate();
    // Left behind if this program should crash. Every tenth is read from there, the rest from memory.
    write(scratch / "case.h5", bytes);
    const auto start = std::chrono::steady_clock::now();
    ++outcomes[load(bytes, run % 10 == 0 ? (scratch / "case.h5").string() : "")];
    longest =
        std::max(longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (longest > kLongestSeconds) {
      fmt::print(stderr, "run {}: took {:.0f} s, see {}\n", run, longest, (scratch / "case.h5").string());
      return 1;
    }
  }
  for (const auto& [outcome, count] : outcomes) fmt::print("{:6}  {}\n", count, outcome);
  fmt::print("{} files, the longest took {:.2f} s\n", runs, longest);
  std::filesystem::remove_all(scratch);
  return 0;
}
