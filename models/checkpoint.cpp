#include <adjoint/core/text.h>
#include <adjoint/models/checkpoint.h>
#include <adjoint/optim/non_finite.h>

#include <set>

#include <fmt/ranges.h>

namespace adj::models {

namespace {

constexpr const char* kFormat = "adjoint.checkpoint";
constexpr int64_t kVersion = 2;
constexpr const char* kDType = "dtype";
constexpr const char* kModel = "save_model";  // program of a model without training state
/// Tensors are written as they are. A file that was compressed since may be smaller, but not by more than
/// this.
constexpr int64_t kMostExpansion = 8, kSlack = int64_t{16} << 20;

template <class T>
T parse(const Checkpoint& checkpoint, const std::string& fact) {
  const std::string& text = checkpoint.text(fact);
  if (const auto value = number_in<T>(text)) return *value;
  data_fail("{}: facts@{}: '{}', expected a number", checkpoint.path, fact, excerpt(text));
}

}  // namespace

std::map<std::string, Tensor> Checkpoint::with_prefix(const std::string& prefix) const {
  std::map<std::string, Tensor> found;
  for (auto it = tensors.lower_bound(prefix); it != tensors.end() && it->first.starts_with(prefix); ++it)
    found.emplace(it->first.substr(prefix.size()), it->second);
  if (!found.empty()) return found;
  std::set<std::string> prefixes;  // name parts before the first dot
  for (const auto& [name, tensor] : tensors) prefixes.insert(name.substr(0, name.find('.') + 1));
  data_fail(
      "{}: tensors/{}*: none, expected a prefix of {}", path, excerpt(prefix),
      prefixes.empty() ? "the file's tensors, but it has none" : fmt::format("{}", fmt::join(prefixes, " ")));
}

const std::string& Checkpoint::text(const std::string& fact) const {
  const auto found = facts.find(fact);
  if (found == facts.end()) data_fail("{}: facts@{}: missing", path, fact);
  return found->second;
}
const Tensor& Checkpoint::tensor(const std::string& name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) data_fail("{}: tensors/{}: missing", path, name);
  return found->second;
}
int64_t Checkpoint::integer(const std::string& fact) const { return parse<int64_t>(*this, fact); }
int64_t Checkpoint::integer(const std::string& fact, int64_t low, int64_t high) const {
  const int64_t value = integer(fact);
  if (value < low || value > high)
    data_fail("{}: facts@{}: {}, expected {} to {}", path, fact, value, low, high);
  return value;
}
std::vector<double> Checkpoint::table(const std::string& name, int64_t columns) const {
  const Tensor& found = tensor(name);
  if (found.dims() != 2 || found.size(1) != columns || found.dtype() != DType::f64)
    data_fail("{}: tensors/{}: {}, expected [*, {}] float64", path, name, found.str(), columns);
  return found.to_vector<double>();
}
double Checkpoint::number(const std::string& fact) const { return parse<double>(*this, fact); }
void Checkpoint::set(const std::string& fact, int64_t value) { facts[fact] = fmt::format("{}", value); }
// The shortest text that reads back to the same bits.
void Checkpoint::set(const std::string& fact, double value) { facts[fact] = fmt::format("{}", value); }

void write_head(H5Writer& file, const Checkpoint& head, const std::string& format, int64_t version) {
  file.attribute("", "format", format);
  file.attribute("", "version", version);
  file.attribute("", "program", head.program);
  for (const auto& [fact, text] : head.facts) file.attribute("facts", fact, text);
}

Checkpoint read_head(const H5Reader& file, const std::string& path, const std::string& format,
                     int64_t version) {
  if (const std::string found = file.text("", "format"); found != format)
    file.fail("attribute format", "'{}', expected '{}'", excerpt(found), format);
  if (const int64_t found = file.integer("", "version"); found != version)
    file.fail("attribute version", "{}, expected {}", found, version);
  Checkpoint head;
  head.path = path;
  head.program = file.text("", "program");
  for (const std::string& fact : file.attributes("facts")) head.facts.emplace(fact, file.text("facts", fact));
  return head;
}

void save_checkpoint(const Checkpoint& checkpoint, const std::string& path) {
  H5Writer file(path);
  write_head(file, checkpoint, kFormat, kVersion);
  for (const auto& [name, tensor] : checkpoint.tensors) {
    // HDF5 has no bfloat16; every bfloat16 number is exact in float32.
    const bool narrow = tensor.dtype() == DType::bf16;
    file.write("tensors/" + name, narrow ? tensor.to(DType::f32) : tensor);
    if (narrow) file.attribute("tensors/" + name, kDType, std::string(name_of(DType::bf16)));
  }
  file.commit();
}

namespace {

/// Tensors of a checkpoint are in memory together.
void expect_memory(const H5Reader& file, const std::vector<std::string>& names) {
  const double most = static_cast<double>(kMostExpansion * file.file_bytes() + kSlack);
  double bytes = 0;
  for (const std::string& name : names) {
    const std::string place = "tensors/" + name;
    double size = static_cast<double>(size_of(file.dtype(place)));
    for (const int64_t extent : file.shape(place)) size *= static_cast<double>(extent);
    if ((bytes += size) > most)
      file.fail(place, "{:.0f} bytes of tensors so far, expected at most {:.0f} in a file of {}", bytes, most,
                file.file_bytes());
  }
}

}  // namespace

Checkpoint load_checkpoint(const std::string& path, const std::string& program) {
  const H5Reader file = H5Reader::open(path);
  Checkpoint checkpoint = read_head(file, path, kFormat, kVersion);
  if (!program.empty() && checkpoint.program != program)
    file.fail("attribute program", "written by {}, expected {}", excerpt(checkpoint.program), program);
  const std::vector<std::string> names = file.children("tensors");
  expect_memory(file, names);
  for (const std::string& name : names) {
    const std::string place = "tensors/" + name;
    Tensor tensor = file.tensor(place, {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8});
    for (const std::string& attribute : file.attributes(place))
      if (attribute == kDType && file.text(place, attribute) == name_of(DType::bf16))
        tensor = tensor.to(DType::bf16);
    checkpoint.tensors.emplace(name, std::move(tensor));
  }
  return checkpoint;
}

std::string program_of(const std::string& path) {
  return read_head(H5Reader::open(path), path, kFormat, kVersion).program;
}

void save_model(const nn::Module& model, const std::string& path) {
  Checkpoint checkpoint;
  checkpoint.program = kModel;
  for (const auto& [name, tensor] : model.state()) checkpoint.tensors.emplace("model." + name, tensor);
  save_checkpoint(checkpoint, path);
}

void load_model(nn::Module& model, const std::string& path) {
  const Checkpoint checkpoint = load_checkpoint(path);
  const bool knows_best = checkpoint.facts.count("best_epoch") > 0 && checkpoint.integer("best_epoch") >= 0;
  load_weights(model, checkpoint, knows_best ? "best." : "model.");
}

void load_weights(nn::Module& model, const Checkpoint& checkpoint, const std::string& prefix) {
  const auto state = checkpoint.with_prefix(prefix);
  for (const auto& [name, tensor] : state)
    if (!optim::first_not_finite({{name, tensor}}).empty())
      data_fail("{}: tensors/{}{}: not finite", checkpoint.path, prefix, name);
  try {
    model.load_state(state);
  } catch (const Error& error) {
    data_fail("{}: tensors/{}*: {}", checkpoint.path, prefix, error.what());
  }
}

}  // namespace adj::models
