import { packageConfig } from '../../tsup.base.js';

export default { ...packageConfig(['src/index.ts']), entry: { index: 'src/index.ts', testing: 'src/testing/index.ts' } };
