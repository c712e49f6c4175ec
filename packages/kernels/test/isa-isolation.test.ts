import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const objects = fileURLToPath(new URL('../build/Release/obj/', import.meta.url));
const files = existsSync(objects) ? readdirSync(objects).filter((f) => /__(avx2|avx512)__.*\.o$/.test(f)) : [];
const usable = files.length > 0 && process.platform === 'linux' && existsSync('/usr/bin/nm');

/**
 * The linker keeps one of several weak definitions of a name. If that were the one compiled for AVX-512, the addon would crash on machines
 * without it: so the objects of an instruction set define no weak symbol at all.
 */
describe.skipIf(!usable)('objects of an instruction set', () => {
  it.each(files)('%s shares no code with others', (file) => {
    const symbols = execFileSync('nm', ['-C', '--defined-only', path.join(objects, file)], { encoding: 'utf8' });
    // DW.ref.*: a pointer that names the exception routine, the same bytes everywhere.
    const shared = symbols.split('\n').filter((line) => / [WVu] (?!DW\.ref\.)/.test(line));
    expect(shared).toEqual([]);
  });
});
