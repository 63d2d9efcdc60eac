/** The arguments of a call as fields that a person can edit: strings as they are, everything else as JSON. */

export interface Field {
  name: string
  text: string
  json: boolean
}

/** If the arguments are not an object, one field without a name contains all of them. */
export function fieldsOf(args: unknown): Field[] {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    return [{ name: '', text: JSON.stringify(args, null, 2) ?? 'null', json: true }]
  }
  return Object.entries(args).map(([name, value]) =>
    typeof value === 'string'
      ? { name, text: value, json: false }
      : { name, text: JSON.stringify(value, null, 2) ?? 'null', json: true },
  )
}

/** Returns null if a field is not valid JSON. */
export function argumentsOf(fields: readonly Field[]): { value: unknown } | null {
  try {
    const values = fields.map(({ name, text, json }) => [name, json ? JSON.parse(text) : text] as const)
    const [only] = values
    return { value: values.length === 1 && only?.[0] === '' ? only[1] : Object.fromEntries(values) }
  } catch {
    return null
  }
}
