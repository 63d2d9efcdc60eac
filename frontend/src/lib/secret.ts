const find = (page: Document): string =>
  page.querySelector<HTMLMetaElement>('meta[name="miniclaw-secret"]')?.content ?? ''

let known: string | null = null

/**
 * The secret that proves to the server that an answer comes from its page: tools can reach neither the page nor this.
 */
export const pageSecret = (): string => {
  known ??= find(document)
  return known
}

/**
 * Takes the secret from a page that was just fetched: a restarted server has a new one, and a browser gets one only
 * after it has signed in.
 */
export const renewSecret = (html: string): void => {
  known = find(new DOMParser().parseFromString(html, 'text/html'))
}
