import { packageConfig } from '../../tsup.base.js';

// The worker is an entry of its own: start-engine.ts finds it beside itself, from the ESM and the CJS build alike.
export default packageConfig(['src/index.ts', 'src/worker.ts']);
