#include "../support.h"
#include <adjoint/core/group.h>
#include <adjoint/core/launch.h>

#include <atomic>

using namespace adj;
using namespace adj::test;

namespace {

/// Row r, column c of what rank `sender` has for `receiver`.
float number(int64_t sender, int64_t receiver, int64_t r, int64_t c) {
  return static_cast<float>(1000 * sender + 100 * receiver + 10 * r + c);
}

/// Rows that `sender` has for `receiver`: some blocks are empty.
int64_t rows_between(int64_t sender, int64_t receiver) { return (2 * sender + 3 * receiver) % 4; }

Tensor block(int64_t sender, int64_t receiver, Device device) {
  const int64_t rows = rows_between(sender, receiver);
  std::vector<float> values;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < 3; ++c) values.push_back(number(sender, receiver, r, c));
  return Tensor::from(values, {rows, 3}, device);
}

/// Where ranks exchange: each on its device, of which `local` are in this process.
struct Room {
  std::vector<Device> devices;
  int64_t local;

  int64_t ranks() const { return std::ssize(devices); }
  void run(const std::function<void(const Group&)>& body) const {
    local == ranks() ? run_ranks(devices, body) : run_process(devices[0], body);
  }
};

/// On one device, and on two GPUs (through NCCL) where there are two; under mpirun, its processes.
std::vector<Room> rooms(std::initializer_list<int64_t> counts) {
  std::vector<Room> rooms;
  for (const Device device : devices())
    if (const int64_t ranks = launch().ranks; ranks > 1)
      rooms.push_back({std::vector<Device>(uz(ranks), device), 1});
    else
      for (const int64_t count : counts) rooms.push_back({std::vector<Device>(uz(count), device), count});
  if (launch().ranks > 1) return rooms;
  if (cuda_device_count() < 2)
    MESSAGE("skipped: two GPUs");
  else
    rooms.push_back({{Device::cuda(1), Device::cuda(0)}, 2});
  return rooms;
}

}  // namespace

TEST_CASE("blocks of rows reach the rank that they are for, whatever their sizes") {
  for (const Room& room : rooms({1, 2, 3, 8})) {
    const int64_t ranks = room.ranks();
    std::atomic<int64_t> right = 0;
    room.run([&](const Group& group) {
      const int64_t rank = group.rank();
      const Device device = group.device();
      for (int round = 0; round < 50; ++round) {
        std::vector<Tensor> sends, receives;
        for (int64_t p = 0; p < ranks; ++p) {
          const bool silent = p != rank && (p + rank) % 3 == 1;  // both sides know that nothing moves
          sends.push_back(silent ? Tensor() : block(rank, p, device));
          receives.push_back(silent ? Tensor()
                                    : Tensor::full({rows_between(p, rank), 3}, -1.0, DType::f32, device));
        }
        group.exchange(sends, receives);
        for (Tensor& sent : sends)
          if (sent) sent.fill_(-2.0);  // they are this rank's again
        for (int64_t p = 0; p < ranks; ++p) {
          const Tensor& got = receives[uz(p)];
          right += !got || got.to_vector<float>() == block(p, rank, device).to_vector<float>();
        }
      }
    });
    CHECK(right == 50 * room.local * ranks);
  }
}

TEST_CASE("gather has all rows in the order of ranks, broadcast those of one rank") {
  for (const Room& room : rooms({1, 2, 5})) {
    const int64_t ranks = room.ranks();
    std::atomic<int64_t> right = 0;
    room.run([&](const Group& group) {
      const int64_t rank = group.rank();
      const Device device = group.device();
      std::vector<int32_t> all;
      for (int32_t p = 0; p < ranks; ++p)
        for (int32_t i = 0; i < 2 * (p % 3); ++i) all.push_back(10 * p + i);
      std::vector<int32_t> numbers;
      for (int32_t i : all)
        if (i / 10 == rank) numbers.push_back(i);
      const Tensor rows = Tensor::from(numbers, {std::ssize(numbers) / 2, 2}, device);
      const Tensor gathered = group.gather(rows);
      right += gathered.to_vector<int32_t>() == all && gathered.size(1) == 2;
      group.barrier();
      Tensor x = Tensor::full({4}, static_cast<double>(rank), DType::bf16, device);
      group.broadcast(x, ranks - 1);
      right += values(x) == Numbers(4, static_cast<double>(ranks - 1));
      const std::vector<std::string> texts = group.gather(std::string(uz(rank % 3), 'a') + "\n");
      for (int64_t p = 0; p < ranks; ++p) right += texts[uz(p)] == std::string(uz(p % 3), 'a') + "\n";
    });
    CHECK(right == (2 + ranks) * room.local);
  }
}

TEST_CASE("ranks of one process see the tensors of all, not copies of them") {
  for (const Room& room : rooms({1, 2, 5})) {
    const int64_t ranks = room.ranks();
    std::vector<const void*> addresses(uz(ranks));
    std::atomic<int64_t> right = 0;
    room.run([&](const Group& group) {
      const int64_t rank = group.rank();
      const Tensor x = Tensor::full({rank + 1, 3}, static_cast<double>(rank), DType::f32, group.device());
      addresses[uz(rank)] = x.raw_data();
      if (room.local != ranks) {
        try {
          (void)group.share(x);
        } catch (const Error& error) {
          right += std::string_view(error.what()).find("these ranks are processes") != std::string_view::npos;
        }
        return group.barrier();
      }
      const std::vector<Tensor> all = group.share(x);
      for (int64_t p = 0; p < ranks; ++p) {
        const Tensor& shared = all[uz(p)];
        right += std::ssize(all) == ranks && shared.raw_data() == addresses[uz(p)] &&
                 values(shared) == Numbers(uz(3 * (p + 1)), static_cast<double>(p));
      }
      group.barrier();
    });
    CHECK(right == (room.local == ranks ? ranks * ranks : 1));
  }
  const Tensor x = Tensor::zeros({2, 3});
  CHECK(Group().share(x).front().raw_data() == x.raw_data());
}

TEST_CASE("ranks draw the numbers of one, and the program goes on after them") {
  const auto draw = [] { return random_uniform({5}, 0, 1, default_generator()).to_vector<float>(); };
  manual_seed(7);
  std::vector<std::vector<float>> wanted(4);
  for (std::vector<float>& numbers : wanted) numbers = draw();
  for (const int64_t ranks : {1, 8}) {
    manual_seed(7);
    CHECK(draw() == wanted[0]);
    std::atomic<int64_t> right = 0;
    run_ranks(ranks, [&](const Group&) { right += draw() == wanted[1] && draw() == wanted[2]; });
    CHECK(right == ranks);
    CHECK(draw() == wanted[3]);
  }
}

TEST_CASE("one rank needs no others") {
  const Group alone;
  CHECK(alone.size() == 1);
  const Tensor x = Tensor::from(std::vector<float>{1, 2});
  CHECK(alone.gather(x).to_vector<float>() == x.to_vector<float>());
  Tensor y = x.clone(), received = Tensor::zeros({2});
  alone.broadcast(y, 0);
  alone.barrier();
  alone.exchange(std::vector<Tensor>{x}, std::span(&received, 1));
  CHECK(received.to_vector<float>() == x.to_vector<float>());
  CHECK_ERROR_HAS(alone.broadcast(y, 1), "broadcast: rank 1, expected 0 to 0");
  CHECK_ERROR_HAS(alone.exchange(std::vector<Tensor>{}, std::span(&received, 1)), "0 and 1 blocks");
}

TEST_CASE("a rank that fails releases those that wait for it on their GPUs") {
  if (cuda_device_count() < 2) {
    MESSAGE("skipped: one GPU or none");
    return;
  }
  CHECK_ERROR_HAS(run_ranks(std::vector{Device::cuda(0), Device::cuda(1)},
                            [](const Group& group) {
                              const Tensor x = Tensor::zeros({1000, 64}, DType::f32, group.device());
                              std::vector<Tensor> sends(2, x), receives(2, x.clone());
                              group.exchange(sends, receives);
                              if (group.rank() == 1) fail("no memory");
                              for (;;) {
                                group.exchange(sends, receives);
                                (void)receives[1].to_vector<float>();
                              }
                            }),
                  "no memory");
  CHECK_ERROR_HAS(run_ranks(std::vector{Device::cuda(0), Device::cuda(1)},
                            [](const Group& group) {
                              std::vector<Tensor> sends(2, Tensor::zeros({2, 3}, DType::f32, group.device()));
                              std::vector<Tensor> receives = sends;
                              if (group.rank() == 0)
                                receives[1] = Tensor::zeros({3, 3}, DType::f32, group.device());
                              group.exchange(sends, receives);
                            }),
                  "to rank 0, which expected [3, 3]");
}

TEST_CASE("calls that differ are refused on all ranks, which go on") {
  for (const Room& room : rooms({2, 4})) {
    std::atomic<int64_t> right = 0;
    room.run([&](const Group& group) {
      const auto refused = [&](const char* text, const auto& call) {
        try {
          call();
        } catch (const Error& error) {
          const std::string_view message = error.what();
          right += message.find(text) != std::string_view::npos;
          if (message.find(text) == std::string_view::npos) MESSAGE(message);
        }
      };
      refused("rank 1 calls broadcast from rank 0 of float32 [*, 4], and rank 0 gather of float32 [*, 3]",
              [&] {
                Tensor x = Tensor::zeros({2, group.rank() == 1 ? 4 : 3}, DType::f32, group.device());
                group.rank() == 1 ? group.broadcast(x, 0) : (void)group.gather(x);
              });
      refused(
          room.local == 1 ? "these ranks are processes" : "rank 1 calls share of bfloat16 [*, 3], and rank 0",
          [&] {
            (void)group.share(
                Tensor::zeros({2, 3}, group.rank() == 1 ? DType::bf16 : DType::f32, group.device()));
          });
      refused("to rank 0, which expected [3, 3] float32 on", [&] {
        std::vector<Tensor> sends(uz(group.size()), Tensor::zeros({2, 3}, DType::f32, group.device()));
        std::vector<Tensor> receives = sends;
        if (group.rank() == 0) receives[1] = Tensor::zeros({3, 3}, DType::f32, group.device());
        group.exchange(sends, receives);
      });
      refused("rank 0 sends nothing to rank 1, which expected [2] bfloat16 on", [&] {
        std::vector<Tensor> sends(uz(group.size())), receives = sends;
        if (group.rank() == 1) receives[0] = Tensor::zeros({2}, DType::bf16, group.device());
        group.exchange(sends, receives);
      });
      right += group.gather(fmt::format("{}", group.rank())).back() == fmt::format("{}", room.ranks() - 1);
    });
    CHECK(right == 5 * room.local);
  }
}

TEST_CASE("a rank that fails, ends or calls otherwise ends the calls of all others") {
  std::atomic<int> ended = 0;
  const auto others_end = [&](const Group& group, const char* part) {
    try {
      group.barrier();
      group.barrier();
    } catch (const GroupError& error) {
      ended += std::string_view(error.what()).find(part) != std::string_view::npos;
      throw;
    }
  };
  CHECK_ERROR_HAS(run_ranks(4,
                            [&](const Group& group) {
                              if (group.rank() != 2) return others_end(group, "rank 2 failed: no memory");
                              group.barrier();
                              fail("no memory");
                            }),
                  "no memory");
  CHECK(ended == 3);
  ended = 0;
  CHECK_ERROR_HAS(run_ranks(3,
                            [&](const Group& group) {
                              if (group.rank() != 0) return others_end(group, "rank 0 ended");
                              group.barrier();
                            }),
                  "rank 0 ended, but others wait for it");
  CHECK(ended == 2);
  CHECK_ERROR_HAS(run_ranks(0, [](const Group&) {}), "0 ranks");
  CHECK_ERROR_HAS(run_ranks(std::vector<Device>(), [](const Group&) {}), "no devices");
}
