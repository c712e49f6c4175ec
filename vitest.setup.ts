import fc from 'fast-check';

// In CI every run checks the same random cases, so that a red build is about the change; elsewhere each run draws new ones.
if (process.env.CI) fc.configureGlobal({ seed: 20_260_901 });
