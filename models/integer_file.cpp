// File of an IntegerModel. Program and facts as in a checkpoint. "tensors/NAME", float32: ranges of
// activations, scales and shifts of linear maps, and preparation of features and targets as in a checkpoint.
// "weights/NAME": bit tensors (data/bit_tensors.h). docs/quantized.md lists the entries.

#include <adjoint/core/text.h>
#include <adjoint/data/bit_tensors.h>
#include <adjoint/kernels/bits/bit_pack.h>
#include <adjoint/models/detail/integer_parts.h>
#include <adjoint/models/integer_model.h>

#include <cmath>
#include <set>

namespace adj {

namespace {

constexpr const char* kFormat = "adjoint.integer_model";
constexpr int64_t kVersion = 1;

/// "sums.0." without the trailing dot.
std::string entry(const std::string& name) { return name.substr(0, name.size() - 1); }

/// The facts of a training that predictions need, and those that say on which split and what edges it was.
std::map<std::string, std::string> needed_facts(const ModelDescription& model) {
  std::map<std::string, std::string> needed;
  for (const auto& [fact, text] : model.facts)
    if (fact.starts_with("option.") || fact == "features.scaling" || fact == "features.bits" ||
        fact == "task" || fact == "features" || fact == "outputs" || fact == "epoch" ||
        fact == "best_epoch" || fact == "run" || fact == "undirected")
      needed.emplace(fact, text);
  needed["model"] = model.name;
  return needed;
}

/// Reads the parts of a model onto a device.
class Reading {
 public:
  Reading(const std::string& path, Device device) : device_(device), file_(H5Reader::open(path)) {
    checkpoint_ = models::read_head(file_, path, kFormat, kVersion);
  }

  ModelDescription description() {
    for (const std::string_view name : models::Preprocessing::tensor_names())
      read_optional(std::string(name));
    for (const char* name : {"targets.mean", "targets.deviation"}) read_optional(name);
    ModelDescription model = detail::description_of(checkpoint_);
    model.name = checkpoint_.text("model");
    return model;
  }

  detail::IntegerPlan plan(const ModelDescription& model) const {
    try {
      return detail::integer_plan(model);
    } catch (const Error& error) {
      data_fail("{}: facts: {}", checkpoint_.path, error.what());
    }
  }

  detail::IntegerRange range(const std::string& name, int bits) {
    const detail::IntegerRange range{bits, numbers(name + "scale", 1), numbers(name + "zero", 1)};
    expect_none("tensors/" + name + "scale", detail::problem_of_scales(range.scale));
    expect_none("tensors/" + name + "zero", detail::problem_of_zeros(range.zero, bits, false));
    return range;
  }

  detail::IntegerLinear linear(const detail::LinearPlace& place) {
    const auto of_norm = [&](const char* name) {
      return place.input_norm.empty() ? Tensor() : numbers(place.name + "input_norm." + name, place.in);
    };
    detail::IntegerLinear read{
        .input_scale = of_norm("scale"),
        .input_shift = of_norm("shift"),
        .input = range(place.name + "input.", place.input_bits),
        .weight = weight(place),
        .bytes = {},
        .scale = place.norm.empty() ? Tensor() : numbers(place.name + "scale", place.out),
        .shift = numbers(place.name + "shift", place.out),
        .activation = place.relu ? Activation::relu : Activation::none};
    read.bytes = as_bytes(read.weight);
    return read;
  }

  /// Throws DataError for an unused entry.
  void expect_no_more() const {
    for (const char* group : {"tensors", "weights"})
      for (const std::string& name : file_.children(group)) {
        const std::string path = fmt::format("{}/{}", group, name);
        if (seen_.count(path) == 0)
          file_.fail(path, "not part of this model ({})", checkpoint_.facts.at("model"));
      }
  }

 private:
  void read_optional(const std::string& name) {
    const std::string path = "tensors/" + name;
    if (!file_.has(path)) return;
    checkpoint_.tensors.emplace(name, file_.tensor(path, {DType::f32, DType::u8, DType::i64}));
    seen_.insert(path);
  }
  void expect_none(const std::string& place, const std::string& problem) const {
    if (!problem.empty()) file_.fail(place, "{}", problem);
  }

  /// float32 [n], finite.
  Tensor numbers(const std::string& name, int64_t n) {
    const std::string path = "tensors/" + name;
    const Tensor read = file_.tensor(path, {DType::f32}, {n});
    for (const float number : read.to_vector<float>())
      if (!std::isfinite(number)) file_.fail(path, "{}, expected finite numbers", number);
    seen_.insert(path);
    return read.to(device_);
  }

  BitTensor weight(const detail::LinearPlace& place) {
    const std::string path = "weights/" + entry(place.name);
    if (const int64_t bits = file_.integer(path, "bits"); bits != place.weight_bits)
      file_.fail(path, "{} bits, expected {} as in facts@option.bits", bits, place.weight_bits);
    const int64_t in = file_.integer(path, "inner");
    const std::vector<int64_t>& shape = file_.shape(path + "/planes");
    if (in != place.in || shape.size() != 3 || shape[1] != place.out)
      file_.fail(path, "{} numbers for each of {} outputs, expected {} for each of {}", in,
                 shape.size() == 3 ? shape[1] : 0, place.in, place.out);
    const BitTensor read = read_bits(file_, path);
    expect_none(path + "/zero", detail::problem_of_zeros(read.zero, read.bits, true));
    seen_.insert(path);
    return read.to(device_);
  }

  Device device_;
  H5Reader file_;
  models::Checkpoint checkpoint_;
  std::set<std::string> seen_;  // entries read so far
};

}  // namespace

bool is_integer_model(const std::string& path) {
  const H5Reader file = H5Reader::open(path, {"@format"});
  return file.has_attribute("", "format") && file.text("", "format") == kFormat;
}

IntegerModel IntegerModel::load(const std::string& path, Device device, const IntegerModelOptions& options) {
  Reading reading(path, device);
  ModelDescription description = reading.description();
  const detail::IntegerPlan plan = reading.plan(description);
  detail::IntegerParts parts =
      plan.parts([&](const detail::RangePlace& place) { return reading.range(place.name, place.bits); },
                 [&](const detail::LinearPlace& place) { return reading.linear(place); });
  reading.expect_no_more();
  return IntegerModel(std::move(description), device, options, std::move(parts));
}

void IntegerModel::save(const std::string& path) const {
  models::Checkpoint head;
  head.program = description_.program;
  head.facts = needed_facts(description_);
  ADJ_CHECK(head.facts.count("task") > 0, "{}: not from a checkpoint, expected a checkpoint's facts",
            describe());
  description_.save(head);
  if (description_.target_mean) {
    head.tensors["targets.mean"] = description_.target_mean;
    head.tensors["targets.deviation"] = description_.target_scale;
  }
  const auto add_range = [&](const std::string& name, const detail::IntegerRange& range) {
    head.tensors[name + "scale"] = range.scale;
    head.tensors[name + "zero"] = range.zero;
  };
  const detail::IntegerPlan plan = detail::integer_plan(description_);
  for (size_t l = 0; l < plan.inputs.size(); ++l) add_range(plan.inputs[l].name, parts_->inputs[l]);
  H5Writer file(path);
  models::write_head(file, head, kFormat, kVersion);
  const auto write = [&](const std::vector<detail::LinearPlace>& places,
                         const std::vector<detail::IntegerLinear>& maps) {
    for (size_t l = 0; l < places.size(); ++l) {
      add_range(places[l].name + "input.", maps[l].input);
      if (maps[l].input_scale) {
        head.tensors[places[l].name + "input_norm.scale"] = maps[l].input_scale;
        head.tensors[places[l].name + "input_norm.shift"] = maps[l].input_shift;
      }
      if (maps[l].scale) head.tensors[places[l].name + "scale"] = maps[l].scale;
      head.tensors[places[l].name + "shift"] = maps[l].shift;
      BitTensor weight = maps[l].weight;
      weight.zero = weight.zero.rows(0, 1);  // all the same
      write_bits(file, "weights/" + entry(places[l].name), weight);
    }
  };
  write(plan.sums, parts_->sums);
  write(plan.hidden, parts_->hidden);
  write(plan.readouts, parts_->readouts);
  for (const auto& [name, tensor] : head.tensors) file.write("tensors/" + name, tensor.to(Device::cpu()));
  file.commit();
}

}  // namespace adj
