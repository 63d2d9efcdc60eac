/**
 * The nonce that the server wrote into the page; the content security policy requires it for run-time style sheets.
 */
export const cspNonce: string = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? ''
