import { Ellipsis, FileUp, Languages, ListChecks, MessageSquarePlus, Search, Trash2 } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { useApprovals, useArchived, usePinned, useSessions, useStatus, useTokens } from '@/api/queries'
import { useHint } from '@/app/hint'
import { archive, pin, remove, rename, stop, switchRag } from '@/app/threads'
import { onDemand } from '@/components/onDemand'
import { Button, IconButton } from '@/components/ui/Button'
import { Kbd } from '@/components/ui/Kbd'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { Pane } from '@/components/ui/Pane'
import { nextLang, useT } from '@/lib/i18n'
import { MOD } from '@/lib/platform'
import { useAsked } from '@/lib/useAsked'
import { useConnection } from '@/stores/live'
import { showXray, useUi } from '@/stores/ui'
import { SearchBox } from './SearchBox'
import { SessionList } from './SessionList'
import { SidebarFooter } from './SidebarFooter'
import { ThemeMenu } from './ThemeMenu'
import { exportSession, importFile } from './transfer'

const SearchResults = onDemand(() => import('./SearchResults'))

const NONE: never[] = []

interface Props {
  sessionId: string | null
  onNew: () => void
}

export default function Sidebar({ sessionId, onNew }: Props) {
  const t = useT()
  const hint = useHint()
  const [, navigate] = useLocation()
  const view = useUi(s => s.view)
  const set = useUi(s => s.set)
  const sessions = useSessions()
  const pinned = usePinned().data ?? NONE
  const archived = useArchived().data ?? NONE
  const [query, setQuery] = useState('')
  const [composing, setComposing] = useState(false)
  const [choosing, setChoosing] = useState<readonly string[] | null>(null)
  const [asked] = useAsked(query, composing)
  const file = useRef<HTMLInputElement>(null)
  const status = useStatus().data
  const tokens = useTokens(sessionId).data ?? null
  const approvals = useApprovals().data
  const waiting = useMemo(() => new Set(approvals?.map(approval => approval.session_id)), [approvals])
  const connection = useConnection()
  const onDelete = async (id: string, title: string) => {
    if ((await remove(id, title)) && id === sessionId) navigate('/')
  }
  const onImport = async (input: HTMLInputElement) => {
    const chosen = input.files?.[0]
    // Allows choosing the same file again.
    input.value = ''
    const id = chosen && (await importFile(chosen))
    if (id) navigate(`/s/${id}`)
  }
  return (
    <Pane as="nav" id="pane-left" aria-label={t('sessions')} className="@container">
      <div className="flex items-center gap-2 p-3 pb-2">
        <span
          aria-hidden
          className="grid size-7 place-items-center rounded-[8px] bg-accent font-semibold text-accent-fg"
        >
          m
        </span>
        <strong className="font-semibold text-[15px]">miniclaw</strong>
        <span className="ms-auto flex">
          <IconButton label={t('language')} onClick={() => void nextLang()}>
            <Languages size={16} aria-hidden />
          </IconButton>
          <ThemeMenu />
        </span>
      </div>
      <div className="flex gap-2 px-3">
        <Button
          className="min-w-0 flex-1 shrink! justify-start"
          title={hint(t('newChat'), 'newChat')}
          onClick={onNew}
        >
          <MessageSquarePlus size={15} aria-hidden className="@max-[230px]:hidden shrink-0" />
          {t('newChat')}
        </Button>
        <Button
          className="pointer-coarse:min-w-11"
          title={hint(t('palette'), 'palette')}
          onClick={() => set({ dialog: 'palette' })}
        >
          <Search size={14} aria-hidden className="text-fg-3" />
          <span className="sr-only">{t('search')}</span>
          <span className="@max-[255px]:hidden pointer-coarse:hidden">
            <Kbd>{MOD} K</Kbd>
          </span>
        </Button>
        <Menu
          trigger={
            <IconButton label={t('sessionsMenu')} look="soft">
              <Ellipsis size={15} aria-hidden />
            </IconButton>
          }
        >
          <MenuItem icon={<FileUp size={14} aria-hidden />} onSelect={() => file.current?.click()}>
            {t('importSession')}
          </MenuItem>
          <MenuItem
            icon={<ListChecks size={14} aria-hidden />}
            onSelect={() => {
              setQuery('')
              setChoosing([])
            }}
          >
            {t('chooseSeveral')}
          </MenuItem>
          <MenuItem icon={<Trash2 size={14} aria-hidden />} onSelect={() => set({ dialog: 'recovery' })}>
            {t('recovery')}
          </MenuItem>
        </Menu>
        <input
          ref={file}
          type="file"
          accept=".json,application/json"
          hidden
          onChange={event => void onImport(event.target)}
        />
      </div>
      <SearchBox query={query} onComposing={setComposing} onQuery={setQuery} />
      <div className="scroll mt-1 min-h-0 flex-1 px-2 pb-2">
        {asked !== '' && query.trim() !== '' ? (
          <SearchResults query={asked} onOpen={() => set({ pane: 'chat', view: 'chat' })} />
        ) : (
          <SessionList
            sessions={sessions.data}
            error={sessions.error}
            waiting={waiting}
            current={sessionId}
            onOpen={() => set({ pane: 'chat' })}
            onRename={(session, title) => void rename(session.id, title)}
            onDelete={session => void onDelete(session.id, session.title || session.begins || t('untitled'))}
            kept={{ pinned, archived }}
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
            onExport={(session, format) => exportSession(session.id, format)}
            onStop={session => void stop(session.id)}
          />
        )}
      </div>
      <SidebarFooter
        status={status}
        tokens={tokens}
        connection={connection}
        raw={
          sessionId
            ? {
                shown: view === 'raw',
                toggle: () => set({ view: view === 'raw' ? 'chat' : 'raw', pane: 'chat' }),
              }
            : null
        }
        onRag={on => void switchRag(on)}
        onCompress={sessionId ? () => set({ dialog: 'compress' }) : null}
        onXray={() => showXray(null)}
        onModel={() => set({ dialog: 'model' })}
        onShortcuts={() => set({ dialog: 'shortcuts' })}
        onSettings={() => set({ dialog: 'settings' })}
        onUsage={() => set({ dialog: 'usage' })}
      />
    </Pane>
  )
}
