/** Upper limits of configuration values: several times above any published model, low enough that products stay exact integers. */
export const limits = {
  hiddenSize: 262_144,
  layers: 1_024,
  heads: 4_096,
  headDim: 16_384,
  intermediateSize: 4_194_304,
  vocabSize: 16_777_216,
  positions: 268_435_456,
  experts: 65_536,
  rank: 262_144,
  groups: 4_096,
  mtpLayers: 16,
  eosTokens: 64,
} as const;

/** Factors of RoPE scalings: far beyond published ones on both sides, never so small or large that frequencies leave f32. */
export const ropeFactorRange = { min: 1e-3, max: 1e6 } as const;

/** The base of RoPE's frequencies; its logarithm divides in YaRN. */
export const ropeThetaRange = { above: 1, max: 1e15 } as const;
