#pragma once

#include "../common/shared_options.h"
#include <adjoint/data/import/node_files.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace adj::apps {

/// Options of the tables of nodes beside edges: --features, --labels, the files of splits, and how they are
/// read.
class NodeOptions {
 public:
  explicit NodeOptions(std::shared_ptr<const SplitOptions> splits) : splits_(std::move(splits)) {}

  OptionList list();
  /// The files and the random split. `named`: ids are names, not integers; `edges`: the task, if edges have
  /// labels. Throws UsageError.
  NodeFiles files(bool named, std::optional<Task> edges) const;
  /// The files by their options; call after reading the options.
  std::vector<std::pair<std::string, std::string>> paths() const;

 private:
  void set_columns(NodeFiles& files) const;

  std::shared_ptr<const SplitOptions> splits_;
  NodeFiles files_;
  std::string impute_, columns_, without_, types_, like_;
  std::optional<std::string> missing_labels_;
};

/// The items of a list with commas, which may be quoted.
std::vector<std::string> items_of(const std::string& list);

/// The encoder of a dataset, a checkpoint or an integer model. Throws DataError if it has none and no names
/// of columns.
LikeFile read_like_file(const std::string& path);
/// That of the attributes of its edges, of one type; absent: they have none, or no names.
std::optional<LikeFile> read_like_attributes(const std::string& path);

}  // namespace adj::apps
