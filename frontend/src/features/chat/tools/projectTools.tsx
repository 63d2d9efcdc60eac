/** The renderers of the tools that conversations in a project have. */
import { onDemand } from '@/components/onDemand'
import { Pending } from '@/components/ui/Skeleton'
import type { Key, Translate } from '@/lib/i18n'
import type { Step } from '@/thread/model'
import { argumentsOf, commandsOf, dataOf, failedItems, fieldsIn, pathsOf, textIn } from './callData'
import { defaultTool, pathOrInput } from './defaultTool'
import type { ToolRenderer } from './renderer'

const Details = onDemand(() => import('./ProjectDetails'), Pending)

/** Names in one line; a command may have several lines. */
const listed = (names: readonly string[]): string => names.join(', ')

/** A call with several items; one with a path of its own is shown as before. */
const onFiles = (title: Key): ToolRenderer => ({
  title: (step, t) => {
    const { items, paths } = argumentsOf(step)
    return Array.isArray(items) || Array.isArray(paths) ? t(title, { n: pathsOf(step).length }) : null
  },
  summary: step => listed(pathsOf(step)) || pathOrInput(step),
  failed: failedItems,
  Details,
})

function bashTitle(step: Step, t: Translate): string | null {
  const given = argumentsOf(step)
  const job = textIn(given, 'job')
  if (job !== null) return t(given.stop === true ? 'callStops' : 'callLooks', { job })
  const n = commandsOf(step).length
  return n > 0 ? t(given.background === true ? 'callRunsBehind' : 'callRuns', { n }) : null
}

/** A call that looks at a job, or stops it, names it too. */
const startedJob = (step: Step): string | null =>
  argumentsOf(step).background === true && step.status === 'done' ? textIn(dataOf(step), 'job') : null

const about = (title: (step: Step, t: Translate) => string | null, rest: string[] = []): ToolRenderer => ({
  ...defaultTool,
  title,
  summary: step => listed(rest.flatMap(name => textIn(argumentsOf(step), name) ?? [])),
})

function todoTitle(step: Step, t: Translate): string | null {
  const { titles } = argumentsOf(step)
  return Array.isArray(titles) ? t('callTodo', { n: titles.length }) : null
}

/** The titles of the tasks, which the result tells; until then their ids. */
function doneSummary(step: Step): string {
  const results = fieldsIn(dataOf(step).operation_results)
  const titles = results.flatMap(result => textIn(result, 'title') ?? [])
  const { item_ids: ids } = argumentsOf(step)
  return listed(titles.length > 0 ? titles : Array.isArray(ids) ? ids.map(String) : [])
}

export const PROJECT_TOOLS: readonly (readonly [string, ToolRenderer])[] = [
  ['create_file', onFiles('callCreates')],
  ['delete_file', onFiles('callDeletes')],
  ['move_file', onFiles('callMoves')],
  ['read_file', onFiles('callReads')],
  ['edit_file', { ...defaultTool, failed: failedItems }],
  [
    'bash',
    {
      title: bashTitle,
      summary: step => commandsOf(step).join(' ; '),
      failed: failedItems,
      job: startedJob,
      Details,
    },
  ],
  [
    'list_files',
    about((step, t) => t('callLists', { path: textIn(argumentsOf(step), 'path') || '/' }), ['glob']),
  ],
  [
    'search_files',
    about(
      (step, t) => {
        const pattern = textIn(argumentsOf(step), 'pattern')
        return pattern === null ? null : t('callSearches', { pattern })
      },
      ['path', 'glob'],
    ),
  ],
  ['sql', { ...defaultTool, summary: step => textIn(argumentsOf(step), 'sql') ?? step.input }],
  [
    'create_todolist',
    { ...defaultTool, title: todoTitle, summary: step => textIn(argumentsOf(step), 'name') ?? '' },
  ],
  [
    'done_todo',
    {
      ...defaultTool,
      title: (step, t) => {
        const { item_ids: ids } = argumentsOf(step)
        return Array.isArray(ids) ? t('callDone', { n: ids.length }) : null
      },
      summary: doneSummary,
      failed: failedItems,
    },
  ],
]
