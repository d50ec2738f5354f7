#include "formats.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/import/tu.h>

#include <memory>

namespace adj::apps {

Format tu_format() {
  const auto arguments = std::make_shared<TuOptions>();
  return {
      "tu",
      "a folder of the TU collection, with NAME_A.txt and its other files",
      {{"node-attributes", &arguments->node_attributes, "",
        "use node attributes as features, before the node labels"},
       {"edge-attributes", &arguments->edge_attributes, "", "use edge attributes, before the edge labels"},
       {"keep-edges", &arguments->keep_edges, "", "keep self-loops and parallel edges"}},
      [arguments](const std::string& input, auto& notes) { return import_tu(input, *arguments, &notes); }};
}

}  // namespace adj::apps
