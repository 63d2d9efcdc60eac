/** What a chain of calls did, in words: “Read 3 files, ran 2 commands”. */
import type { Key, Translate } from '@/lib/i18n'
import type { Step } from '@/thread/model'
import { commandsOf, pathsOf } from './tools/callData'

const WORDS: Readonly<Record<string, Key>> = {
  read_file: 'didRead',
  edit_file: 'didChange',
  create_file: 'didChange',
  delete_file: 'didDelete',
  move_file: 'didMove',
  terminal: 'didRun',
  bash: 'didRun',
  python_repl: 'didPython',
  fetch_url: 'didFetch',
  search_memory: 'didSearch',
  search_knowledge_base: 'didSearch',
  list_files: 'didList',
  search_files: 'didSearch',
  create_todolist: 'didTodo',
  done_todo: 'didTodo',
}

/** What a call counts as: each file, so that several calls on it count once, or each command, or the call. */
function subjects(step: Step): readonly string[] {
  const paths = pathsOf(step)
  if (paths.length > 0) return paths
  const commands = commandsOf(step)
  return commands.length > 0 ? commands.map((_, i) => `${step.id}:${i}`) : [step.id]
}

/** Null if no call ran. Calls that failed did not do what their words say. */
export function chainWords(steps: readonly Step[], t: Translate): string | null {
  const groups = new Map<string, Set<string>>()
  for (const step of steps) {
    if (step.status !== 'done') continue
    const key = (Object.hasOwn(WORDS, step.tool) && WORDS[step.tool]) || step.tool
    groups.set(key, new Set([...(groups.get(key) ?? []), ...subjects(step)]))
  }
  const parts = [...groups].map(([key, all]) =>
    Object.values(WORDS).includes(key as Key)
      ? t(key as Key, { n: all.size })
      : t('didUse', { tool: key, n: all.size }),
  )
  const words = parts.join(t('didThen'))
  return words && words.charAt(0).toUpperCase() + words.slice(1)
}
