// Random but valid weight blocks of the ggml types that the benchmark shapes use: random payload, scales that keep activations finite.

const layout = {
  F32: { size: 1, bytes: 4 },
  F16: { size: 1, bytes: 2 },
  Q8_0: { size: 32, bytes: 34, scales: [[0, 1 / 127]] },
  Q4_0: { size: 32, bytes: 18, scales: [[0, 1 / 8]] },
  Q5_0: { size: 32, bytes: 22, scales: [[0, 1 / 16]] },
  Q4_K: {
    size: 256,
    bytes: 144,
    scales: [
      [0, 1 / (63 * 8)],
      [2, 1 / 63],
    ],
  },
  Q6_K: { size: 256, bytes: 210, scales: [[208, 1 / (128 * 32)]] },
};

function f16Bits(value) {
  const f = new Float32Array([value]);
  const x = new Uint32Array(f.buffer)[0];
  const exponent = ((x >>> 23) & 255) - 127 + 15;
  if (exponent <= 0) return Math.round(value / 2 ** -24);
  return (exponent << 10) | ((x >>> 13) & 1023);
}

/** A small fast generator, so that a file of a gigabyte takes seconds. */
function xorshift(seed) {
  let s = seed >>> 0 || 1;
  return () => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    return s >>> 0;
  };
}

/** Bytes of a [rows, cols] matrix of `type`, with weights of about `amplitude`. */
export function randomMatrix(type, rows, cols, seed, amplitude = 1 / Math.sqrt(cols)) {
  const { size, bytes, scales } = layout[type];
  const next = xorshift(seed);
  if (type === 'F32')
    return new Uint8Array(Float32Array.from({ length: rows * cols }, () => 1 + (next() / 2 ** 32 - 0.5) * 0.2).buffer);
  const data = new Uint8Array(((rows * cols) / size) * bytes);
  const words = new Uint32Array(data.buffer, 0, data.length >>> 2);
  for (let i = 0; i < words.length; i++) words[i] = next();
  if (scales) {
    for (const [offset, unit] of scales) {
      const bits = f16Bits(unit * amplitude);
      for (let at = offset; at < data.length; at += bytes) {
        data[at] = bits & 255;
        data[at + 1] = bits >>> 8;
      }
    }
  }
  return data;
}
