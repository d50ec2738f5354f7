#include "../data/limited_memory.h"
#include "quantised_models.h"
#include <adjoint/data/hdf5_file.h>
#include <adjoint/models/integer_model.h>

#include <functional>
#include <limits>

using namespace adj;
using namespace adj::test;

namespace {

/// The contents of an integer model's file, to be changed and written.
struct Contents {
  std::map<std::string, std::string> texts;  ///< "facts@task", "@format"
  std::map<std::string, int64_t> numbers;    ///< likewise
  std::map<std::string, Tensor> tensors;     ///< "weights/sums.0/planes"

  explicit Contents(const std::string& path) {
    const H5Reader file = H5Reader::open(path);
    const auto read = [&](const std::string& key) {
      tensors[key] = file.tensor(key, {DType::f32, DType::u8, DType::i64});
    };
    for (const char* name : {"format", "program"}) texts[std::string("@") + name] = file.text("", name);
    numbers["@version"] = file.integer("", "version");
    for (const std::string& fact : file.attributes("facts"))
      texts["facts@" + fact] = file.text("facts", fact);
    for (const std::string& name : file.children("tensors")) read("tensors/" + name);
    for (const std::string& name : file.children("weights")) {
      const std::string group = "weights/" + name;
      for (const std::string& part : file.children(group)) read(group + "/" + part);
      texts[group + "@format"] = file.text(group, "format");
      for (const char* number : {"version", "bits", "inner"})
        numbers[group + "@" + number] = file.integer(group, number);
    }
  }
  void write(const std::string& path) const {
    H5Writer file(path);
    for (const auto& [name, tensor] : tensors) file.write(name, tensor);
    const auto attribute = [&](const std::string& key, const auto& value) {
      const size_t sign = key.find('@');
      file.attribute(key.substr(0, sign), key.substr(sign + 1), value);
    };
    for (const auto& [key, text] : texts) attribute(key, text);
    for (const auto& [key, number] : numbers) attribute(key, number);
    file.commit();
  }
};

/// A file, and the error of loading it after a change; empty if there is none.
struct Damages {
  TemporaryDirectory folder;
  std::string path = folder.file("q.h5"), damaged = folder.file("damaged.h5");

  explicit Damages(const models::ModelOptions& o) {
    const TrainedModel trained = trained_on(random_graph({}), random_tensor({kNodes, kIn}), o);
    write_checkpoint(trained, folder.file("c.h5"));
    IntegerModel(load_trained(folder.file("c.h5"))).save(path);
  }
  std::string message_of(const std::function<void(Contents&)>& change) const {
    Contents contents(path);
    change(contents);
    contents.write(damaged);
    // A damaged size must not be allocated.
    const std::string message = error_within(256, [&] { (void)IntegerModel::load(damaged); });
    if (message == "no error") return "";
    CAPTURE(message);
    REQUIRE(message.starts_with(damaged + ": "));
    return message.substr(damaged.size() + 2);
  }
  std::string with_text(const std::string& key, const std::string& text) const {
    return message_of([&](Contents& c) { c.texts.at(key) = text; });
  }
  std::string with(const std::string& fact, const std::string& text) const {
    return with_text("facts@" + fact, text);
  }
  std::string with(const std::string& name, const Tensor& tensor) const {
    return message_of([&](Contents& c) { c.tensors.at(name) = tensor; });
  }
  std::string with_number(const std::string& key, int64_t number) const {
    return message_of([&](Contents& c) { c.numbers.at(key) = number; });
  }
};

models::ModelOptions small_options() {
  models::ModelOptions o = options_of("gin", "batch", "4");
  o.layers = 2;
  return o;
}

}  // namespace

TEST_CASE("damaged facts of an integer model are refused") {
  const Damages damages(small_options());
  REQUIRE(damages.message_of([](Contents&) {}) == "");
  CHECK(damages.message_of([](Contents& c) { c.texts.erase("@format"); }) ==
        "attribute format: missing, expected a string");
  CHECK(damages.with_text("@format", "adjoint.checkpoint") ==
        "attribute format: 'adjoint.checkpoint', expected 'adjoint.integer_model'");
  CHECK(damages.with_number("@version", 2) == "attribute version: 2, expected 1");
  CHECK(damages.with_text("@program", "train")
            .starts_with("attribute program: written by train, expected train_gcn"));
  CHECK(damages.with_text("@program", "train_gin") == "facts@option.train-eps: missing");
  for (const char* fact : {"task", "features", "outputs", "features.scaling", "model", "option.hidden",
                           "option.layers", "option.bits", "option.bits-weights", "option.norm"}) {
    CAPTURE(std::string(fact));
    CHECK(damages.message_of([&](Contents& c) { c.texts.erase(std::string("facts@") + fact); }) ==
          fmt::format("facts@{}: missing", fact));
  }
  const std::string first = "weights/sums.0: 20 numbers for each of 24 outputs, expected 20 for each of ",
                    last = "numbers for each of 24 outputs, expected 24 for each of 6";
  const std::tuple<const char*, const char*, std::string> whole[] = {
      {"task", "graph_class", "facts@task: 'graph_class', which train_qgnn does not train"},
      {"task", "link", "facts@task: 'link', which train_qgnn does not train"},
      {"option.bits", "32", "facts: integer model: layer 0 is not quantised, expected 1 to 8 bits"},
      {"option.bits-weights", "3", "weights/sums.0: 4 bits, expected 3 as in facts@option.bits"},
      {"option.model", "gcn", "weights/sums.1: 24 " + last},
      {"option.hidden", "25", first + "25"},
      {"option.hidden", "1048576", first + "1048576"},
      {"option.layers", "1", "weights/hidden.0: 24 " + last},
      {"option.layers", "3", "tensors/inputs.2.scale: missing"},
      {"option.layers", "1000", "tensors/inputs.2.scale: missing"}};
  for (const auto& [fact, text, message] : whole) CHECK(damages.with(fact, text) == message);
  const std::tuple<const char*, const char*, const char*> starts[] = {
      {"option.bits", "9", "facts: --bits: expected 1 to 8 or 32"},
      {"option.bits", "0", "facts: --bits: expected 1 to 8 or 32"},
      {"option.norm", "none", "tensors/hidden.0.scale: not part of this model (quantised GIN"},
      {"option.hidden", "1048577", "facts: --hidden"},
      {"features", "21", "tensors/features.mean"},
      {"features", "2147483647", "tensors/features.mean"},
      {"features", "2147483648", "facts@features"},
      {"outputs", "7", "tensors/classes.offsets"}};
  for (const auto& [fact, text, start] : starts) CHECK(damages.with(fact, text).starts_with(start));
  CHECK(damages.with("option.bits-activations", "2").find("zero") != std::string::npos);
}

TEST_CASE("damaged entries of an integer model are refused by name") {
  const Damages damages(small_options());
  const Contents whole(damages.path);
  for (const auto& [name, tensor] : whole.tensors) {
    CAPTURE(name);
    const std::string missing = damages.message_of([&, key = name](Contents& c) { c.tensors.erase(key); });
    if (name != "tensors/classes.names") CHECK(missing == name + ": missing");
    if (tensor.dtype() != DType::f32) continue;
    CHECK(damages.with(name, tensor.to(DType::f64)).starts_with(name + ": "));
    CHECK(damages.with(name, tensor.to(DType::i32)).starts_with(name + ": "));
    CHECK(damages.with(name, tensor.reshape({1, tensor.numel()})).starts_with(name + ": "));
    CHECK(damages.with(name, Tensor::full({tensor.numel() + 1}, 1.0)).find("expected") != std::string::npos);
    for (const float number :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
      CHECK(damages.with(name, Tensor::full(tensor.shape(), number)).find("finite") != std::string::npos);
    const bool of_range = name.starts_with("tensors/inputs.") || name.find("input.") != std::string::npos ||
                          name.starts_with("weights/");
    const bool positive = of_range && name.ends_with("scale");  // batch norm has any scale
    if (!positive) continue;
    for (const double number : {0.0, -1.0})
      CHECK(damages.with(name, Tensor::full(tensor.shape(), number)).find("above 0") != std::string::npos);
  }
  for (const auto& [zero, text] : {std::pair(-1.0, "-1"), {2.5, "2.5"}, {16.0, "16"}}) {
    const std::string expected = fmt::format("{}, expected an integer from 0 to 15", text);
    for (const char* name : {"tensors/inputs.1.zero", "tensors/hidden.0.input.zero"})
      CHECK(damages.with(name, Tensor::full({1}, zero)) == fmt::format("{}: {}", name, expected));
  }
  CHECK(damages.with("weights/hidden.1/zero", Tensor::full({1}, 8.0)) ==
        "weights/hidden.1/zero: 8, expected 7.5");
  for (const int64_t bits : {0, 3, 9})
    CHECK(damages.with_number("weights/sums.1@bits", bits).starts_with("weights/sums.1: "));
  CHECK(damages.with_number("weights/sums.1@inner", 23) ==
        "weights/sums.1: 23 numbers for each of 24 outputs, expected 24 for each of 24");
  CHECK(damages.with_number("weights/sums.1@inner", int64_t{1} << 40).starts_with("weights/sums.1: "));
  CHECK(damages.message_of([](Contents& c) { c.numbers.erase("weights/sums.1@inner"); }).find("missing") !=
        std::string::npos);
  CHECK(damages.with_text("weights/sums.1@format", "bits").starts_with("weights/sums.1: format 'bits'"));
  // 20 numbers per row are 3 bytes, with four unused bits in the last.
  Tensor planes = whole.tensors.at("weights/sums.0/planes").clone();
  planes.mutable_data<uint8_t>()[2] |= 0x10;
  CHECK(damages.with("weights/sums.0/planes", planes).find("expected 0 after number 19") !=
        std::string::npos);
  for (const char* name : {"tensors/other", "tensors/inputs.2.scale"})
    CHECK(damages.message_of([&](Contents& c) { c.tensors[name] = Tensor::full({1}, 1.0); })
              .starts_with(std::string(name) + ": not part of this model"));
}
