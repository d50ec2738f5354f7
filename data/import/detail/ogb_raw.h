#pragma once

#include <adjoint/data/import/ogb.h>
#include <adjoint/graph/relation.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace adj::ogb {

/// A dataset's raw/ folder, text or binary. Tables have the names of the binary form: "num_nodes_list",
/// "num_edges_list", "edge_index", "node_feat", "edge_feat", "node_label", "graph_label", and additional
/// "node_…". All failures are DataErrors with the table's place.
class Raw {
 public:
  /// Throws if it has neither form, or several node types.
  static std::unique_ptr<Raw> open(const std::filesystem::path& folder);
  virtual ~Raw() = default;

  virtual bool has(std::string_view table) const = 0;
  /// int64 [G], each at least `least`.
  virtual Tensor counts(std::string_view table, int64_t least) = 0;
  /// int32 [edges] each, from 0 to `most`.
  virtual EdgeIndex edges(int64_t edges, int64_t most) = 0;
  /// float32 [rows, *], at least one column; finite, NaN allowed if `missing`.
  virtual Tensor numbers(std::string_view table, int64_t rows, bool missing) = 0;
  /// Number of rows of numbers(), without allocating them.
  virtual int64_t rows(std::string_view table) = 0;
  /// `row` counts from 0.
  [[noreturn]] virtual void fail_at(std::string_view table, int64_t row, const std::string& message) = 0;
  [[noreturn]] virtual void fail(std::string_view table, const std::string& message) = 0;
};

/// The folder that holds raw/ and split/. Throws if `folder` is none.
std::filesystem::path root_of(const std::string& folder);
/// raw/ in it, or itself.
std::filesystem::path raw_folder(const std::filesystem::path& root);
/// Throws UsageError unless the name is one like node_year.
void expect_node_table(const std::string& name);
/// float32 [N, *]: tables of N rows side by side; frees them.
Tensor joined_columns(std::vector<Tensor> tables);

/// X.csv.gz, else X.csv; empty if neither exists.
std::string text_file(const std::filesystem::path& folder, std::string_view name);

/// `nodes` and `edges`: the files with the numbers of rows, for messages.
std::unique_ptr<Raw> open_text(const std::filesystem::path& folder, std::string nodes = "num-node-list",
                               std::string edges = "num-edge-list");
std::unique_ptr<Raw> open_binary(const std::filesystem::path& folder);

/// Sets task, labels (of `rows` nodes or graphs, from `table`), classes and unlabelled.
void set_labels(Dataset& data, Raw& raw, std::string_view table, int64_t rows, const OgbOptions& options);
/// The folder of a split in `folder` (split/), `wanted` or the only one; empty if there are none.
std::filesystem::path chosen_split(const std::filesystem::path& folder, const std::string& wanted);
/// The parts in a folder of items with these labels. Throws if one is missing.
Split read_split(const std::filesystem::path& folder, const Tensor& y);
/// Sets the split of nodes or graphs from `folder` (split/), or an empty one if the folder does not exist;
/// labels must be set before.
void set_split(Dataset& data, const std::filesystem::path& folder, const OgbOptions& options);

}  // namespace adj::ogb
