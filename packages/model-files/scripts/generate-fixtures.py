"""Writes test/fixtures/reference.gguf.gz with gguf-py, an independent writer: every metadata type, several tensor types.

pip install gguf==0.19.0 numpy; run from the package: python3 scripts/generate-fixtures.py
"""

import gzip
import os

import numpy as np
from gguf import GGMLQuantizationType, GGUFValueType, GGUFWriter, quants

PATH = "test/fixtures/reference.gguf"
w = GGUFWriter(PATH, "llama")
w.add_uint8("t.u8", 200)
w.add_int8("t.i8", -100)
w.add_uint16("t.u16", 60000)
w.add_int16("t.i16", -30000)
w.add_uint32("t.u32", 4000000000)
w.add_int32("t.i32", -2000000000)
w.add_float32("t.f32", 1.5)
w.add_bool("t.bool", True)
w.add_string("t.string", "grüße 🦙")
w.add_uint64("t.u64", 2**63)
w.add_int64("t.i64", -(2**40))
w.add_float64("t.f64", 0.1)
w.add_array("t.strings", ["", "a", "▁b"])
w.add_array("t.floats", [0.5, -2.0])
w.add_array("t.ints", [1, -2, 3])
w.add_array("t.bools", [True, False])
values = np.arange(2 * 64, dtype=np.float32).reshape(2, 64) / 8
w.add_tensor("plain", values)
w.add_tensor("half", values.astype(np.float16).reshape(2, 2, 32))
w.add_tensor("blocks", quants.quantize(values, GGMLQuantizationType.Q8_0), raw_dtype=GGMLQuantizationType.Q8_0)
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
with open(PATH, "rb") as f, open(PATH + ".gz", "wb") as out:
    out.write(gzip.compress(f.read(), 9, mtime=0))
os.remove(PATH)
