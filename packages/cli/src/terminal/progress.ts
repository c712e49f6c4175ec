import cliProgress from 'cli-progress';

/** A bar on a terminal; nothing where stderr is not one (a log must not fill with half-drawn bars). */
export interface Progress {
  update(label: string, done: number, total: number): void;
  stop(): void;
}

const silent: Progress = { update: () => {}, stop: () => {} };

export function progressBar(unit: 'bytes' | 'count', stream: NodeJS.WriteStream = process.stderr): Progress {
  if (!stream.isTTY) return silent;
  let bar: cliProgress.SingleBar | undefined;
  const scale = unit === 'bytes' ? 2 ** 20 : 1;
  const suffix = unit === 'bytes' ? ' MiB' : '';
  return {
    update(label, done, total) {
      if (!bar) {
        bar = new cliProgress.SingleBar(
          {
            format: `{label} {bar} {percentage}% {value}/{total}${suffix}`,
            stream,
            hideCursor: true,
            clearOnComplete: true,
          },
          cliProgress.Presets.rect,
        );
        bar.start(Math.max(1, Math.round(total / scale)), 0, { label });
      }
      bar.setTotal(Math.max(1, Math.round(total / scale)));
      bar.update(Math.round(done / scale), { label });
    },
    stop() {
      bar?.stop();
      bar = undefined;
    },
  };
}
