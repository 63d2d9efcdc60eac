import { RefreshCw } from 'lucide-react'
import { useState } from 'react'
import * as api from '@/api/git'
import { gitKey, useGitStatus } from '@/api/git'
import { refresh } from '@/api/queries'
import { Button, IconButton } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { ErrorText } from '@/components/ui/ErrorText'
import { QueryError } from '@/components/ui/QueryError'
import { Segmented } from '@/components/ui/Segmented'
import { Skeleton } from '@/components/ui/Skeleton'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { useWidth } from '@/lib/useMedia'
import { act } from './actions'
import { BranchMenu } from './BranchMenu'
import { ChangesPane } from './ChangesPane'
import { DiffPane } from './DiffPane'
import { History } from './History'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  projectId: string
  /** The conversation on the screen, if it works in the project. */
  sessionId: string | null
  /** The person may look, and change nothing. */
  readOnly: boolean
}

/** What is shown beside the list. */
type Shown =
  | { kind: 'file'; path: string; staged: boolean }
  | { kind: 'commit'; id: string; subject: string }
  | null

/** The repository of a project: its changes, its commits and its branches. */
export default function Git({ open, onOpenChange, projectId, sessionId, readOnly }: Props) {
  const t = useT()
  const narrow = useWidth() === 'narrow'
  const status = useGitStatus(projectId)
  const [view, setView] = useState<'changes' | 'history'>('changes')
  const [shown, setShown] = useState<Shown>(null)
  const views = [
    { value: 'changes', words: t('gitChanges') },
    { value: 'history', words: t('gitHistory') },
  ] as const
  const onBack = narrow ? () => setShown(null) : null
  const list = () => {
    if (status.error && !status.data) return <QueryError error={status.error} />
    if (!status.data) return <Skeleton label={t('loading')} rows={6} />
    if (!status.data.is_repository) return <NoRepository id={readOnly ? null : projectId} />
    return (
      <>
        <BranchMenu id={projectId} status={status.data} readOnly={readOnly} />
        <div className="flex items-center gap-1.5">
          <Segmented
            label={t('gitView')}
            value={view}
            options={views}
            onChange={view => {
              setView(view)
              setShown(null)
            }}
          />
          <IconButton
            label={t('gitRefresh')}
            size="fieldIcon"
            className="ms-auto"
            onClick={() => refresh(gitKey(projectId))}
          >
            <RefreshCw size={14} aria-hidden />
          </IconButton>
        </div>
        {/* It stays while something else is shown: it has a message that is not sent yet. */}
        <div className={view === 'changes' ? 'contents' : 'hidden'}>
          <ChangesPane
            id={projectId}
            status={status.data}
            sessionId={sessionId}
            readOnly={readOnly}
            current={shown?.kind === 'file' ? shown : null}
            onSelect={file => setShown(file && { kind: 'file', ...file })}
          />
        </div>
        {view === 'history' && (
          <History
            id={projectId}
            current={shown?.kind === 'commit' ? shown.id : null}
            onSelect={commit => setShown({ kind: 'commit', ...commit })}
          />
        )}
      </>
    )
  }
  return (
    <Dialog size="full" open={open} onOpenChange={onOpenChange} title={t('git')}>
      <div className="flex h-[64dvh] min-h-[280px] gap-4">
        <div
          className={cn(
            'min-h-0 w-full flex-col gap-2 md:w-80 md:shrink-0 lg:w-96',
            narrow && shown ? 'hidden' : 'flex',
          )}
        >
          {list()}
        </div>
        {shown?.kind === 'file' && (
          <DiffPane
            id={projectId}
            title={shown.path}
            wanted={{ path: shown.path, staged: shown.staged }}
            onBack={onBack}
          />
        )}
        {shown?.kind === 'commit' && (
          <DiffPane id={projectId} title={shown.subject} wanted={{ commit: shown.id }} onBack={onBack} />
        )}
        {!shown && !narrow && (
          <p className="m-auto text-[13px] text-fg-3">
            {t(view === 'changes' ? 'gitChooseFile' : 'gitChooseCommit')}
          </p>
        )}
      </div>
    </Dialog>
  )
}

/** A project that is no repository yet. `id` is null for those who may not make it one. */
function NoRepository({ id }: { id: string | null }) {
  const t = useT()
  const [problem, setProblem] = useState<string | null>(null)
  return (
    <div className="space-y-2 py-3 text-[13px] text-fg-2">
      <p>{t('gitNone')}</p>
      {id !== null && (
        <Button look="solid" onClick={() => void act(id, () => api.init(id)).then(setProblem)}>
          {t('gitInit')}
        </Button>
      )}
      {problem && <ErrorText>{problem}</ErrorText>}
    </div>
  )
}
