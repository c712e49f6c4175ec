import { expect, it } from 'vitest';
import { availableCores } from './threads.js';

const files = (map: Readonly<Record<string, string>>) => (file: string) => map[file];

it('takes the affinity mask where no cgroup limits', () => {
  expect(availableCores(files({}), 6)).toBe(6);
  expect(availableCores(files({ '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': 'max 100000\n' }), 6)).toBe(6);
});

it('takes the smallest grant of the cgroup and its parents, rounded up', () => {
  const tree = {
    '/proc/self/cgroup': '0::/kubepods/pod1\n',
    '/sys/fs/cgroup/kubepods/pod1/cpu.max': 'max 100000\n',
    '/sys/fs/cgroup/kubepods/cpu.max': '250000 100000\n',
  };
  expect(availableCores(files(tree), 16)).toBe(3);
  expect(availableCores(files(tree), 2)).toBe(2);
  expect(availableCores(files({ ...tree, '/sys/fs/cgroup/cpu.max': '50000 100000' }), 16)).toBe(1);
});

it('reads cgroup v1 quotas', () => {
  const v1 = {
    '/proc/self/cgroup': '5:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n',
    '/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us': '400000\n',
    '/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us': '100000\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
  };
  expect(availableCores(files(v1), 16)).toBe(4);
});
