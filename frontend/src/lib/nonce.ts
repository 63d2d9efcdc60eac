/** The nonce that the server wrote into the page; run-time style sheets need it under the content security policy. */
export const cspNonce: string = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? ''
