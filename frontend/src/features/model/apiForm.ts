const FORMS = ['openai', 'responses', 'anthropic'] as const

/** An API in which a provider can be asked. */
export type ApiForm = (typeof FORMS)[number]

/** The API with this name in the server's words; null for none. */
export const apiForm = (name: string | null | undefined): ApiForm | null =>
  FORMS.find(known => known === name) ?? null
