/** Proves to the server that an answer comes from its page: tools can reach neither the page nor this. */
export const pageSecret = (): string =>
  document.querySelector<HTMLMetaElement>('meta[name="miniclaw-secret"]')?.content ?? ''
