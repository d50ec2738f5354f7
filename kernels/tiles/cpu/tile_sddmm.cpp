#include <adjoint/kernels/tiles/tile_sddmm.h>

namespace adj::kernels::cpu {

void tile_sddmm(const TileSddmmArgs& args) { sddmm({.a = args.a, .y = args.y, .x = args.x, .dw = args.dw}); }

}  // namespace adj::kernels::cpu
