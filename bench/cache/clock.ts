/** Best of `rounds` timings of `work`, in seconds, after one unmeasured round. */
export function bestOf(rounds: number, work: () => void): number {
  work();
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const begin = performance.now();
    work();
    best = Math.min(best, performance.now() - begin);
  }
  return best / 1000;
}

export function report(name: string, value: number, unit: string): void {
  console.log(`${name.padEnd(52)} ${value.toLocaleString('en-US', { maximumFractionDigits: 1 }).padStart(14)} ${unit}`);
}
