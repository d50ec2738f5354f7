#include <adjoint/data/import/detail/rdf_statements.h>

namespace adj {

void detail::read_rdf_statements(const std::string& path, const RdfContext&, Progress*,
                                 const std::function<void(const RdfStatement&)>&) {
  data_fail("{}: this build reads no RDF, expected one with serd (Debian's libserd-dev, ADJOINT_SERD=ON)",
            excerpt(path));
}

}  // namespace adj
