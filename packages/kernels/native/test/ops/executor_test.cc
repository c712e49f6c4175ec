#include <atomic>
#include <cstring>
#include <memory>

#include "executor/errors.h"
#include "executor/executable.h"
#include "executor/load.h"
#include "executor/step_thread.h"
#include "test/ops/harness.h"

namespace dsi {
namespace {

// tokens -> embedding -> norm -> one product with bias; weights in BF16 and F32, numerics as given.
struct Model {
  explicit Model(bool fast) {
    test::Numbers numbers(7);
    weights->fast = fast;
    add("table", 16, 96, kUseEmbedding | kUseLinear, numbers);
    add("norm", 1, 96, kUseVector, numbers);
    add("w", 48, 96, kUseLinear | kUseLinearF32, numbers);
    add("bias", 1, 48, kUseVector, numbers);
    kv->blocks = 2;
    kv->block_size = 4;
    const auto tensor = [](const char* name, TensorKind kind, bool i32, std::vector<int32_t> shape, int64_t offset) {
      Tensor t;
      t.name = name;
      t.kind = kind;
      t.is_i32 = i32;
      t.shape = std::move(shape);
      t.offset = offset;
      return t;
    };
    program.name = "model";
    program.fast = fast;
    program.max_dims = {8, 1, 1, 1};
    program.tensors = {tensor("tokens", TensorKind::kInput, true, {kT}, 0),
                       tensor("table", TensorKind::kWeight, false, {16, 96}, 0),
                       tensor("norm", TensorKind::kWeight, false, {96}, 0),
                       tensor("w", TensorKind::kWeight, false, {48, 96}, 0),
                       tensor("bias", TensorKind::kWeight, false, {48}, 0),
                       tensor("x", TensorKind::kValue, false, {kT, 96}, 0),
                       tensor("y", TensorKind::kValue, false, {kT, 48}, 8 * 96 * 4)};
    program.ops = {{OpCode::kEmbedding, {0, 1}, {5}, {}},
                   {OpCode::kRmsNorm, {5, 2}, {5}, {1e-6}},
                   {OpCode::kLinear, {5, 3, 4}, {6}, {0}}};
    program.inputs = {0};
    program.outputs = {6};
    program.arena_bytes = 8 * (96 + 48) * 4;
  }

  void add(const char* name, int64_t rows, int64_t cols, uint32_t uses, test::Numbers& numbers) {
    const auto values = numbers.many(static_cast<size_t>(rows * cols));
    auto bytes = std::make_unique<std::vector<uint8_t>>(values.size() * 4);
    std::memcpy(bytes->data(), values.data(), bytes->size());
    WeightRequest request{};
    request.name = name;
    request.format = Format::kF32;
    request.groups = 1;
    request.rows = rows;
    request.cols = cols;
    request.uses = uses;
    SourceRange range;
    range.size = bytes->size();
    range.memory = bytes->data();
    request.data.push_back(range);
    load_weight(request, *weights, files, pool);  // the source dies afterwards
  }

  ThreadPool pool{3};
  FileCache files;
  std::shared_ptr<WeightSet> weights = std::make_shared<WeightSet>();
  std::shared_ptr<KvStorage> kv = std::make_shared<KvStorage>();
  Program program;
};

std::vector<float> run(Executable& executable, ThreadPool& pool, const std::vector<int32_t>& tokens) {
  const std::atomic<bool> stopping{false};
  executable.prepare({static_cast<int64_t>(tokens.size()), 0, 0, 0}, {{tokens.data(), tokens.size()}}, nullptr, 0, true);
  executable.run(pool, stopping);
  size_t elements;
  const auto* y = static_cast<const float*>(executable.output(0, elements));
  return {y, y + elements};
}

}  // namespace

TEST("a program runs, and a row's bits do not depend on its batch or the threads") {
  for (const bool fast : {false, true}) {
    Model model(fast);
    Executable executable(model.program, model.weights, model.kv);
    const auto batch = run(executable, model.pool, {3, 15, 0, 7, 3, 9, 1, 2});
    ThreadPool single(1);
    const std::vector<int32_t> tokens = {3, 15, 0, 7, 3, 9, 1, 2};
    for (size_t t = 0; t < tokens.size(); ++t) {
      const auto alone = run(executable, single, {tokens[t]});
      CHECK(std::memcmp(alone.data(), batch.data() + t * 48, 48 * 4) == 0);
    }
    CHECK(run(executable, model.pool, {}).empty());
    CHECK_THROWS(LaunchError, run(executable, model.pool, {16}));
    CHECK_THROWS(LaunchError, run(executable, model.pool, std::vector<int32_t>(9, 0)));
    model.weights->disposed = true;
    CHECK_THROWS(DisposedError, run(executable, model.pool, {1}));
  }
}

TEST("weights of a wrong size are refused") {
  Model model(false);
  const uint8_t bytes[10] = {0};
  WeightRequest request{};
  request.name = "short";
  request.format = Format::kF16;
  request.groups = 1;
  request.rows = 4;
  request.cols = 32;
  SourceRange range;
  range.size = sizeof bytes;
  range.memory = bytes;
  request.data = {range};
  for (const uint32_t use : {kUseLinear, kUseVector, kUseEmbedding}) {
    request.uses = use;
    CHECK_THROWS(WeightError, load_weight(request, *model.weights, model.files, model.pool));
  }
  request.data[0] = {};
  request.data[0].file = "/nonexistent";
  request.data[0].size = 256;
  CHECK_THROWS(WeightError, load_weight(request, *model.weights, model.files, model.pool));
}

TEST("the step thread runs jobs in order and those waiting at its end") {
  std::vector<int> order;
  StepThread step(2);
  for (int i = 0; i < 50; ++i) CHECK(step.post([&order, i] { order.push_back(i); }));
  step.shutdown();
  CHECK(order.size() == 50 && order.front() == 0 && order.back() == 49);
  CHECK(!step.post([] {}));
}

}  // namespace dsi
