/** Chooses the form of a text for a number, by the rules of the language (CLDR plural categories). */

const CATEGORIES: readonly Intl.LDMLPluralRule[] = ['zero', 'one', 'two', 'few', 'many', 'other']

/**
 * `{n|file|files}`: one form for each category that the language has, in the order above. A form may have
 * placeholders.
 */
const FORMS = /\{(\w+)((?:\|(?:[^{}|]|\{\w+\})*)+)\}/g

const known = new Map<string, { rules: Intl.PluralRules; categories: Intl.LDMLPluralRule[] }>()

function rulesOf(tag: string) {
  const found = known.get(tag)
  if (found) return found
  const rules = new Intl.PluralRules(tag)
  const { pluralCategories } = rules.resolvedOptions()
  const made = { rules, categories: CATEGORIES.filter(category => pluralCategories.includes(category)) }
  known.set(tag, made)
  return made
}

/** Chooses all forms in a text; `numberOf` returns the number of a placeholder, NaN if it is filled with a text. */
export function choosePlurals(text: string, tag: string, numberOf: (name: string) => number): string {
  return text.replace(FORMS, (_, name: string, list: string) => {
    const forms = list.slice(1).split('|')
    const { rules, categories } = rulesOf(tag)
    return forms[categories.indexOf(rules.select(numberOf(name)))] ?? forms.at(-1) ?? ''
  })
}
