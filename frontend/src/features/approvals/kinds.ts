/** What a pending call is: its heading, its icon, and the language of what it would run. */
import {
  Code,
  FileInput,
  FilePen,
  FilePlus,
  Globe,
  type LucideIcon,
  MessageCircleQuestion,
  SquareTerminal,
  Trash2,
  Wrench,
} from 'lucide-react'
import type { Approval } from '@/api/types'
import { commandsOf } from '@/features/chat/tools/callData'
import type { Key, Translate } from '@/lib/i18n'
import '@/lib/later'
import { shownPath } from '@/lib/roots'

interface CallKind {
  title: string
  icon: LucideIcon
  /** As the highlighter names it; empty for text. */
  language: string
}

export function kindOf(approval: Approval, t: Translate): CallKind {
  const { tool, effect, shown } = approval
  const path = shown.path && shownPath(shown.path)
  const n = linesOf(shown.command)
  if (shown.elicitation)
    return {
      title: t('elicitTitle', { server: shown.elicitation.server }),
      icon: MessageCircleQuestion,
      language: '',
    }
  if (tool === 'bash') {
    const commands = commandsOf(approval).length || 1
    return { title: t('callRuns', { n: commands }), icon: SquareTerminal, language: 'bash' }
  }
  if (tool === 'terminal') return { title: t('approvalRun'), icon: SquareTerminal, language: 'bash' }
  if (tool === 'python_repl') return { title: t('approvalPython'), icon: Code, language: 'python' }
  if (tool === 'fetch_url') return { title: t('approvalFetch'), icon: Globe, language: '' }
  if (tool === 'read_file') return { title: t('approvalRead'), icon: Wrench, language: '' }
  const several = path ? undefined : SEVERAL[tool]
  if (several && shown.diff != null) return { ...several, title: t(several.title, { n }), language: '' }
  if (path && isDeletion({ tool }))
    return { title: t('approvalDelete', { path }), icon: Trash2, language: '' }
  if (path) {
    const isNew = !shown.before && isCreation(shown.diff)
    return isNew
      ? { title: t('approvalCreate', { path }), icon: FilePlus, language: '' }
      : { title: t('approvalWrite', { path }), icon: FilePen, language: '' }
  }
  if (effect === 'execute') return { title: t('approvalCode'), icon: Code, language: '' }
  if (effect === 'network') return { title: t('approvalNetwork'), icon: Globe, language: '' }
  return { title: t('approvalUse', { tool }), icon: Wrench, language: '' }
}

/** Calls that change several files at once: without one path, and with a line for each item. */
const SEVERAL: Partial<Record<string, { title: Key; icon: LucideIcon }>> = {
  create_file: { title: 'callCreates', icon: FilePlus },
  edit_file: { title: 'approvalChanges', icon: FilePen },
  move_file: { title: 'callMoves', icon: FileInput },
  delete_file: { title: 'callDeletes', icon: Trash2 },
}

const linesOf = (command: string | undefined): number => command?.split('\n').length ?? 0

export const isDeletion = ({ tool }: Pick<Approval, 'tool'>): boolean => tool === 'delete_file'

/** Whether a diff has only additions. */
const isCreation = (diff: string | null | undefined): boolean =>
  !!diff && !diff.split('\n').some(line => line.startsWith('-') && !line.startsWith('---'))
