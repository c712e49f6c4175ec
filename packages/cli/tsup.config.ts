import { packageConfig } from '../../tsup.base.js';

// A command, not a library: ESM only (top-level await).
export default packageConfig(['src/main.ts'], ['esm']);
