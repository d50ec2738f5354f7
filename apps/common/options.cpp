#include "options.h"

#include <cerrno>
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
const std::set<std::string> kFree = {"data",       "device",  "epochs",  "checkpoint", "checkpoint-every",
                                     "resume",     "metrics", "predict", "plot",       "threads",
                                     "no-capture", "quiet",   "json",    "config",     "help",
                                     "version"};

void expect_integer(const char* option, int64_t value, int64_t low, int64_t high) {
  if (value < low) usage("--{}: expected {} or more, got {}", option, low, value);
  if (value > high) usage("--{}: expected at most {}, got {}", option, high, value);
}

void check(const Settings& s) {
  constexpr int64_t kMany = 1'000'000'000;
  expect_integer("split", s.split, 0, kMany);
  expect_integer("epochs", s.epochs, 1, kMany);
  expect_integer("seed", s.seed, 0, std::numeric_limits<int64_t>::max() - kMany);
  expect_integer("runs", s.runs, 1, 1'000'000);
  expect_integer("hidden", s.hidden, 1, 1 << 20);
  expect_integer("layers", s.layers, 1, 1000);
  expect_integer("patience", s.patience, 0, kMany);
  expect_integer("eval-every", s.eval_every, 1, kMany);
  expect_integer("checkpoint-every", s.checkpoint_every, 1, kMany);
  expect_integer("threads", s.threads, 0, kMaxThreads);
  if (!std::isfinite(s.lr) || s.lr <= 0.0) usage("--lr: expected a positive number, got {}", s.lr);
  if (!std::isfinite(s.weight_decay) || s.weight_decay < 0.0)
    usage("--weight-decay: expected 0 or more, got {}", s.weight_decay);
  if (!(s.dropout >= 0.0 && s.dropout < 1.0))
    usage("--dropout: expected a probability in [0, 1), got {}", s.dropout);
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

}  // namespace

std::optional<CommandLine> read_command_line(int argc, char** argv, const Program& program) {
  CommandLine line;
  Settings& s = line.settings = program.defaults;
  bool raw_features = false, no_capture = false;

  po::options_description data("Data"), training("Training"), output("Output"), other("Other");
  data.add_options()("data", file(s.data), "dataset in HDF5 (default: the one that comes along)")(
      "split", with_default(s.split, "K"), "which of the dataset's splits")(
      "raw-features", po::bool_switch(&raw_features),
      "take the features as they are, else each row is divided by its sum");
  training.add_options()("epochs", with_default(s.epochs, "N"), "passes over the training nodes")(
      "lr", with_default(s.lr, "X"), "learning rate")("weight-decay", with_default(s.weight_decay, "X"),
                                                      "L2 penalty, added to the gradient")(
      "dropout", with_default(s.dropout, "P"), "probability of dropping")(
      "hidden", with_default(s.hidden, "N"), "width of the hidden layers")(
      "layers", with_default(s.layers, "N"), "number of layers")("seed", with_default(s.seed, "N"),
                                                                 "of initial weights and dropout")(
      "runs", with_default(s.runs, "R"), "repeat with seeds seed, seed + 1, ...; report mean and deviation")(
      "patience", with_default(s.patience, "N"),
      "stop after N epochs without a better validation accuracy (0: never)")(
      "eval-every", with_default(s.eval_every, "N"), "validate every N epochs");
  output.add_options()("json", po::bool_switch(&s.json), "print one JSON object last")(
      "quiet", po::bool_switch(&s.quiet), "no progress; with --json nothing but the object")(
      "metrics", file(s.metrics), "loss and accuracy by epoch, FILE.csv or FILE.jsonl")(
      "predict", file(s.predict), "class and probabilities of every node, HDF5")(
      "plot", file(s.plot), "loss and accuracy over the epochs, FILE.svg (needs gnuplot)")(
      "checkpoint", file(s.checkpoint), "write the state of the training here")(
      "checkpoint-every", with_default(s.checkpoint_every, "N"), "every N epochs, and at the end")(
      "resume", file(s.resume), "go on from this checkpoint");
  other.add_options()("device", with_default(s.device, "NAME"), "cpu, cuda or cuda:1")(
      "threads", with_default(s.threads, "N"), "CPU threads (0: all cores)")(
      "no-capture", po::bool_switch(&no_capture),
      "on a GPU, launch every kernel of every step instead of one recorded graph")(
      "config", file(s.config), "read options from FILE, one NAME = VALUE a line; the command line wins")(
      "version", "print the version")("help", "print this");
  po::options_description all;
  all.add(data).add(program.options).add(training).add(output).add(other);

  po::variables_map values;
  try {
    constexpr int kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    const po::parsed_options parsed = po::command_line_parser(argc, argv).options(all).style(kStyle).run();
    for (const auto& option : parsed.options)
      if (option.string_key.empty()) usage("unexpected argument '{}'", option.value.at(0));
    po::store(parsed, values);
    if (values.count("help") != 0) {
      print_help(program.name + " [OPTION]...", program.summary, all);
      return {};
    }
    if (values.count("version") != 0) {
      fmt::print("{} {}\n", program.name, version());
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
  s.normalize = !raw_features;
  s.capture = !no_capture;
  check(s);
  if (program.check) program.check();
  for (const auto& [name, value] : values)
    if (kFree.count(name) == 0) line.identity[name] = text_of(value);
  return line;
}

void print_help(const std::string& usage, const std::string& summary,
                const po::options_description& options) {
  std::ostringstream text;
  text << options;  // of which groups begin with an empty line
  fmt::print("Usage: {}\n{}\n{}{}", usage, summary, text.str().starts_with('\n') ? "" : "\n", text.str());
}

void expect_one_of(const std::string& option, const std::string& value,
                   const std::vector<std::string>& choices) {
  for (const std::string& choice : choices)
    if (value == choice) return;
  usage("--{}: expected {}, got '{}'", option, fmt::join(choices, " or "), value);
}

}  // namespace adj::apps
