import os from 'node:os';

/**
 * Bytes that this process may use: the smaller of the machine's memory and the cgroup's limit (v1 and v2, as Node reads it;
 * an unlimited cgroup reports 0 or more than the machine has).
 */
export function usableMemory(total = os.totalmem(), constrained = process.constrainedMemory()): number {
  return constrained > 0 && constrained < total ? constrained : total;
}

/** Part of the usable memory that the KV pool takes by default. */
export const defaultKvShare = 0.25;
