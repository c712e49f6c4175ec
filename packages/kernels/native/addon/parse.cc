#include "addon/parse.h"

#include <cstring>

namespace dsi {
namespace {

// Columns of one row of LoweredProgram.tensors.
constexpr size_t kTensorColumns = 9;
enum TensorColumn { kKind, kIsI32, kRank, kShape, kIndex = kShape + 4, kRagged };

std::string text(const Napi::Object& o, const char* key) { return o.Get(key).As<Napi::String>().Utf8Value(); }
int64_t integer(const Napi::Object& o, const char* key) { return o.Get(key).As<Napi::Number>().Int64Value(); }

std::vector<int32_t> ints(const Napi::Value& value) {
  const auto array = value.As<Napi::Int32Array>();
  return {array.Data(), array.Data() + array.ElementLength()};
}

[[noreturn]] void malformed(Napi::Env env, const std::string& what) {
  throw coded_error(env, "DSI_PROGRAM", "malformed lowered program: " + what);
}

std::vector<SourceRange> sources(const Napi::Value& value, std::vector<Napi::ObjectReference>& kept) {
  std::vector<SourceRange> ranges;
  if (!value.IsArray()) return ranges;
  const auto array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const Napi::Object o = array.Get(i).As<Napi::Object>();
    SourceRange range;
    if (o.IsTypedArray()) {
      const auto bytes = o.As<Napi::Uint8Array>();
      range.memory = bytes.Data();
      range.size = bytes.ByteLength();
      kept.push_back(Napi::Persistent(o));
    } else {
      range.file = text(o, "file");
      range.offset = static_cast<uint64_t>(integer(o, "offset"));
      range.size = static_cast<uint64_t>(integer(o, "byteLength"));
    }
    ranges.push_back(std::move(range));
  }
  return ranges;
}

}  // namespace

Program parse_program(const Napi::Object& lowered) {
  const Napi::Env env = lowered.Env();
  Program program;
  program.name = text(lowered, "name");
  program.fast = lowered.Get("fast").As<Napi::Boolean>();
  program.arena_bytes = integer(lowered, "arenaBytes");
  const auto max_dims = lowered.Get("maxDims").As<Napi::Float64Array>();
  for (size_t i = 0; i < 4; ++i) program.max_dims[i] = static_cast<int64_t>(max_dims[i]);

  const std::vector<int32_t> table = ints(lowered.Get("tensors"));
  const auto offsets = lowered.Get("offsets").As<Napi::Float64Array>();
  const auto names = lowered.Get("names").As<Napi::Array>();
  const size_t count = table.size() / kTensorColumns;
  if (names.Length() != count || offsets.ElementLength() != count) malformed(env, "tensor table");
  for (size_t i = 0; i < count; ++i) {
    const int32_t* row = table.data() + i * kTensorColumns;
    Tensor t;
    t.name = names.Get(static_cast<uint32_t>(i)).As<Napi::String>().Utf8Value();
    t.kind = static_cast<TensorKind>(row[kKind]);
    t.is_i32 = row[kIsI32] != 0;
    if (row[kRank] < 0 || row[kRank] > 4) malformed(env, "rank of " + t.name);
    t.shape.assign(row + kShape, row + kShape + row[kRank]);
    t.index = row[kIndex];
    t.ragged = row[kRagged] != 0;
    t.offset = static_cast<int64_t>(offsets[i]);
    program.tensors.push_back(std::move(t));
  }

  const auto consts = lowered.Get("consts").As<Napi::Array>();
  for (uint32_t i = 0; i < consts.Length(); ++i) {
    const auto array = consts.Get(i).As<Napi::TypedArray>();
    const auto* bytes = static_cast<const uint8_t*>(array.ArrayBuffer().Data()) + array.ByteOffset();
    program.consts.push_back({{bytes, bytes + array.ByteLength()}});
  }

  // [op, inputs, outputs, attrs, ...ids of inputs, ...ids of outputs] an op
  const std::vector<int32_t> stream = ints(lowered.Get("ops"));
  const auto attrs = lowered.Get("attrs").As<Napi::Float64Array>();
  size_t at = 0, attr = 0;
  const auto id = [&](int32_t value) {
    if (value < -1 || value >= static_cast<int32_t>(count)) malformed(env, "tensor id");
    return value;
  };
  while (at < stream.size()) {
    if (at + 4 > stream.size() || stream[at] < 0 || stream[at] >= kOpCount) malformed(env, "op stream");
    Op op;
    op.code = static_cast<OpCode>(stream[at]);
    const size_t inputs = static_cast<size_t>(stream[at + 1]), outputs = static_cast<size_t>(stream[at + 2]);
    const size_t values = static_cast<size_t>(stream[at + 3]);
    at += 4;
    if (at + inputs + outputs > stream.size() || attr + values > attrs.ElementLength()) malformed(env, "op stream");
    for (size_t i = 0; i < inputs; ++i) op.inputs.push_back(id(stream[at + i]));
    for (size_t i = 0; i < outputs; ++i) op.outputs.push_back(id(stream[at + inputs + i]));
    for (size_t i = 0; i < values; ++i) op.attrs.push_back(attrs[attr + i]);
    at += inputs + outputs;
    attr += values;
    program.ops.push_back(std::move(op));
  }
  program.inputs = ints(lowered.Get("inputs"));
  program.outputs = ints(lowered.Get("outputs"));
  return program;
}

WeightRequest parse_weight(const Napi::Object& d, std::vector<Napi::ObjectReference>& kept) {
  WeightRequest request;
  request.name = text(d, "name");
  request.format = static_cast<Format>(integer(d, "format"));
  request.groups = integer(d, "groups");
  request.rows = integer(d, "rows");
  request.cols = integer(d, "cols");
  request.uses = static_cast<uint32_t>(integer(d, "uses"));
  request.data = sources(d.Get("data"), kept);
  request.block_scales = sources(d.Get("blockScales"), kept);
  request.block_rows = integer(d, "blockRows");
  request.block_cols = integer(d, "blockCols");
  request.scales = sources(d.Get("scales"), kept);
  request.zeros = sources(d.Get("zeros"), kept);
  request.group_size = integer(d, "groupSize");
  if (d.Get("perm").IsTypedArray()) request.perm = ints(d.Get("perm"));
  return request;
}

}  // namespace dsi
