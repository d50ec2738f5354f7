#include "command_line.h"

#include "yaml_options.h"
#include <adjoint/adjoint.h>
#include <adjoint/training/run_folder.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/ranges.h>
#include <sys/stat.h>

namespace adj::apps {

namespace po = boost::program_options;

namespace {

po::typed_value<bool>* value_of(bool* flag, const std::string&) { return po::bool_switch(flag); }
/// Options for files show no default.
po::typed_value<std::string>* value_of(std::string* text, const std::string& placeholder) {
  auto* value = po::value(text)->value_name(placeholder);
  return text->empty() ? value : value->default_value(*text);
}
po::typed_value<std::string>* value_of(std::optional<std::string>* text, const std::string& placeholder) {
  return po::value<std::string>()->value_name(placeholder)->notifier([text](const std::string& value) {
    *text = value;
  });
}
po::typed_value<std::vector<std::string>>* value_of(std::vector<std::string>* texts,
                                                    const std::string& placeholder) {
  return po::value(texts)->value_name(placeholder);
}
/// A number whose errors name the option's range; the library's would not.
template <class Number>
class NumberValue : public po::typed_value<Number> {
 public:
  NumberValue(const Option& option, Number* number)
      : po::typed_value<Number>(number), name_(option.name), range_(option.range) {
    this->value_name(option.placeholder);
    if (*number != static_cast<Number>(kNotGiven)) this->default_value(*number, fmt::format("{}", *number));
  }
  void xparse(boost::any& store, const std::vector<std::string>& texts) const override {
    po::validators::check_first_occurrence(store);
    const std::string& text = po::validators::get_single_string(texts);
    Number number{};
    if constexpr (std::is_same_v<Number, int64_t>)
      number = read_integer(name_, text, range_);
    else
      number = read_number(name_, text, range_);
    expect_in(range_, name_, number);
    store = number;
  }

 private:
  std::string name_;
  OptionRange range_;
};

/// A name that is not offered has no default in --help.
po::typed_value<std::string>* value_of(const Option& option, const Choice& choice) {
  auto* value = po::value<std::string>()->value_name(option.placeholder);
  if (choice.offers(choice.text())) value->default_value(choice.text());
  return value->notifier([name = option.name, choice](const std::string& text) { choice.set(name, text); });
}
template <class T>
auto value_of(const Option& option, T* variable) {
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>)
    return new NumberValue<T>(option, variable);  // the table's, as that of po::value()
  else
    return value_of(variable, option.placeholder);
}

/// The error message with the option's new name or a suggestion; `dashes` precede the name.
std::string unknown(const po::unknown_option& error, const po::options_description& options,
                    const std::string& dashes) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back(option->long_name());
  std::string word = error.get_option_name();
  word.erase(0, word.find_first_not_of('-'));
  word.erase(std::min(word.find('='), word.size()));
  const struct {
    const char *before, *now, *value = "";
  } renamed[] = {{"raw-features", "features-scaling", " none"},
                 {"normalize-features", "features-scaling", " rows"},
                 {"html", "report"},
                 {"report", "class-scores"}};
  for (const auto& [before, now, value] : renamed)
    if (word == before && options.find_nothrow(now, false) != nullptr)
      return fmt::format("--{} is now --{}{}", before, now, value);
  const std::string meant = nearest(word, names);
  return error.what() + (meant.empty() ? "" : fmt::format("; did you mean '{}{}'?", dashes, meant));
}

/// Text of a config file. Only regular files and pipes: others may be endless.
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

/// The options of another run, from its run.json, without the files of that run; `note` names what is passed
/// over.
po::parsed_options read_run_options(const training::RunSummary& run, const std::string& path,
                                    const po::options_description& options, const std::string& program,
                                    std::string& note) {
  po::parsed_options all(&options);
  std::vector<std::string> files, unknown;
  for (const auto& [name, text] : run.options) {
    if (text.empty()) continue;
    if (training::names_run_file(name)) {
      files.push_back("--" + name);
    } else if (options.find_nothrow(name, false) == nullptr) {
      unknown.push_back("--" + name);
    } else {
      all.options.emplace_back(name, std::vector{text});
    }
  }
  if (!unknown.empty())
    usage_fail("{}: {}: of {}, but {} has no such option", path, fmt::join(unknown, ", "), run.program,
               program);
  try {
    po::variables_map scratch;
    po::store(all, scratch);
  } catch (const UsageError& error) {
    usage_fail("{}: {}", path, error.what());
  }
  note = fmt::format("{}: options of a run of {}{}{}", path, run.program, files.empty() ? "" : " without ",
                     fmt::join(files, ", "));
  return all;
}

bool only_on_command_line(const std::string& option) {
  return option == "config" || option == "help" || option == "version" || option == "check";
}

/// One `option = value` per line, # for comments. Read line by line, so that errors can name the line.
po::parsed_options read_lines(const std::string& text, const std::string& path,
                              const po::options_description& options) {
  std::istringstream stream(text);
  po::parsed_options all(&options);
  std::map<std::string, int> seen;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const auto where = fmt::format("{}:{}", path, number);
    if (const size_t first = line.find_first_not_of(" \t\r");
        first != std::string::npos && line[first] == '[')
      usage_fail("{}: a section, expected OPTION = VALUE", where);
    try {
      std::istringstream one(line);
      const po::parsed_options parsed = po::parse_config_file(one, options);
      po::variables_map scratch;
      po::store(parsed, scratch);  // refuses wrong values
      for (const auto& option : parsed.options) {
        if (only_on_command_line(option.string_key))
          usage_fail("--{} is allowed only on the command line", option.string_key);
        if (const auto [place, fresh] = seen.emplace(option.string_key, number); !fresh)
          usage_fail("'{}' is already set on line {}", option.string_key, place->second);
        all.options.push_back(option);
      }
    } catch (const UsageError& error) {
      usage_fail("{}: {}", where, error.what());
    } catch (const po::unknown_option& error) {
      usage_fail("{}: {}", where, unknown(error, options, ""));
    } catch (const po::error& error) {
      usage_fail("{}: {}", where, error.what());
    }
  }
  return all;
}

/// The same of a YAML mapping.
po::parsed_options read_yaml(const std::string& text, const std::string& path,
                             const po::options_description& options) {
  po::parsed_options all(&options);
  for (const YamlOption& one : yaml_options(text, path)) {
    const auto where = fmt::format("{}:{}", path, one.line);
    if (only_on_command_line(one.name))
      usage_fail("{}: --{} is allowed only on the command line", where, one.name);
    if (options.find_nothrow(one.name, false) == nullptr)
      usage_fail("{}: {}", where, unknown(po::unknown_option(one.name), options, ""));
    try {
      po::parsed_options parsed(&options);
      parsed.options.emplace_back(one.name, std::vector{one.value});
      po::variables_map scratch;
      po::store(parsed, scratch);  // refuses wrong values
      all.options.push_back(parsed.options[0]);
    } catch (const UsageError& error) {
      usage_fail("{}: {}", where, error.what());
    } catch (const po::error& error) {
      usage_fail("{}: {}", where, error.what());
    }
  }
  return all;
}

/// The file of --config: the run.json of a run folder, YAML by its name, else lines.
po::parsed_options read_config(const std::string& path, const po::options_description& options,
                               const std::string& program, std::string& note) {
  const std::string text = read_text(path);
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return read_yaml(text, path, options);
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return read_lines(text, path, options);
  return read_run_options(training::parse_run(text, path), path, options, program, note);
}

void print_version(const std::string& program) {
  fmt::print("{} {}\nCPU kernels: {}\n", program, version(), describe_cpu_isa());
}

/// Parses argv: the values, stored but not yet notified. Other words are values of the `positional` options,
/// which may also be given by name. Throws UsageError, with a suggestion for unknown options, or po::error.
po::variables_map parse(int argc, char** argv, const po::options_description& options,
                        const po::positional_options_description& positional) {
  constexpr int kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  std::vector<std::string> words(argv + 1, argv + argc);
  std::replace(words.begin(), words.end(), std::string("-h"), std::string("--help"));
  const auto remedy = [&](const std::string& option) {
    const bool classes = option == "--report" && options.find_nothrow("class-scores", false) != nullptr;
    return classes ? ", FILE.html; --class-scores prints precision, recall and F1" : "";
  };
  po::parsed_options parsed(&options);
  try {
    parsed = po::command_line_parser(words).options(options).style(kStyle).run();
  } catch (const po::unknown_option& error) {
    usage_fail("{}", unknown(error, options, "--"));
  } catch (const po::invalid_command_line_syntax& error) {
    usage_fail("{}{}", error.what(), remedy(error.get_option_name()));
  }
  std::map<std::string, std::string> named;  // options given by name
  for (const auto& option : parsed.options) {
    if (option.string_key.empty() || option.value.empty()) continue;
    const std::string& value = named[option.string_key] = option.value.front();
    if (option.original_tokens.size() == 2 && value.starts_with("--") &&
        options.find_nothrow(value.substr(2), false) != nullptr)
      usage_fail("--{}: expected a value, got the option {}{}", option.string_key, value,
                 remedy("--" + option.string_key));
  }
  unsigned word = 0;
  std::erase_if(parsed.options, [&](auto& option) {
    if (!option.string_key.empty()) return false;
    const std::string& value = option.value.at(0);
    if (word >= positional.max_total_count()) usage_fail("unexpected argument '{}'", value);
    option.string_key = positional.name_for_position(word++);
    const auto argument = named.find(option.string_key);
    if (argument != named.end() && argument->second != value)
      usage_fail("--{} {}: conflicts with the argument '{}'", option.string_key, argument->second, value);
    return argument != named.end();
  });
  po::variables_map values;
  po::store(parsed, values);
  return values;
}

/// Adds what the file of --config, if there is one, sets and the command line does not. What to say of it.
std::string add_config(po::variables_map& values, const po::options_description& options,
                       const std::string& program) {
  std::string note;
  if (values.count("config") != 0 && !values["config"].defaulted())
    po::store(read_config(values["config"].as<std::string>(), options, program, note), values);
  return note;
}

/// The same; `words`: the options that plain words set, in order; a last one that ends in "..." takes all
/// others. Empty if --help or --version was printed. `usage` begins with the program's name.
std::optional<po::variables_map> read_values(int argc, char** argv, const po::options_description& options,
                                             const std::vector<std::string>& words, const std::string& usage,
                                             const std::string& summary) {
  po::positional_options_description positional;
  for (const std::string& word : words) {
    const bool rest = word.ends_with("...");
    positional.add(word.substr(0, word.size() - (rest ? 3 : 0)).c_str(), rest ? -1 : 1);
  }
  po::variables_map values = parse(argc, argv, options, positional);
  if (values.count("help") != 0) {
    std::ostringstream text;
    text << options;  // groups begin with an empty line
    fmt::print("Usage: {}\n{}\n{}{}", usage, summary, text.str().starts_with('\n') ? "" : "\n", text.str());
    return {};
  }
  if (values.count("version") != 0) {
    print_version(usage.substr(0, usage.find(' ')));
    return {};
  }
  return values;
}

/// Reads argv and the --config file into the options of a training program; the command line overrides the
/// file. Empty if --help or --version was printed. Throws UsageError, or DataError if the config file cannot
/// be read: a regular file or a pipe, of 1 MB at most. With --check prints the options and is empty too.
std::optional<training::Settings> read_command_line(int argc, char** argv, training::Options& o) {
  training::Settings::Texts usual;
  bool check = false;
  po::options_description all;
  for (const training::Options::Group& group : o.groups()) {
    if (group.options.empty()) continue;
    po::options_description options = table_of(group.options, group.name);
    if (group.name == "Other")
      options.add_options()("check", po::bool_switch(),
                            "check the options, print them as JSON, and train nothing")(
          "version", "print the version")("help", "print this");
    all.add(options);
    for (const Option& option : group.options) usual[option.name] = option.text();
  }
  try {
    auto values = read_values(argc, argv, all, {"data"}, o.program() + " [DATA.h5] [OPTION]...", o.summary);
    if (!values) return {};
    const std::string note = add_config(*values, all, o.program());
    for (const auto& [name, value] : *values)
      if (!value.empty() && value.value().type() == typeid(std::string) && value.as<std::string>().empty() &&
          !value.defaulted())
        usage_fail("--{}: expected a value", name);
    po::notify(*values);
    check = (*values)["check"].as<bool>();
    if (!note.empty() && !o.output.quiet && !check) log_info("{}", note);
  } catch (const po::error& error) {
    usage_fail("{}", error.what());
  }
  std::optional<training::Settings> settings(std::in_place, o, std::move(usual));
  if (!check) return settings;
  settings->apply();
  print_options(o.groups());
  return {};
}

}  // namespace

int run_training(int argc, char** argv, training::Options& options,
                 const std::function<void(const training::Settings&)>& train) {
  return run_program(options.program(), [&] {
    if (const auto settings = read_command_line(argc, argv, options)) train(*settings);
  });
}

void print_options(const std::vector<training::Options::Group>& groups) {
  std::vector<std::string> members;
  for (const training::Options::Group& group : groups)
    for (const Option& option : group.options)
      members.push_back(fmt::format("{}: {}", json_text(option.name), option.json()));
  fmt::print("{{{}}}\n", fmt::join(members, ", "));
}

po::options_description table_of(const OptionList& options, const std::string& caption) {
  po::options_description table(caption);
  for (const Option& option : options)
    std::visit(
        [&](const auto& value) {
          table.add_options()(option.name.c_str(), value_of(option, value), option.help.c_str());
        },
        option.value);
  return table;
}

bool read_options(int argc, char** argv, po::options_description program_options,
                  const std::vector<std::string>& words, const std::string& usage, const std::string& summary,
                  std::optional<po::options_description> all) {
  if (program_options.find_nothrow("help", false) == nullptr)
    program_options.add_options()("version", "print the version")("help", "print this");
  const po::options_description& shown = all ? all->add(program_options) : program_options;
  try {
    auto values = read_values(argc, argv, shown, words, usage, summary);
    if (!values) return false;
    const std::string note = add_config(*values, shown, usage.substr(0, usage.find(' ')));
    po::notify(*values);
    const auto quiet = values->find("quiet");
    if (!note.empty() && (quiet == values->end() || !quiet->second.as<bool>())) log_info("{}", note);
    return true;
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
}

std::optional<size_t> chosen_word(int argc, char** argv, const std::string& usage, const std::string& summary,
                                  const std::vector<std::string>& names) {
  if (argc < 2) usage_fail("expected {}", usage);
  std::istringstream words(usage);
  std::string program, what, word = argv[1];
  words >> program >> what;
  if (word == "--help" || word == "-h") {
    fmt::print("Usage: {}\n{}\n\n{} is one of {}.\nIts options: {} {} --help\n", usage, summary, what,
               fmt::join(names, ", "), program, what);
    return {};
  }
  if (word == "--version") {
    print_version(program);
    return {};
  }
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end())
    usage_fail("{} '{}': expected one of {}{}", what, word, fmt::join(names, ", "),
               did_you_mean(word, names));
  return static_cast<size_t>(found - names.begin());
}

Option threads_option(int64_t& value) {
  return {"threads", &value, "N", "CPU threads (0: all)", true, IntegerRange{0, kMaxThreads}};
}
Option gzip_option(int64_t& value) {
  return {"gzip", &value, "N", "compression, 0 (none) to 9", true, IntegerRange{0, 9}};
}

void use_threads(int64_t threads) {
  if (threads > 0) set_num_threads(static_cast<int>(threads));
}

}  // namespace adj::apps
