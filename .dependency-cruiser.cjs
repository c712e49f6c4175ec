// The import rules of docs/structure.md, as a check: a strict DAG, no deep imports, no cycles.
const allowed = {
  tokenizer: [],
  quantization: [],
  'kv-cache': [],
  kernels: [],
  'mini-model': [],
  graph: ['kernels', 'quantization'],
  scheduler: ['kv-cache'],
  'model-files': ['quantization'],
  models: ['graph', 'model-files'],
  engine: ['tokenizer', 'quantization', 'kv-cache', 'scheduler', 'kernels', 'graph', 'model-files', 'models'],
  cli: ['engine', 'tokenizer', 'model-files', 'mini-model', 'server'],
};
const serverAllowed = ['engine', 'tokenizer', 'mini-model'];
const names = Object.keys(allowed);

const upward = names.map((name) => ({
  name: `imports-of-${name}`,
  severity: 'error',
  comment: `@dsi/${name} may import only: ${allowed[name].join(', ') || 'nothing of ours'}`,
  from: { path: `^packages/${name}/(src|test)/` },
  to: {
    path: `^(packages/(${names.filter((n) => n !== name && !allowed[name].includes(n)).join('|')})|apps/(${allowed[name].includes('server') ? 'none' : 'server'}))/`,
  },
}));

module.exports = {
  forbidden: [
    ...upward,
    {
      name: 'imports-of-server',
      severity: 'error',
      from: { path: '^apps/server/' },
      to: { path: `^packages/(${names.filter((n) => !serverAllowed.includes(n)).join('|')})/` },
    },
    {
      name: 'no-deep-imports',
      severity: 'error',
      comment: 'Another package is imported through its entry points only.',
      from: { path: '^(packages|apps)/([^/]+)/' },
      to: {
        path: '^(packages|apps)/[^/]+/src/',
        pathNot: '^(packages|apps)/($2/|[^/]+/src/(index|node|testing|testing/index)\\.ts$)',
      },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'tokenizer-browser-safe',
      severity: 'error',
      comment: 'Node built-ins only in the file-loading entry point.',
      from: { path: '^packages/tokenizer/src/', pathNot: '(node\\.ts|\\.test\\.ts)$' },
      to: { dependencyTypes: ['core'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(/dist/|^packages/[^/]+/build/|node_modules/(?!@dsi))' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@dsi/source', 'import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
};
