#include "../structures.h"
#include <adjoint/core/detail/carrier.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/aggregate/spmm_plan.h>

using namespace adj;
using namespace adj::test;
using kernels::HeavyRow;
using kernels::ItemStart;
using kernels::SlotRun;
using kernels::SpmmPlan;

namespace {

std::vector<Csr> structures() {
  std::vector<int64_t> skewed, light(500, 1), mixed;
  for (int64_t i = 0; i < 900; ++i) skewed.push_back(i % 301 == 7 ? 6000 : i % 3);
  for (int64_t i = 0; i < 300; ++i) mixed.push_back((i * i) % 41);
  std::vector<int64_t> star(8000, 0);
  star[4000] = 40000;  // merged in two steps
  std::vector<Csr> all;
  for (const std::vector<int64_t>& lengths : std::vector<std::vector<int64_t>>{
           {}, {0}, {0, 0, 0}, {1}, {9}, {3, 0, 5000}, light, skewed, mixed, star})
    all.push_back(random_structure(lengths, 10).csr);
  return all;
}

}  // namespace

TEST_CASE("a host plan covers every entry and row once, the parts of a row in order") {
  for (const Csr& a : structures())
    for (const int64_t size : {8, 32, 512}) {
      const SpmmPlan plan = kernels::host_spmm_plan(a, size);
      CAPTURES(a.rows, size);
      if (a.rows == 0) {
        CHECK(plan.items == 0);
        continue;
      }
      REQUIRE(plan.starts.size(0) == plan.items + 1);
      REQUIRE(plan.heavy.size(0) == plan.heavy_rows + 1);
      REQUIRE(plan.slot_runs.size(0) == plan.runs);
      const int64_t* offsets = a.offsets.data<int64_t>();
      const ItemStart* item = plan.item_starts();
      CHECK(item[0].entry == 0);
      CHECK(item[0].row == 0);
      CHECK(item[plan.items].entry == a.entries());
      CHECK(item[plan.items].row == a.rows);
      int32_t slots = 0;
      for (int64_t k = 0; k < plan.items; ++k) {
        const bool part = item[k].row < 0;
        const int32_t row = part ? ~item[k].row : item[k].row;
        CHECK(item[k + 1].entry >= item[k].entry);
        CHECK(item[k + 1].entry - item[k].entry <= 2 * size);
        if (part) {
          CHECK(item[k].entry > offsets[row]);
          CHECK(item[k].entry < offsets[row + 1]);
        } else {
          CHECK(item[k].entry == offsets[row]);
        }
        const bool cut = part || item[k + 1].row == ~row;
        if (cut) CHECK(item[k].slot == slots++);
      }
      CHECK(slots == plan.slots);
      const HeavyRow* heavy = plan.heavy_row_list();
      const SlotRun* run = plan.slot_run_list();
      for (int64_t h = 0; h < plan.heavy_rows; ++h) {
        const int32_t begin = heavy[h].slot, end = heavy[h + 1].slot;
        CHECK(end - begin >= 2);
        if (end - begin <= kernels::kMostPlainSlots) {
          CHECK(heavy[h].run == heavy[h + 1].run);
          continue;
        }
        int32_t position = begin;
        for (int32_t r = heavy[h].run; r < heavy[h + 1].run; ++r) {
          CHECK(run[r].begin == position);
          CHECK(run[r].end - run[r].begin <= kernels::kRunSlots);
          position = run[r].end;
        }
        CHECK(position == end);
      }
      CHECK(heavy[plan.heavy_rows].row == -1);
      CHECK(heavy[plan.heavy_rows].slot == plan.slots);
      CHECK(heavy[plan.heavy_rows].run == plan.runs);
    }
}

TEST_CASE("a product with a copied plan has the same bits as with its own") {
  for (const Device device : devices())
    for (const Csr& a : structures()) {
      if (a.rows == 0) continue;
      detail::Carrier carrier(device);
      const Csr carried = kernels::carried_with_plan(a, carrier),
                again = kernels::carried_with_plan(a, carrier);
      carrier.finish();
      CHECK(carried.cache == again.cache);
      const Csr local = a.to(device);
      const Tensor x = random_tensor({a.cols, 48}).to(device),
                   values = random_tensor({a.entries()}).to(device);
      Tensor expected = Tensor::empty({a.rows, 48}, DType::f32, device), y = expected.clone();
      kernels::spmm({.a = {local, values, {}}, .x = x, .y = expected});
      kernels::spmm({.a = {carried, values, {}}, .x = x, .y = y});
      CHECK(same_bits(y, expected));
    }
}
