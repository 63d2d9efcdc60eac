// Figures with their limits, printed and, for `make bench`, written to a file.
import { writeFile } from 'node:fs/promises'

export class Figures {
  #list = []

  /** `limit` is `{atMost}` or `{atLeast}`; `watched` figures are only printed and never fail. */
  add(name, value, unit, { atMost, atLeast, note = '', watched = false } = {}) {
    const good = Number.isFinite(value) && value <= (atMost ?? value) && value >= (atLeast ?? value)
    this.#list.push({ name, value, unit, at_most: atMost, at_least: atLeast, note, good: good || watched })
    const bound = atMost === undefined ? (atLeast === undefined ? '' : `≥ ${atLeast}`) : `≤ ${atMost}`
    const verdict = good ? 'ok  ' : watched ? 'over' : 'MISS'
    const text = `${round(value)} ${unit}`
    console.log(`${verdict} ${name.padEnd(62)} ${text.padStart(12)} ${bound.padEnd(9)} ${note}`)
    return good
  }

  missed() {
    return this.#list.filter(figure => !figure.good).map(figure => figure.name)
  }

  write(path) {
    const figures = this.#list.map(({ good: _, ...figure }) => figure)
    return writeFile(path, `${JSON.stringify(figures, null, 2)}\n`)
  }
}

export const round = value => (Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)))
