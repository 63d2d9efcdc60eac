/** What a chain of calls did, in words: “Read 3 files, ran 2 commands”. */
import type { Key, Translate } from '@/lib/i18n'
import type { Step } from '@/thread/model'

const WORDS: Readonly<Record<string, Key>> = {
  read_file: 'didRead',
  edit_file: 'didChange',
  create_file: 'didChange',
  delete_file: 'didDelete',
  terminal: 'didRun',
  python_repl: 'didPython',
  fetch_url: 'didFetch',
  search_memory: 'didSearch',
  search_knowledge_base: 'didSearch',
}

/** Calls that count once: those on the same file. */
function subject({ id, arguments: given }: Step): unknown {
  return typeof given === 'object' && given !== null && 'path' in given ? given.path : id
}

/** Null if no call ran. Calls that failed did not do what their words say. */
export function chainWords(steps: readonly Step[], t: Translate): string | null {
  const groups = new Map<string, Set<unknown>>()
  for (const step of steps) {
    if (step.status !== 'done') continue
    const key = (Object.hasOwn(WORDS, step.tool) && WORDS[step.tool]) || step.tool
    groups.set(key, (groups.get(key) ?? new Set()).add(subject(step)))
  }
  const parts = [...groups].map(([key, all]) =>
    Object.values(WORDS).includes(key as Key)
      ? t(key as Key, { n: all.size })
      : t('didUse', { tool: key, n: all.size }),
  )
  const words = parts.join(t('didThen'))
  return words && words.charAt(0).toUpperCase() + words.slice(1)
}
