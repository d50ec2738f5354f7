#include "../common/command_line.h"
#include "formats.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/import/tu.h>

#include <memory>

namespace po = boost::program_options;

namespace adj::apps {

Format tu_format() {
  const auto given = std::make_shared<TuOptions>();
  Format format{"tu",
                "a folder of the TU collection, of NAME_A.txt and the files beside it",
                po::options_description("Options of tu"),
                {}};
  format.options.add_options()("node-attributes", po::bool_switch(&given->node_attributes),
                               "as features, before the node labels")(
      "edge-attributes", po::bool_switch(&given->edge_attributes),
      "as edge attributes, before the edge labels")("keep-edges", po::bool_switch(&given->keep_edges),
                                                    "loops and parallel edges too");
  format.import = [given](const std::string& input) { return import_tu(input, *given); };
  return format;
}

}  // namespace adj::apps
