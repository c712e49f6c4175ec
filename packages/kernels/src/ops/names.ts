/** Every op of a Program. Each has one declaration in this folder, one reference in @dsi/graph and one kernel a backend. */
export const opNames = [
  'embedding',
  'rms_norm',
  'add_rms_norm',
  'linear',
  'head_linear',
  'rope',
  'kv_write',
  'attention',
  'mla_attention',
  'silu_mul',
  'add',
  'sigmoid_mul',
  'slice',
  'gather_rows',
  'moe_route',
  'moe_mlp',
  'sample',
] as const;

export type OpName = (typeof opNames)[number];
