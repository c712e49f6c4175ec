import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createReferenceBackend } from '@dsi/graph';
import { convertToGguf, openModel } from '@dsi/model-files';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModel, buildMtp, loadModelDefinition, SequenceRunner, type BuiltModel } from '../src/index.js';
import { fixtureNames, openFixture, type FixturePrompt, type OpenFixture } from './fixture.js';

const options = { numerics: 'exact', maxDims: { T: 300, S: 1, R: 300, B: 32 }, blockSize: 16 } as const;

/**
 * Fixtures that the converter does not take (experts fused in one tensor, a rotary share inside rope_parameters) or GGUF cannot say
 * (dynamic scaling, windows of these architectures, dense layers among sparse ones, unequal mscales).
 */
const unsayable = ['qwen3_moe', 'phi3', 'llama_dynamic', 'mistral', 'qwen2', 'qwen2_moe', 'deepseek_v2_lite'];
const names = fixtureNames.filter((n) => !n.startsWith('gguf_') && !unsayable.includes(n));

function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Array.from(a, (v, i) => Math.abs(v - (b[i] as number))).reduce((x, y) => Math.max(x, y), 0);
}

async function firstLogits(model: BuiltModel, ids: readonly number[]): Promise<Float32Array> {
  const runner = await SequenceRunner.create(model, createReferenceBackend());
  const logits = await runner.prefill(runner.open(), ids);
  runner.dispose();
  return logits;
}

describe.each(names)('%s converted to GGUF', (name) => {
  let fixture: OpenFixture;
  let folder: string;
  beforeAll(async () => {
    fixture = await openFixture(name);
    folder = mkdtempSync(join(tmpdir(), 'dsi-gguf-'));
  });
  afterAll(async () => {
    await fixture.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is the same model', async () => {
    const path = join(folder, 'model.gguf');
    await convertToGguf(fixture.files.path, path, { types: () => 'F32' });
    const files = await openModel(path);
    const prompt = fixture.record.prompts[1] as FixturePrompt;
    const definition = loadModelDefinition(files);
    const { scaling } = definition.config.rope;
    const short = scaling.type === 'longrope' && { maxSequenceLength: scaling.originalMaxPositions };
    const logits = await firstLogits(buildModel(definition, { ...options, ...short }), prompt.ids);
    expect(largestDifference(prompt.logits, logits)).toBeLessThan(1e-3);
    await files.close();
  });

  it.runIf(name === 'deepseek_v3')('keeps its multi-token-prediction module inside and beside the file', async () => {
    const whole = join(folder, 'whole.gguf');
    const main = join(folder, 'main.gguf');
    await convertToGguf(fixture.files.path, whole, { types: () => 'BF16', mtp: 'include' });
    const { mtpPath } = await convertToGguf(fixture.files.path, main, { types: () => 'BF16', mtp: 'sidecar' });
    const inside = loadModelDefinition(await openModel(whole));
    const beside = loadModelDefinition(await openModel(main));
    const sidecar = loadModelDefinition(await openModel(mtpPath as string));
    const { mtp } = fixture.record;
    if (mtp === undefined) throw new Error('the fixture has no mtp reference');
    const withStates = { ...options, hiddenStates: true } as const;
    const trunk = await SequenceRunner.create(buildModel(beside, withStates), createReferenceBackend());
    const [states] = await trunk.step([{ sequence: trunk.open(), tokens: mtp.ids }]);
    const width = beside.config.hiddenSize;
    const hidden = states?.hidden?.subarray(0, (mtp.ids.length - 1) * width) as Float32Array;
    for (const module of [buildMtp(inside, options), buildMtp(beside, { ...options, sidecar })]) {
      const draft = await SequenceRunner.create(module, createReferenceBackend());
      const [result] = await draft.step([{ sequence: draft.open(), tokens: mtp.ids.slice(1), hidden }]);
      expect(largestDifference(mtp.last_logits, result?.logits as Float32Array)).toBeLessThan(1e-3);
      draft.dispose();
    }
    trunk.dispose();
  });
});
