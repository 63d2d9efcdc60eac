import { ChevronsUpDown, GitBranch, Plus } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import type { GitStatus } from '@/api/git'
import * as api from '@/api/git'
import { useGitBranches } from '@/api/git'
import { Button, IconButton } from '@/components/ui/Button'
import { ChoiceList } from '@/components/ui/ChoiceList'
import { ErrorText } from '@/components/ui/ErrorText'
import { Input } from '@/components/ui/Input'
import { Menu } from '@/components/ui/Menu'
import { count } from '@/lib/format'
import { useT } from '@/lib/i18n'
import { act, switchTo } from './actions'

interface Props {
  id: string
  status: GitStatus
  /** The branch is shown, and not switched. */
  readOnly: boolean
}

/** The current branch, the others to switch to, and a form for a new one. */
export function BranchMenu({ id, status, readOnly }: Props) {
  const t = useT()
  const [name, setName] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const shown =
    status.branch ?? (status.head ? t('gitDetached', { id: status.head.slice(0, 7) }) : t('gitNoBranch'))
  const create = async (event: FormEvent) => {
    event.preventDefault()
    const wanted = name?.trim() ?? ''
    if (wanted === '') return
    const failed = await act(id, () => api.createBranch(id, wanted))
    setProblem(failed)
    if (failed === null) setName(null)
  }
  const trigger = (
    <Button
      size="small"
      disabled={readOnly}
      className="min-w-0 flex-1 shrink! justify-start"
      aria-label={t('gitBranchIs', { name: shown })}
      title={shown}
    >
      <GitBranch size={14} aria-hidden className="shrink-0" />
      <span className="min-w-0 flex-1 truncate text-start">{shown}</span>
      {(status.ahead > 0 || status.behind > 0) && (
        <span
          className="shrink-0 text-fg-3 text-meta tabular-nums"
          title={t('gitAheadBehind', {
            ahead: count(status.ahead),
            behind: count(status.behind),
            upstream: status.upstream ?? '',
          })}
        >
          ↑{status.ahead} ↓{status.behind}
        </span>
      )}
      <ChevronsUpDown size={13} aria-hidden className="shrink-0 text-fg-3" />
    </Button>
  )
  return (
    <div className="shrink-0 space-y-1.5">
      <div className="flex items-center gap-1.5">
        <Menu trigger={trigger} align="start" opens="listbox">
          <Branches id={id} current={status.branch ?? null} onProblem={setProblem} />
        </Menu>
        {!readOnly && (
          <IconButton
            label={t('gitNewBranch')}
            size="fieldIcon"
            aria-expanded={name !== null}
            onClick={() => setName(name === null ? '' : null)}
          >
            <Plus size={15} aria-hidden />
          </IconButton>
        )}
      </div>
      {name !== null && (
        <form onSubmit={event => void create(event)} className="flex gap-1.5">
          <Input
            autoFocus
            size="small"
            aria-label={t('gitBranchName')}
            placeholder={t('gitBranchName')}
            value={name}
            onChange={event => setName(event.target.value)}
          />
          <Button type="submit" size="small" disabled={name.trim() === ''}>
            {t('gitCreateBranch')}
          </Button>
        </form>
      )}
      {problem && <ErrorText>{problem}</ErrorText>}
    </div>
  )
}

interface BranchesProps {
  id: string
  current: string | null
  onProblem: (problem: string | null) => void
}

function Branches({ id, current, onProblem }: BranchesProps) {
  const t = useT()
  const branches = useGitBranches(id, true).data ?? []
  const choices = branches.map(({ name, subject }) => ({
    value: name,
    words: name,
    hint: subject,
    icon: GitBranch,
  }))
  return (
    <ChoiceList
      // The list looks for its first row when it appears.
      key={choices.length}
      label={t('gitBranches')}
      filter={t('gitBranchesFilter')}
      choices={choices}
      value={current}
      onChoose={name => name !== null && name !== current && void switchTo(id, name).then(onProblem)}
    />
  )
}
