/** Writes numbers in the way of a language, without `Intl`, which takes 70 ms to start on a slow machine. */

export interface Separators {
  /** Between groups of three digits. */
  thousands: string
  decimal: string
}

/** A number in words of its own, such as `≈ 1.2k`; a plural form follows the number. */
export interface WrittenNumber {
  n: number
  text: string
}

/** With exactly `digits` decimals, or as many as the number has. */
export function writeNumber(n: number, { thousands, decimal }: Separators, digits?: number): string {
  const [whole = '', part] = (digits === undefined ? String(n) : n.toFixed(digits)).split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, thousands)
  return part === undefined ? grouped : `${grouped}${decimal}${part}`
}
