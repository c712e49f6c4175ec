import { defineConfig } from 'tsup';

/**
 * The one build recipe of every package: ESM and CJS with types for both. `DSI_SKIP_DTS=1` leaves the types out
 * (what `npm run serve` needs is only the JavaScript).
 */
export function packageConfig(entry: string[], format: ('esm' | 'cjs')[] = ['esm', 'cjs']) {
  return defineConfig({
    entry,
    format,
    target: 'node20',
    platform: 'node',
    sourcemap: true,
    clean: true,
    shims: true,
    splitting: true,
    dts: process.env.DSI_SKIP_DTS ? false : { compilerOptions: { noEmit: false, customConditions: [] } },
  });
}
