import type { GraphValue } from '@dsi/graph';
import type { MoeConfig } from '../config/model-config.js';
import { gatedMlp } from './gated-mlp.js';
import type { ModelBuilder } from './model-builder.js';

/** Routed experts, plus the shared MLP named `shared` where the model has one: x [T, D] -> [T, D]. */
export function moeMlp(m: ModelBuilder, x: GraphValue, at: string, shared: string): GraphValue {
  const moe = m.config.moe as MoeConfig;
  const routed = routedExperts(m, x, at, moe);
  if (moe.sharedIntermediateSize === 0) return routed;
  const always = gatedMlp(m, x, `${at}.${shared}`, moe.sharedIntermediateSize);
  if (!moe.sharedGate) return m.add(routed, always);
  const gate = m.linear(x, `${at}.shared_expert_gate`, 1, { f32: true });
  return m.add(routed, m.g.sigmoidMul(always, gate));
}

function routedExperts(m: ModelBuilder, x: GraphValue, at: string, moe: MoeConfig): GraphValue {
  const { experts, expertsPerToken, intermediateSize: inner, router } = moe;
  const width = m.config.hiddenSize;
  const logits = m.linear(x, `${at}.gate`, experts, { f32: true });
  const bias = router.correctionBias ? m.weight(`${at}.gate.e_score_correction_bias`, [experts]) : undefined;
  const routing = m.g.moeRoute(logits, bias, {
    scoring: router.scoring,
    topK: expertsPerToken,
    nGroup: router.groups,
    topkGroup: router.topkGroups,
    groupScore: router.groupScore,
    normalize: router.normalize,
    scale: router.scale,
  });
  return m.g.moeMlp(
    x,
    routing,
    m.experts(at, 'gate', [experts, inner, width]),
    m.experts(at, 'up', [experts, inner, width]),
    m.experts(at, 'down', [experts, width, inner]),
  );
}
