// The content of the measured pages: long conversations, and an answer with every kind of Markdown in two languages.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export const MESSAGES = 500
/** Part of the last message of every long conversation. */
export const LAST = 'The very last line.'

const SECTION = `## What was found

The notes name **three** places where the cost can be cut, and \`memory/budget.md\` says *why* each of them is there.
上周的会议记录里有三项未决事项：服务器续费、外包翻译的上限，以及十一月的差旅。

- the first point, with a [link](https://example.org/a) and \`code\`
- 第二点，说明原因和后果
  - a point below it
- [ ] something still to be done

| place | cost | 备注 |
|---|--:|---|
| server | 120 | 每年 |
| travel | 640 | November |

\`\`\`ts
export function total(rows: { cost: number }[]): number {
  // every row counts once
  return rows.reduce((sum, row) => sum + row.cost, 0)
}
\`\`\`

1. Look at the first row.
2. Compare it with last year; the difference should be below 10 %.

> 引用一句：先看数字，再下结论。

`

/** The section cut into tokens of four characters, to be repeated. */
export function pieces() {
  return SECTION.match(/.{1,4}/gsu)
}

const message = n =>
  n % 2 === 0
    ? { role: 'user', content: `Question ${n}: what do the notes say about the budget? 预算怎么样？` }
    : {
        role: 'assistant',
        content: `Answer ${n}. ${n % 10 === 1 ? SECTION : 'Three points are **open**. 三项未决。'}`,
      }

function conversation(title, updated) {
  const messages = Array.from({ length: MESSAGES }, (_, n) => ({
    ...message(n),
    id: `m${n}`,
    work_id: `w${n >> 1}`,
    created_at: 1.7e9 + n,
  }))
  messages[MESSAGES - 1].content = `Done. ${LAST}`
  return JSON.stringify({ title, created_at: 1.7e9, updated_at: updated, messages })
}

/** Writes long conversations into a home: `long-0` is the newest. Returns their titles. */
export async function fill(home, count) {
  const titles = Array.from({ length: count }, (_, n) => `Long ${n}`)
  const now = Date.now() / 1000
  await Promise.all(
    titles.map((title, n) => writeFile(join(home, `sessions/long-${n}.json`), conversation(title, now - n))),
  )
  return titles
}
