#pragma once

#include <string>
#include <vector>

namespace adj::apps {

/// A graph to draw: nodes with labels, and edges by their places.
struct Picture {
  /// Drawn thicker and darker with its absolute `importance`, in another colour below 0.
  struct Edge {
    int32_t src, dst;
    float importance;
  };
  std::string title, note;
  std::vector<std::string> labels;
  std::vector<bool> marked;  ///< of nodes: the target's
  std::vector<bool> named;   ///< of nodes: with their labels
  std::vector<Edge> edges;
  bool directed = false;  ///< arrows; otherwise the two directions of a pair are one line, the larger one's
};

/// As an SVG file of one size, without fonts or styles from elsewhere. Places come from springs between nodes
/// (Fruchterman & Reingold 1991), that begin on a circle: the same bits for the same picture.
std::string svg(const Picture& picture);

}  // namespace adj::apps
