const find = (page: Document): string =>
  page.querySelector<HTMLMetaElement>('meta[name="miniclaw-secret"]')?.content ?? ''

let known: string | null = null

/** Proves to the server that an answer comes from its page: tools can reach neither the page nor this. */
export const pageSecret = (): string => {
  known ??= find(document)
  return known
}

/** Takes the secret of the page as the server gives it now: another one since it was started anew, one at all since this
 *  browser has signed in. */
export const renewSecret = (html: string): void => {
  known = find(new DOMParser().parseFromString(html, 'text/html'))
}
