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
  ropeFactor: 1_000_000,
  mtpLayers: 16,
  eosTokens: 64,
} as const;
