import { unitProject } from '../../vitest.base.js';

export default unitProject('server');
