#include "options.h"

#include "batch_options.h"
#include <adjoint/core/isa.h>
#include <adjoint/core/text.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include <fmt/ranges.h>
#include <sys/stat.h>

namespace adj::apps {

namespace po = boost::program_options;

namespace {

template <class... Args>
[[noreturn]] void usage(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

po::typed_value<std::string>* file(std::string& value) { return po::value(&value)->value_name("FILE"); }

/// Whatever is not named here decides the result.
const std::set<std::string> kFree = {
    "data",        "device",       "epochs",   "checkpoint",  "checkpoint-every", "resume",
    "metrics",     "predict",      "plot",     "threads",     "no-capture",       "quiet",
    "json",        "config",       "help",     "version",     "explain",          "inductive",
    "aggregation", "workers",      "features", "cached-rows", "report",           "features-scaling",
    "cuts",        "features-bits"};
/// What --json has members of its own for.
const std::set<std::string> kSaid = {"model", "seed", "runs", "metric"};
constexpr int64_t kMany = 1'000'000'000;

void check(const Settings& s) {
  (void)split_number(s.split);
  expect_integer("epochs", s.epochs, 1, kMany);
  expect_integer("seed", s.seed, 0, std::numeric_limits<int64_t>::max() - kMany);
  expect_integer("runs", s.runs, 1, 1'000'000);
  expect_integer("patience", s.patience, 0, kMany);
  expect_one_of("patience-on", s.patience_on, {"metric", "either"});
  expect_integer("eval-every", s.eval_every, 1, kMany);
  expect_integer("checkpoint-every", s.checkpoint_every, 1, kMany);
  expect_integer("threads", s.threads, 0, kMaxThreads);
  expect_one_of("aggregation", s.aggregation, {"auto", "reduce", "scatter", "measure"});
  if (s.aggregation != "auto" && !s.inductive)
    usage(
        "--aggregation {}: expected --inductive beside it, for the edges of a graph that is kept are sorted "
        "once",
        s.aggregation);
  if (s.aggregation == "measure" && !s.resume.empty())
    usage(
        "--aggregation measure: does not go with --resume, for another choice would change the result; "
        "expected reduce or scatter, as the checkpoint's training had it");
  if (s.features_bits != 32 && (s.features_bits < 1 || s.features_bits > 8))
    usage("--features-bits: expected 1 to 8, or 32 (as they are), got {}", s.features_bits);
  if (s.features_bits != 32 && s.features == "file")
    usage("--features-bits {}: does not go with --features file, which holds none of them; expected host",
          s.features_bits);
  if (!std::isfinite(s.lr) || s.lr <= 0.0) usage("--lr: expected a positive number, got {}", s.lr);
  if (!std::isfinite(s.weight_decay) || s.weight_decay < 0.0)
    usage("--weight-decay: expected 0 or more, got {}", s.weight_decay);
}

}  // namespace

void add_scaling_option(po::options_description& options, Settings& s) {
  options.add_options()(
      "features-scaling", with_default(s.features_scaling, "HOW"),
      "none, rows (each divided by its sum), standard (each column less its mean over the training rows, "
      "divided by its deviation) or auto (rows for bags of words, else none)");
}

namespace {

/// The options that decide what a model computes of a dataset, beside what it is made of.
void add_input_options(po::options_description& options, Settings& s) {
  add_scaling_option(options, s);
  options.add_options()(
      "features-bits", with_default(s.features_bits),
      "hold each feature in 1 to 8 bits, over a range for each column, from its least to its largest number "
      "(32: as they are)")(
      "precision", with_default(s.precision, "TYPE"),
      "float32, tf32 (a GPU's matrix products with rounded operands) or bfloat16 (storage of features and "
      "parameters, with float32 masters, sums and loss)");
}

void add_kernels_options(const Program& program, po::options_description& options, Settings& s) {
  options.add_options()(
      "kernels", with_default(s.kernels, "NAME"),
      "on a GPU, products of sparse matrices and attention by: csr (rows), tiles (tensor cores), hybrid "
      "(both, by how many rows of 128 share a column) or auto (hybrid or csr by a rule, where --precision "
      "lets operands be rounded)");
  if (program.things != "graphs")  // of which every batch is another structure
    options.add_options()(
        "cuts", file(s.cuts),
        "read the cuts of structures for tensor cores from FILE, and write there those that "
        "were made");
}

/// Throws, naming `option`, where nothing could be computed by tensor cores' tiles.
void expect_tiles(const std::string& option, const Settings& s) {
  if (!s.device.starts_with("cuda"))
    usage("{}: expected --device cuda beside it, for tensor cores are a GPU's", option);
  if (s.precision == "float32")
    usage("{}: tensor cores round their operands, expected --precision tf32 or bfloat16 beside it", option);
  if (s.attention_dropout > 0.0)
    usage("{}: attention by tensor cores has no dropout, expected --attention-dropout 0 beside it", option);
}

void check_kernels(const Settings& s) {
  expect_one_of("kernels", s.kernels, {"auto", "csr", "tiles", "hybrid"});
  if (s.kernels == "tiles" || s.kernels == "hybrid") expect_tiles("--kernels " + s.kernels, s);
  if (s.cuts.empty()) return;
  if (s.kernels == "csr")
    usage("--cuts: nothing is cut with --kernels csr, expected auto, tiles or hybrid beside it");
  expect_tiles("--cuts", s);
  if (s.loader != "none" || s.inductive)
    usage("--cuts: expected no {} beside it, with which structures are new ones at every epoch",
          s.inductive ? "--inductive" : "--loader");
}

void set_defaults(const models::ModelFamily& family, Settings& s) {
  static_cast<models::ModelOptions&>(s) = family.defaults;
  s.model = family.models.front();
}

Settings defaults_of(const Program& program) {
  Settings s = program.defaults;
  set_defaults(program.family, s);
  return s;
}

po::typed_value<bool>* option_value(bool& flag, const std::string&) { return po::bool_switch(&flag); }
template <class T>
po::typed_value<T>* option_value(T& value, const std::string& placeholder) {
  return with_default(value, placeholder.c_str());
}

void add_options(const std::vector<models::ModelOption>& which, const models::ModelFamily& family,
                 po::options_description& options, Settings& s) {
  for (const models::ModelOption& option : which) {
    const std::string help =
        option.name == "model" ? fmt::format("{}", fmt::join(family.models, " or ")) : option.help;
    if (!help.empty())
      std::visit(
          [&](auto field) {
            options.add_options()(option.name.c_str(), option_value(s.*field, option.value), help.c_str());
          },
          option.field);
  }
}

/// What the error says, and the option that may have been meant, `dashes` before its name.
std::string unknown(const po::unknown_option& error, const po::options_description& options,
                    const std::string& dashes) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back(option->long_name());
  std::string word = error.get_option_name();
  word.erase(0, word.find_first_not_of('-'));
  const std::string meant = nearest(word, names);
  return error.what() + (meant.empty() ? "" : fmt::format("; did you mean '{}{}'?", dashes, meant));
}

/// What stands in a file of options. Anything but a regular file or a pipe could be without end.
std::string read_text(const std::string& path) {
  constexpr size_t kMost = size_t{1} << 20;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) data_fail("{}: {}", path, std::strerror(errno));
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    data_fail("{}: {}, expected a regular file or a pipe", path,
              S_ISDIR(status.st_mode) ? "a directory" : "a device or socket");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) data_fail("{}: {}", path, std::strerror(errno));
  std::string text(kMost + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) data_fail("{}: {}", path, std::strerror(errno));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.size() > kMost) data_fail("{}: expected options of 1 MB at most", path);
  return text;
}

/// One `option = value` a line, # for comments. Read line by line, so that an error can name the line.
po::parsed_options read_config(const std::string& path, const po::options_description& options) {
  std::istringstream stream(read_text(path));
  po::parsed_options all(&options);
  std::map<std::string, int> seen;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const auto where = fmt::format("{}:{}", path, number);
    if (const size_t first = line.find_first_not_of(" \t\r");
        first != std::string::npos && line[first] == '[')
      usage("{}: a section, expected OPTION = VALUE", where);
    try {
      std::istringstream one(line);
      const po::parsed_options parsed = po::parse_config_file(one, options);
      po::variables_map scratch;
      po::store(parsed, scratch);  // refuses values of the wrong type
      for (const auto& option : parsed.options) {
        if (kFree.count(option.string_key) &&
            (option.string_key == "config" || option.string_key == "help" || option.string_key == "version"))
          usage("{}: --{} stands on the command line only", where, option.string_key);
        if (const auto [at, fresh] = seen.emplace(option.string_key, number); !fresh)
          usage("{}: '{}' stands on line {} already", where, option.string_key, at->second);
        all.options.push_back(option);
      }
    } catch (const po::unknown_option& error) {
      usage("{}: {}", where, unknown(error, options, ""));
    } catch (const po::error& error) {
      usage("{}: {}", where, error.what());
    }
  }
  return all;
}

std::string text_of(const po::variable_value& value) {
  if (const auto* integer = boost::any_cast<int64_t>(&value.value())) return fmt::format("{}", *integer);
  if (const auto* real = boost::any_cast<double>(&value.value())) return fmt::format("{}", *real);
  if (const auto* flag = boost::any_cast<bool>(&value.value())) return *flag ? "true" : "false";
  return value.as<std::string>();
}

std::string json_of(const po::variable_value& value) {
  return value.value().type() == typeid(std::string) ? json_text(value.as<std::string>()) : text_of(value);
}

/// "weight_decay" of "weight-decay".
std::string member_name(std::string option) {
  std::replace(option.begin(), option.end(), '-', '_');
  return option;
}

}  // namespace

std::optional<int64_t> split_number(const std::string& split) {
  if (split == "all") return {};
  int64_t number = 0;
  const auto [end, error] = std::from_chars(split.data(), split.data() + split.size(), number);
  if (error != std::errc{} || end != split.data() + split.size())
    usage("--split: expected a number or all, got '{}'", split);
  expect_integer("split", number, 0, kMany);
  return number;
}

int num_workers(const Settings& s) {
  if (s.workers == "auto") {
    constexpr int kCoresEach = 4, kMost = 4;
    return Device::parse(s.device).is_cuda() ? std::clamp(num_threads() / kCoresEach, 1, kMost) : 1;
  }
  int64_t number = 0;
  const char* const last = s.workers.data() + s.workers.size();
  const auto [end, error] = std::from_chars(s.workers.data(), last, number);
  if (error != std::errc() || end != last) usage("--workers: expected a number or auto, got '{}'", s.workers);
  expect_integer("workers", number, 0, kMaxThreads);
  return static_cast<int>(number);
}

void add_model_options(const models::ModelFamily& family, po::options_description& options, Settings& s) {
  set_defaults(family, s);
  std::vector<models::ModelOption> all = family.all_options();
  std::erase_if(all, [](const models::ModelOption& option) { return option.name == "model"; });
  add_options(all, family, options, s);
}

void check_model_options(const models::ModelFamily& family, const Settings& s) {
  expect_one_of("features-scaling", s.features_scaling, {"auto", "none", "rows", "standard"});
  expect_one_of("precision", s.precision, {"float32", "tf32", "bfloat16"});
  family.check(s);
  if (family.takes("bits") && s.precision == "bfloat16")
    usage(
        "--precision bfloat16: quantised numbers are float32 until they are bits, expected float32 or tf32");
}

po::variables_map parse_command_line(int argc, char** argv, const po::options_description& options,
                                     const po::positional_options_description* positional) {
  constexpr int kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  std::vector<std::string> words(argv + 1, argv + argc);
  std::replace(words.begin(), words.end(), std::string("-h"), std::string("--help"));
  for (const auto& [before, now] : {std::pair("--raw-features", "--features-scaling none"),
                                    {"--normalize-features", "--features-scaling rows"}})
    if (std::find(words.begin(), words.end(), before) != words.end()) usage("{} is now {}", before, now);
  po::parsed_options parsed(&options);
  try {
    parsed = po::command_line_parser(words).options(options).style(kStyle).run();
  } catch (const po::unknown_option& error) {
    usage("{}", unknown(error, options, "--"));
  }
  std::map<std::string, std::string> named;  // what options say themselves
  for (const auto& option : parsed.options)
    if (!option.string_key.empty() && !option.value.empty()) named[option.string_key] = option.value.front();
  unsigned word = 0;
  std::erase_if(parsed.options, [&](auto& option) {
    if (!option.string_key.empty()) return false;
    const std::string& value = option.value.at(0);
    if (positional == nullptr || word >= positional->max_total_count())
      usage("unexpected argument '{}'", value);
    option.string_key = positional->name_for_position(word++);
    const auto given = named.find(option.string_key);
    if (given != named.end() && given->second != value)
      usage("--{} {}: '{}' stands beside it, expected one of them", option.string_key, given->second, value);
    return given != named.end();
  });
  po::variables_map values;
  po::store(parsed, values);
  return values;
}

std::optional<CommandLine> read_command_line(int argc, char** argv, const Program& program) {
  CommandLine line;
  Settings& s = line.settings = defaults_of(program);
  bool no_capture = false;

  po::options_description data("Data"), model("Model"), training("Training"), batches("Mini-batches"),
      output("Output"), other("Other");
  data.add_options()("data", file(s.data),
                     "dataset in HDF5, also as the first argument (default: the one that comes along)")(
      "split", with_default(s.split, "K"),
      "which of the dataset's splits, or all: a run for each of them, and for more runs in turn")(
      "metric", with_default(s.metric, "NAME"),
      fmt::format("what validation selects the best epoch by: {}",
                  !program.metric_help.empty()
                      ? program.metric_help
                      : "accuracy, auc or f1 for classes (auto: auc for two), auc or f1 for several labels "
                        "(auto: auc), r2 or mae for regression (auto: r2)")
          .c_str());
  if (program.of_nodes())
    data.add_options()(
        "inductive", po::bool_switch(&s.inductive),
        "take the graph as new at every epoch: from its edge list all structures are derived again")(
        "aggregation", with_default(s.aggregation, "WAY"),
        "how such an epoch sums neighbours: reduce (over rows, which are sorted), scatter (over the list as "
        "it "
        "is), auto (by a rule on the counts) or measure (both are timed first)");
  add_input_options(data, s);
  add_kernels_options(program, data, s);
  add_options(program.family.all_options(), program.family, model, s);
  training.add_options()("epochs", with_default(s.epochs, "N"),
                         fmt::format("passes over the training {}", program.things).c_str())(
      "lr", with_default(s.lr, "X"), "learning rate")(
      "weight-decay", with_default(s.weight_decay, "X"),
      fmt::format("L2 penalty, on {}", program.decayed).c_str())("seed", with_default(s.seed, "N"),
                                                                 "of initial weights and dropout")(
      "runs", with_default(s.runs, "R"), "repeat with seeds seed, seed + 1, ...; report mean and deviation")(
      "patience", with_default(s.patience, "N"),
      "stop after N epochs without a better validation metric (0: never)")(
      "patience-on", with_default(s.patience_on, "WHAT"),
      "metric, or either: stop when neither the validation metric nor its loss was as good as before, and "
      "keep the last epoch in which both were")("eval-every", with_default(s.eval_every, "N"),
                                                "validate every N epochs");
  if (program.training_options) program.training_options(training.add_options(), s);
  add_batch_options(program, batches, s);
  if (!program.metrics)
    output.add_options()(
        "report", po::bool_switch(&s.report),
        "precision, recall and F1 of each class on the test nodes, and which one was taken for which");
  output.add_options()("json", po::bool_switch(&s.json), "print one JSON object last")(
      "quiet", po::bool_switch(&s.quiet), "no progress; with --json nothing but the object")(
      "metrics", file(s.metrics), "loss and metric by epoch, FILE.csv or FILE.jsonl")(
      "predict", file(s.predict), "what is predicted, FILE.csv, FILE.jsonl or FILE.h5")(
      "plot", file(s.plot), "loss and metric over the epochs, FILE.svg (needs gnuplot)")(
      "checkpoint", file(s.checkpoint), "write the state of the training here")(
      "checkpoint-every", with_default(s.checkpoint_every, "N"), "every N epochs, and at the end")(
      "resume", file(s.resume), "go on from this checkpoint")(
      "explain", po::bool_switch(&s.explain), "print which kernels were chosen for which structure, and why");
  other.add_options()("device", with_default(s.device, "NAME"), "cpu, cuda or cuda:1")(
      "threads", with_default(s.threads, "N"), "CPU threads (0: all cores)")(
      "no-capture", po::bool_switch(&no_capture),
      "on a GPU, launch every kernel of every step instead of one recorded graph")(
      "config", file(s.config), "read options from FILE, one NAME = VALUE a line; the command line wins")(
      "version", "print the version")("help", "print this");
  po::options_description all;
  all.add(data).add(model).add(training);
  if (!program.loaders.empty()) all.add(batches);
  all.add(output).add(other);

  po::variables_map values;
  try {
    po::positional_options_description positional;
    positional.add("data", 1);
    values = parse_command_line(argc, argv, all, &positional);
    if (values.count("help") != 0) {
      print_help(program.name() + " [DATA.h5] [OPTION]...", program.summary, all);
      return {};
    }
    if (values.count("version") != 0) {
      fmt::print("{} {}\nCPU kernels: {}\n", program.name(), version(), describe_cpu_isa());
      return {};
    }
    if (values.count("config") != 0) po::store(read_config(values["config"].as<std::string>(), all), values);
    po::notify(values);
  } catch (const po::error& error) {
    usage("{}", error.what());
  }
  for (const auto& [name, value] : values)
    if (!value.empty() && value.value().type() == typeid(std::string) && value.as<std::string>().empty() &&
        !value.defaulted())
      usage("--{}: expected a value", name);
  s.capture = !no_capture;
  check(s);
  check_kernels(s);
  check_model_options(program.family, s);
  if (program.check) program.check(s);
  check_batch_options(program, s, defaults_of(program));
  for (const auto& [name, value] : values)
    if (kFree.count(name) == 0) line.identity[name] = text_of(value);
  std::vector<const po::options_description*> groups{&data, &model, &training};
  if (s.loader != "none") groups.push_back(&batches);
  for (const auto* group : groups)
    for (const auto& option : group->options())
      if (const std::string& name = option->long_name(); kFree.count(name) == 0 && kSaid.count(name) == 0)
        line.hyperparameters.emplace_back(member_name(name), json_of(values[name]));
  return line;
}

void print_help(const std::string& usage, const std::string& summary,
                const po::options_description& options) {
  std::ostringstream text;
  text << options;  // of which groups begin with an empty line
  fmt::print("Usage: {}\n{}\n{}{}", usage, summary, text.str().starts_with('\n') ? "" : "\n", text.str());
}

bool read_options(int argc, char** argv, const po::options_description& options,
                  const po::positional_options_description& positional, const std::string& usage,
                  const std::string& summary) {
  try {
    po::variables_map values = parse_command_line(argc, argv, options, &positional);
    if (values.count("help") != 0) {
      print_help(usage, summary, options);
      return false;
    }
    po::notify(values);
    return true;
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
}

}  // namespace adj::apps
