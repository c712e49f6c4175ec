"""Writes test/fixtures/*.safetensors.gz.

ggml_blocks     random valid blocks of every ggml type and their values, from gguf-py's own decoders
ggml_quantize   random rows and gguf-py's own quantisation of them
int4, fp8       cut from larger references: pass their directory, else these two are left as they are.
                GPTQ and AWQ by the checkpoints' published packing, FP8 by torch 2.13 casts.

pip install gguf==0.19.0 numpy; run from the package: python3 scripts/generate-fixtures.py [REFERENCE_DIRECTORY]
"""

import gzip
import json
import struct
import sys

import numpy as np
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as T

OUT = "test/fixtures"
NAMES = {"float32": "F32", "float16": "F16", "uint8": "U8", "int32": "I32"}


def save(name, tensors, dtypes={}):
    header, offset, parts = {}, 0, []
    for key, array in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        dtype = dtypes.get(key, NAMES[str(array.dtype)])
        header[key] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [offset, offset + len(raw)]}
        offset += len(raw)
        parts.append(raw)
    text = json.dumps(header).encode()
    with open(f"{OUT}/{name}.safetensors.gz", "wb") as f:
        f.write(gzip.compress(struct.pack("<Q", len(text)) + text + b"".join(parts), 9, mtime=0))


def load(path):
    data = gzip.open(path).read()
    n = struct.unpack("<Q", data[:8])[0]
    types = {"F32": np.float32, "F16": np.float16, "I32": np.int32, "U8": np.uint8, "I16": np.int16, "F8_E4M3": np.uint8}
    header = json.loads(data[8 : 8 + n])
    header.pop("__metadata__", None)
    out = {}
    for key, v in header.items():
        a, b = v["data_offsets"]
        out[key] = np.frombuffer(data[8 + n + a : 8 + n + b], types[v["dtype"]]).reshape(v["shape"])
    return out


# Where the f16 scales of a block are: random payload bytes there could be NaN or infinite.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0],
          "IQ3_S": [0], "IQ1_S": [0], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [],
          "NVFP4": [], "IQ1_M": [], "F16": [0], "BF16": []}  # fmt: skip


def blocks():
    rng = np.random.default_rng(20)
    tensors = {}
    for name, places in SCALES.items():
        elements, size = GGML_QUANT_SIZES[T[name]]
        count = 512 // elements
        raw = rng.integers(0, 256, (count, size), dtype=np.uint8)
        for p in places:
            scale = (rng.standard_normal(count) * 0.1).astype(np.float16)
            raw[:, p : p + 2] = scale.view(np.uint8).reshape(count, 2)
        if name == "IQ1_M":
            scale = (rng.standard_normal(count) * 0.1).astype(np.float16).view(np.uint16)
            for i in range(4):
                raw[:, 49 + 2 * i] = (raw[:, 49 + 2 * i] & 15) | ((scale >> (4 * i)) & 15).astype(np.uint8) << 4
        if name == "BF16":
            raw[:, 1] &= 0xBF  # exponents below 127: no NaN
        tensors[f"{name}.raw"] = raw.reshape(-1)
        tensors[f"{name}.f32"] = quants.dequantize(raw.reshape(1, -1), T[name]).reshape(-1).astype(np.float32)
    save("ggml_blocks", tensors)


def quantized():
    rng = np.random.default_rng(21)
    values = (rng.standard_normal((2, 512)) * 0.05).astype(np.float32)
    values[rng.random(values.shape) < 0.01] *= 20
    values[0, :32] = 0
    tensors = {"input": values}
    for name in ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "BF16", "TQ1_0", "TQ2_0", "MXFP4"]:
        tensors[name] = quants.quantize(values, T[name])
    save("ggml_quantize", tensors)


def cut(directory):
    rows = 8
    tensors = {}
    for name in ["asym_desc_act", "asym_no_act_v2", "sym_no_act"]:
        t = load(f"{directory}/gptq_int4_g128_{name}.safetensors.gz")
        tensors[f"{name}.qweight"] = t["qweight"][:, :rows]
        tensors[f"{name}.qzeros"] = t["qzeros"][:, : rows // 8]
        tensors[f"{name}.scales"] = t["scales"][:, :rows]
        tensors[f"{name}.g_idx"] = t["g_idx"]
        tensors[f"{name}.dequant"] = t["dequant_f32"][:rows]
    t = load(f"{directory}/awq_gemm_int4_g128.safetensors.gz")
    tensors["awq.qweight"] = t["qweight"][:, : rows // 8]
    tensors["awq.qzeros"] = t["qzeros"][:, : rows // 8]
    tensors["awq.scales"] = t["scales"][:, :rows]
    tensors["awq.dequant"] = t["dequant_f32"][:rows]
    save("int4", tensors)

    t = load(f"{directory}/fp8_block128_ragged.safetensors.gz")
    fp8 = {"block.weight": t["weight"][:136, :144], "block.scale": t["weight_scale_inv"][:2, :2]}
    fp8["block.dequant"] = t["dequant_f32"][:136, :144]
    t = load(f"{directory}/fp8_tables.safetensors.gz")
    for key in ["e4m3fn_f32_bits", "e5m2_f32_bits", "edge_f32_bits"]:
        fp8[key] = t[key]
    for key in ["edge_to_bf16_u16", "edge_to_f16_u16"]:
        fp8[key] = t[key].view(np.uint16).astype(np.int32)
    for key in ["edge_to_e4m3fn_overflow_nan_u8", "edge_to_e4m3fn_saturating_u8", "edge_to_e5m2_u8"]:
        fp8[key] = t[key]
    save("fp8", fp8)


blocks()
quantized()
if len(sys.argv) > 1:
    cut(sys.argv[1])
