/** Builds the small demo model's program and gets its weights, where miniclaw's sources are. */
export const DEMO = 'make model'
