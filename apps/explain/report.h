#pragma once

#include "options.h"

#include <string>
#include <vector>

namespace adj::apps {

/// An explanation with names, ready to be written.
struct ExplanationReport {
  const models::Explanation* why;
  const Dataset* data;
  std::vector<int32_t> order;          ///< places of the edges, the most important first
  std::vector<int32_t> feature_order;  ///< columns likewise
  std::string target;                  ///< "node 'ada'"
  std::string output;                  ///< what is explained: the class's name, or "output 0"
  std::vector<int32_t> marked;         ///< the target's nodes

  ExplanationReport(const models::Explanation& explanation, const Dataset& dataset);
  std::string node(int32_t row) const;        ///< its name, id or number before any reordering
  std::string feature(int32_t column) const;  ///< its name or number
  float importance(int32_t edge) const { return why->edge_importance[static_cast<size_t>(edge)]; }

  /// The first `top` edges and features.
  void print(int64_t top) const;
  std::string json(int64_t top) const;  ///< "edges" and "features" of an object
  void write_edges(const std::string& path, bool escape_formulas) const;
  void write_features(const std::string& path, bool escape_formulas) const;
  void draw(const std::string& path, int64_t top) const;
};

}  // namespace adj::apps
