import { useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useApprovals, useArchived, usePinned, useSessionList, useSessions, useStatus } from '@/api/queries'
import { archive, pin, remove, rename, stop } from '@/app/threads'
import { onDemand } from '@/components/onDemand'
import { Pane } from '@/components/ui/Pane'
import { useRequestSize } from '@/features/context/useRequestSize'
import { useT } from '@/lib/i18n'
import { useAsked } from '@/lib/useAsked'
import { useConnection } from '@/stores/live'
import { useProject } from '@/stores/project'
import { useUi } from '@/stores/ui'
import { ArrangeMenu } from './ArrangeMenu'
import { ofProject } from './groups'
import type { Labels } from './labels'
import { moveInList } from './moveInList'
import { ProjectFilter } from './ProjectFilter'
import { SearchBox } from './SearchBox'
import { SessionList } from './SessionList'
import { SidebarActions } from './SidebarActions'
import { SidebarFooter } from './SidebarFooter'
import { SidebarHeader } from './SidebarHeader'
import { useBound } from './useBound'

const SearchResults = onDemand(() => import('./SearchResults'))

const NO_LABELS: Labels = {}
const NONE: never[] = []

interface Props {
  sessionId: string | null
}

export default function Sidebar({ sessionId }: Props) {
  const t = useT()
  const [, navigate] = useLocation()
  const view = useUi(s => s.view)
  const set = useUi(s => s.set)
  const sessions = useSessions()
  const project = useProject(s => s.id)
  const bound = useBound(project)
  const pinned = usePinned().data ?? NONE
  const labels = useSessionList().data?.labels ?? NO_LABELS
  const archived = useArchived().data ?? NONE
  const [query, setQuery] = useState('')
  const [composing, setComposing] = useState(false)
  const [choosing, setChoosing] = useState<readonly string[] | null>(null)
  const [asked] = useAsked(query, composing)
  const status = useStatus().data
  const size = useRequestSize(sessionId)
  const approvals = useApprovals().data
  const waiting = useMemo(() => new Set(approvals?.map(approval => approval.session_id)), [approvals])
  const connection = useConnection()
  const onDelete = async (id: string, title: string) => {
    if ((await remove(id, title)) && id === sessionId) navigate('/')
  }
  return (
    <Pane as="nav" id="pane-left" aria-label={t('sessions')} className="@container" onKeyDown={moveInList}>
      <SidebarHeader />
      <ProjectFilter />
      <SidebarActions
        onChoose={() => {
          setQuery('')
          setChoosing([])
        }}
      />
      <div className="mx-3 mt-2 flex items-center gap-1">
        <SearchBox query={query} onComposing={setComposing} onQuery={setQuery} />
        <ArrangeMenu />
      </div>
      <div className="scroll mt-1 min-h-0 flex-1 px-2 pb-2">
        {asked !== '' && query.trim() !== '' ? (
          <SearchResults query={asked} onOpen={() => set({ pane: 'chat', view: 'chat' })} />
        ) : (
          <SessionList
            sessions={ofProject(sessions.data, project, bound.data)}
            error={sessions.error ?? bound.error}
            waiting={waiting}
            current={sessionId}
            onOpen={() => set({ pane: 'chat' })}
            onRename={(session, title) => void rename(session.id, title)}
            onDelete={session => void onDelete(session.id, session.title || session.begins || t('untitled'))}
            kept={{ pinned, archived, labels }}
            onPin={(session, on) => void pin(session.id, on)}
            choosing={choosing}
            onChoosing={ids => {
              setChoosing(ids)
              // After the selection mode, the focus stays in the session list.
              if (ids === null) document.getElementById('pane-left')?.focus()
            }}
            onArchive={(session, on) =>
              void archive(session.id, session.title || session.begins || t('untitled'), on)
            }
            onStop={session => void stop(session.id)}
          />
        )}
      </div>
      <SidebarFooter
        status={status}
        size={size}
        connection={connection}
        raw={
          sessionId
            ? {
                shown: view === 'raw',
                toggle: () => set({ view: view === 'raw' ? 'chat' : 'raw', pane: 'chat' }),
              }
            : null
        }
      />
    </Pane>
  )
}
