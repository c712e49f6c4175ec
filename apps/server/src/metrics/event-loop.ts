import { monitorEventLoopDelay } from 'node:perf_hooks';

/** How late the HTTP event loop runs its timers. */
export interface EventLoopMonitor {
  p99Seconds(): number;
  stop(): void;
}

const resolutionMs = 10;

export function startEventLoopMonitor(): EventLoopMonitor {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  histogram.enable();
  return {
    // The histogram counts whole intervals; the delay is what exceeds the timer's own period.
    p99Seconds: () => Math.max(0, histogram.percentile(99) / 1e9 - resolutionMs / 1e3),
    stop: () => histogram.disable(),
  };
}
