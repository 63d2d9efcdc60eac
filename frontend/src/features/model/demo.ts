/** Builds the small demo model's program and downloads its weights, in a checkout of miniclaw's sources. */
export const DEMO = 'make model'
