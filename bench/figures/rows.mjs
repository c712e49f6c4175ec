// Rows of a figures report: {what, value, unit, target, ok, conditions}.
import { readFileSync } from 'node:fs';
import os from 'node:os';

export function machine() {
  let cpu = os.cpus()[0]?.model ?? process.arch;
  try {
    cpu = /model name\s*: (.*)/.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? cpu;
  } catch {
    // not Linux: what Node says
  }
  return `${cpu}, ${os.availableParallelism()} cores, ${(os.totalmem() / 2 ** 30).toFixed(0)} GiB, Node ${process.versions.node}`;
}

/** `target`: {min} or {max}. */
export function row(what, value, unit, target, conditions = {}) {
  const ok = target.min !== undefined ? value >= target.min : value <= target.max;
  return {
    what,
    value,
    unit,
    target: target.min !== undefined ? `>= ${target.min}` : `<= ${target.max}`,
    ok: Number.isFinite(value) && ok,
    conditions,
  };
}

export function failedRow(what, target, error) {
  return { what, value: null, unit: null, target, ok: false, conditions: { error: String(error?.message ?? error) } };
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function printTable(rows) {
  const width = Math.max(...rows.map((r) => r.what.length));
  for (const { what, value, unit, target, ok } of rows) {
    const shown = typeof value === 'number' ? Number(value.toPrecision(4)) : String(value);
    console.log(
      `${ok ? 'ok  ' : 'MISS'} ${what.padEnd(width)} ${String(shown).padStart(12)} ${(unit ?? '').padEnd(10)} target ${target}`,
    );
  }
}
