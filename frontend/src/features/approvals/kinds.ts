/** What a pending call is: its heading, its icon, and the language of what it would run. */
import { Code, FilePen, FilePlus, Globe, type LucideIcon, SquareTerminal, Trash2, Wrench } from 'lucide-react'
import type { Approval } from '@/api/types'
import type { Translate } from '@/lib/i18n'
import '@/lib/later'

interface CallKind {
  title: string
  icon: LucideIcon
  /** As the highlighter names it; empty for text. */
  language: string
}

export function kindOf({ tool, effect, shown }: Approval, t: Translate): CallKind {
  const { path } = shown
  if (tool === 'terminal') return { title: t('approvalRun'), icon: SquareTerminal, language: 'bash' }
  if (tool === 'python_repl') return { title: t('approvalPython'), icon: Code, language: 'python' }
  if (tool === 'fetch_url') return { title: t('approvalFetch'), icon: Globe, language: '' }
  if (tool === 'read_file') return { title: t('approvalRead'), icon: Wrench, language: '' }
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

export const isDeletion = ({ tool }: Pick<Approval, 'tool'>): boolean => tool === 'delete_file'

/** Whether a diff has only additions. */
const isCreation = (diff: string | null | undefined): boolean =>
  !!diff && !diff.split('\n').some(line => line.startsWith('-') && !line.startsWith('---'))
