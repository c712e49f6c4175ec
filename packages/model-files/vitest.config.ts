import { unitProject } from '../../vitest.base.js';

export default unitProject('model-files');
