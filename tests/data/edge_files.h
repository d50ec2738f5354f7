#pragma once

#include "dataset_parts.h"
#include "text_folder.h"
#include <adjoint/data/import/edge_list.h>

namespace adj::test {

/// The ends of the edges in the list's order.
inline I src_of(const Dataset& d) { return d.graph.edge_index().src.to_vector<int32_t>(); }
inline I dst_of(const Dataset& d) { return d.graph.edge_index().dst.to_vector<int32_t>(); }

/// An imported list of edges, and the notes about it, a line each, without the folder.
struct FoundEdges : Dataset {
  std::string notes;
};

/// Text of a file of edges, and the error that it causes.
struct BadEdges {
  std::string text, message;  ///< `message` as in `says`; from ':' on it follows the file's name
  EdgeListOptions options{};
};

/// A folder for a list of edges and the files of its nodes.
struct EdgeFiles {
  TemporaryDirectory folder;

  std::string put(const std::string& name, const std::string& text) const {
    return write_file(folder.file(name), text);
  }
  FoundEdges import(const std::string& text, const EdgeListOptions& options = {}) const {
    std::vector<std::string> notes;
    FoundEdges found{import_edge_list(put("edges", text), options, &notes), ""};
    for (const std::string& note : notes) found.notes += without_folder(note) + "\n";
    return found;
  }
  std::string refused(const std::string& text, const EdgeListOptions& options = {}) const {
    return without_folder(error_in<DataError>("", [&] { (void)import(text, options); }));
  }
  void check_refused(const std::vector<BadEdges>& bad) const {
    for (const auto& [text, message, options] : bad)
      CHECK(says(refused(text, options), message.starts_with(':') ? "edges" + message : message));
  }

  EdgeListOptions with_labels(const std::string& text) const {
    return {.node_files = {.labels = put("labels", text)}};
  }
  EdgeListOptions with_features(const std::string& text, std::optional<Imputation> impute = {}) const {
    return {.node_files = {.features = put("features", text), .impute = impute}};
  }
  EdgeListOptions with_split(const std::string& train, const std::string& val, const std::string& test,
                             EdgeListOptions options = {}) const {
    options.node_files.train = put("train", train);
    options.node_files.val = put("val", val);
    options.node_files.test = put("test", test);
    return options;
  }

 private:
  std::string without_folder(std::string text) const {
    for (size_t position; (position = text.find(folder.file(""))) != std::string::npos;)
      text.erase(position, folder.file("").size());
    return text;
  }
};

}  // namespace adj::test
