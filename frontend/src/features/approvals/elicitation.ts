/** The values of a form that an MCP server asks a person to fill in, and what does not fit. The server checks them again. */
import type { FormField } from '@/api/types'
import type { Translate } from '@/lib/i18n'
import '@/lib/later'

/** A text of an input, a yes or no, or the chosen options. */
export type Entered = string | boolean | readonly string[]
export type Values = Readonly<Record<string, Entered>>

export const initialOf = (fields: readonly FormField[]): Values =>
  Object.fromEntries(fields.map(field => [field.name, startOf(field)]))

function startOf(field: FormField): Entered {
  switch (field.type) {
    case 'boolean':
      return field.default
    case 'choices':
      return field.default ?? []
    case 'number':
      return field.default == null ? '' : String(field.default)
    case 'text':
      return field.default && field.format === 'date-time' ? localOf(field.default) : (field.default ?? '')
    case 'choice':
      return field.default ?? ''
  }
}

/** The local time of an instant, as an input of the browser has it. */
function localOf(instant: string): string {
  const at = new Date(instant)
  if (Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** Characters as the server counts them. */
const lengthOf = (text: string): number => [...text].length

/** Why a value does not fit; null if it does. */
export function problemOf(field: FormField, value: Entered, t: Translate): string | null {
  if (typeof value === 'boolean') return null
  if (value.length === 0 && field.type !== 'choices') return field.required ? t('elicitRequired') : null
  switch (field.type) {
    case 'choices': {
      const [least, most, n] = [
        field.min_items ?? 0,
        field.max_items ?? Number.POSITIVE_INFINITY,
        value.length,
      ]
      if (n === 0 && !field.required) return null
      if (n < Math.max(least, field.required ? 1 : 0)) return t('elicitFew', { n: Math.max(least, 1) })
      return n > most ? t('elicitMany', { n: most }) : null
    }
    case 'number':
      return problemOfNumber(field, Number(value), t)
    case 'text':
      return typeof value === 'string' ? problemOfText(field, value, t) : null
    default:
      return null
  }
}

function problemOfNumber(field: FormField & { type: 'number' }, value: number, t: Translate): string | null {
  if (!Number.isFinite(value)) return t('elicitNumber')
  if (field.whole && !Number.isInteger(value)) return t('elicitWhole')
  if (field.minimum != null && value < field.minimum)
    return t('elicitSmall', { limit: String(field.minimum) })
  return field.maximum != null && value > field.maximum
    ? t('elicitLarge', { limit: String(field.maximum) })
    : null
}

function problemOfText(field: FormField & { type: 'text' }, value: string, t: Translate): string | null {
  const n = lengthOf(value)
  if (field.min_length != null && n < field.min_length) return t('elicitShort', { n: field.min_length })
  if (field.max_length != null && n > field.max_length) return t('elicitLong', { n: field.max_length })
  if (field.format === 'email' && !/^[^\s@]+@[^\s@]+$/.test(value)) return t('elicitEmail')
  if (field.format === 'uri' && !URL.canParse(value)) return t('elicitUri')
  if (!Number.isNaN(new Date(value).getTime())) return null
  if (field.format === 'date-time') return t('elicitDateTime')
  return field.format === 'date' ? t('elicitDate') : null
}

/** What the server gets: fields that are not required and have no value are left out. */
export function contentOf(fields: readonly FormField[], values: Values): Record<string, unknown> {
  const content: Record<string, unknown> = {}
  for (const field of fields) {
    const value = values[field.name] ?? ''
    if (typeof value !== 'boolean' && value.length === 0) continue
    if (field.type === 'number') content[field.name] = Number(value)
    else if (field.type === 'text' && field.format === 'date-time')
      content[field.name] = new Date(String(value)).toISOString()
    else content[field.name] = value
  }
  return content
}

/** An address in three parts, so that its host stands out. */
export function addressParts(url: string, host: string): [before: string, host: string, after: string] {
  // The host begins after the scheme, which may contain the same letters.
  const at = url.indexOf(host, url.indexOf('://') + 3)
  return at < 0 ? [url, '', ''] : [url.slice(0, at), host, url.slice(at + host.length)]
}
