import { describe, expect, it } from 'vitest';
import { NativeUnavailableError } from '../errors.js';
import type { NativeAddon } from './addon.js';
import { findNative, nativeStatus, type LoaderHost } from './loader.js';

const addon = { bestIsa: () => 'generic' } as unknown as NativeAddon;

function host(changes: Partial<LoaderHost> = {}): LoaderHost {
  return {
    platform: 'linux',
    arch: 'x64',
    glibc: () => '2.36',
    exists: () => false,
    resolve() {
      throw new Error('Cannot find module');
    },
    load: () => addon,
    packageRoot: '/app/node_modules/@dsi/kernels',
    ...changes,
  };
}

const local = '/app/node_modules/@dsi/kernels/build/Release/dsi_kernels.node';

const installed = (name: string) => `/app/node_modules/${name}`;

describe('findNative', () => {
  it('prefers the platform package, then the local build', () => {
    const platform = '/app/node_modules/@dsi/kernels-linux-x64-gnu/dsi_kernels.node';
    expect(findNative(host({ resolve: installed, exists: () => true }))).toEqual({ addon, path: platform });
    expect(findNative(host({ exists: (file) => file === local }))).toEqual({ addon, path: local });
  });

  it('goes on when a candidate does not load, and lists every reason with its remedy', () => {
    const result = findNative(
      host({
        resolve: installed,
        exists: () => true,
        load(file) {
          throw new Error(`${file}: version GLIBC_2.38 not found\nmore`);
        },
      }),
    );
    expect(result).toEqual({
      candidates: [
        {
          source: '@dsi/kernels-linux-x64-gnu',
          reason: expect.stringMatching(/does not load: .*GLIBC_2\.38 not found$/),
          remedy: expect.stringContaining('build-native.mjs'),
        },
        { source: local, reason: expect.stringContaining('GLIBC_2.38'), remedy: expect.stringContaining('delete it') },
      ],
    });
    const error = new NativeUnavailableError('candidates' in result ? result.candidates : []);
    expect(error.message.split('\n')).toHaveLength(3);
  });

  it('says how to get one where there is none', () => {
    expect(findNative(host())).toEqual({
      candidates: [
        expect.objectContaining({ source: '@dsi/kernels-linux-x64-gnu', reason: 'not installed' }),
        expect.objectContaining({ source: local, reason: 'not built' }),
      ],
    });
  });

  it('refuses musl and unknown platforms with a reason', () => {
    const musl = findNative(host({ glibc: () => undefined }));
    expect(musl).toMatchObject({ candidates: [{ reason: expect.stringContaining('musl') }] });
    const windows = findNative(host({ platform: 'win32' }));
    expect(windows).toMatchObject({ candidates: [{ source: 'win32-x64' }] });
  });
});

it('nativeStatus tells without throwing', () => {
  const status = nativeStatus();
  if (status.available) expect(['generic', 'avx2', 'avx512']).toContain(status.bestIsa);
  else expect(status.candidates.length).toBeGreaterThan(0);
});
