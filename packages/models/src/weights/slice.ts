import type { WeightBytes, WeightTensor } from '../contract.js';
import { WeightFormatError } from '../errors.js';
import { lazyPart, partLength } from './lazy-bytes.js';
import { spanBytes } from './formats.js';
import { readParts } from './read-part.js';

/** Bytes [begin, end) of a part: a narrower file range, or a view. */
export function slicePart(part: WeightBytes, begin: number, end: number): WeightBytes {
  if ('bytes' in part) return lazyPart(end - begin, () => part.bytes.subarray(begin, end));
  return { file: part.file, offset: part.offset + begin, byteLength: end - begin };
}

/** Rows [start, start + rows) of a matrix [N, K] that one part holds, as a weight of its own. No byte is moved. */
export function sliceRows(name: string, weight: WeightTensor, start: number, rows: number): WeightTensor {
  const [, columns] = weight.shape as readonly [number, number];
  const cut = (parts: readonly WeightBytes[], rowBytes: number, from = start, count = rows): WeightBytes[] => [
    slicePart(onlyPart(weight, parts), from * rowBytes, (from + count) * rowBytes),
  ];
  const base = {
    name,
    format: weight.format,
    shape: [rows, columns],
    data: cut(weight.data, spanBytes(weight.name, weight.format, columns)),
  };
  if (weight.blockScales !== undefined) {
    const { blockRows, blockCols, data } = weight.blockScales;
    const wholeTensor = blockRows >= (weight.shape[0] as number);
    if (!wholeTensor && (start % blockRows !== 0 || rows % blockRows !== 0)) {
      throw new WeightFormatError(
        weight.name,
        weight.format,
        `rows ${start} to ${start + rows} do not begin and end on scale blocks of ${blockRows} rows`,
      );
    }
    const scaleRowBytes = 4 * Math.ceil(columns / blockCols);
    const scales = wholeTensor ? data : cut(data, scaleRowBytes, start / blockRows, rows / blockRows);
    return { ...base, blockScales: { data: scales, blockRows: wholeTensor ? rows : blockRows, blockCols } };
  }
  if (weight.int4 !== undefined) {
    const { scales, zeros, ...rest } = weight.int4;
    const rowBytes = 4 * (columns / rest.groupSize);
    return { ...base, int4: { ...rest, scales: cut(scales, rowBytes), zeros: cut(zeros, rowBytes) } };
  }
  return base;
}

/** Columns [start, start + columns) of a matrix [N, K]: copied row by row when loaded. Cuts must fall between quantisation blocks. */
export function sliceColumns(name: string, weight: WeightTensor, start: number, columns: number): WeightTensor {
  const [rows, all] = weight.shape as readonly [number, number];
  const { format } = weight;
  if (weight.int4 !== undefined) throw new WeightFormatError(weight.name, format, 'its columns cannot be split');
  const span = (elements: number): number => spanBytes(weight.name, format, elements);
  const data = columnsPart(weight.data, rows, span(all), span(start), span(columns));
  const base = { name, format, shape: [rows, columns], data: [data] };
  if (weight.blockScales === undefined) return base;
  const { blockRows, blockCols } = weight.blockScales;
  const wholeRow = blockCols >= all;
  if (!wholeRow && (start % blockCols !== 0 || columns % blockCols !== 0)) {
    throw new WeightFormatError(
      weight.name,
      format,
      `its columns cannot be split at ${start}, inside a scale block of ${blockCols}`,
    );
  }
  const scaleRows = Math.ceil(rows / blockRows);
  const scales = wholeRow
    ? weight.blockScales.data
    : [
        columnsPart(
          weight.blockScales.data,
          scaleRows,
          4 * Math.ceil(all / blockCols),
          (4 * start) / blockCols,
          (4 * columns) / blockCols,
        ),
      ];
  return { ...base, blockScales: { data: scales, blockRows, blockCols: wholeRow ? columns : blockCols } };
}

function columnsPart(
  parts: readonly WeightBytes[],
  rows: number,
  rowBytes: number,
  begin: number,
  length: number,
): WeightBytes {
  return lazyPart(rows * length, () => {
    const source = readParts(parts);
    const out = new Uint8Array(rows * length);
    for (let r = 0; r < rows; r++)
      out.set(source.subarray(r * rowBytes + begin, r * rowBytes + begin + length), r * length);
    return out;
  });
}

function onlyPart(weight: WeightTensor, parts: readonly WeightBytes[]): WeightBytes {
  const part = parts[0];
  if (part === undefined || parts.length !== 1) {
    throw new WeightFormatError(weight.name, weight.format, `its rows cannot be split: it has ${parts.length} parts`);
  }
  return part;
}

/** Total bytes of a weight with its scales. */
export function weightBytes(weight: WeightTensor): number {
  const lists = [weight.data, weight.blockScales?.data ?? [], weight.int4?.scales ?? [], weight.int4?.zeros ?? []];
  let total = 0;
  for (const list of lists) for (const part of list) total += partLength(part);
  return total;
}
