import type { RefObject } from 'react'
import { useLocation } from 'wouter'
import type { Answer } from '@/api/approvals'
import { keys, queryClient, usePutAway, useSessions } from '@/api/queries'
import type { Approval } from '@/api/types'
import { answer } from '@/features/approvals/actions'
import { compare, endComparison, save } from '@/features/editor/actions'
import { PLAYGROUND } from '@/features/retrieval/address'
import { t } from '@/lib/i18n'
import type { Width } from '@/lib/useMedia'
import { useBuffers } from '@/stores/buffers'
import { useLive } from '@/stores/live'
import { toast } from '@/stores/toasts'
import { useUi } from '@/stores/ui'
import { shownThread } from '@/thread/loaded'
import { stop } from './threads'
import type { Commands } from './useShortcuts'

const PANES = ['pane-left', 'pane-chat', 'pane-play', 'pane-right'] as const

/** Moves the focus to the next pane that is on the screen. */
function cyclePane(step: 1 | -1): void {
  const shown = PANES.map(id => document.getElementById(id)).filter(pane => pane !== null)
  const at = shown.findIndex(pane => pane.contains(document.activeElement))
  shown[(at + step + shown.length) % shown.length]?.focus()
}

const cardOf = (id: string): HTMLElement | null =>
  document.querySelector<HTMLElement>(`[data-approval="${CSS.escape(id)}"]`)

/** All of it can be read, or as much as there is room for, to its end. */
function isInSight(card: HTMLElement): boolean {
  const box = card.closest('[role=log]')?.getBoundingClientRect()
  if (!box) return true
  const { top, bottom, height } = card.getBoundingClientRect()
  return bottom > box.top && bottom <= box.bottom + 1 && (top >= box.top - 1 || height > box.height)
}

interface Context {
  sessionId: string | null
  width: Width
  input: RefObject<HTMLTextAreaElement | null>
}

/** What each command does where the person is now. */
export function useCommands({ sessionId, width, input }: Context): Commands {
  const [, navigate] = useLocation()
  const away = usePutAway().data ?? []
  // What was put away is not stepped to.
  const sessions = (useSessions().data ?? []).filter(({ id }) => id === sessionId || !away.includes(id))
  const { set } = useUi.getState()

  const focusComposer = () => {
    if (location.pathname === PLAYGROUND) navigate(useUi.getState().lastChat)
    set({ pane: 'chat', view: 'chat' })
    requestAnimationFrame(() => input.current?.focus())
  }
  const step = (by: 1 | -1) => {
    const at = sessions.findIndex(session => session.id === sessionId)
    const next = sessions[at < 0 ? 0 : at + by]
    if (next) navigate(`/s/${next.id}`)
  }
  /** What cannot be read just now is shown first: nobody allows what they do not see. */
  const answerOldest = (given: Answer) => {
    const oldest = queryClient.getQueryData<Approval[]>(keys.approvals)?.[0]
    if (!oldest) return
    const card = cardOf(oldest.id)
    if (oldest.session_id === sessionId && card) {
      const form = card.querySelector('form')
      // Whoever changes the input, or writes why not, answers with that.
      if (form?.dataset.decision === given.decision) return form.requestSubmit()
      if (form && given.decision === 'approve') return
      if (!isInSight(card)) return card.scrollIntoView({ block: 'end' })
      void answer(oldest, given).then(reason => {
        if (reason !== null) toast(t('notDone', { reason }), { tone: 'bad' })
      })
      return
    }
    navigate(`/s/${oldest.session_id}`)
    set({ pane: 'chat', view: 'chat' })
  }
  return {
    settings: () => set({ dialog: useUi.getState().dialog === 'settings' ? null : 'settings' }),
    allowOldest: () => answerOldest({ decision: 'approve' }),
    denyOldest: () => answerOldest({ decision: 'deny' }),
    palette: () => set({ dialog: useUi.getState().dialog === 'palette' ? null : 'palette' }),
    shortcuts: () => set({ dialog: useUi.getState().dialog === 'shortcuts' ? null : 'shortcuts' }),
    newChat: () => {
      navigate('/')
      focusComposer()
    },
    focusComposer,
    toggleSessions: () => {
      if (width === 'narrow') set({ pane: useUi.getState().pane === 'left' ? 'chat' : 'left' })
      else set({ leftOpen: !useUi.getState().leftOpen })
    },
    toggleInspector: () => {
      const ui = useUi.getState()
      if (width === 'narrow') set({ pane: ui.pane === 'right' ? 'chat' : 'right' })
      else if (width === 'medium') set({ sheetOpen: !ui.sheetOpen })
      else set({ rightOpen: !ui.rightOpen })
    },
    nextPane: () => cyclePane(1),
    previousPane: () => cyclePane(-1),
    previousSession: () => step(-1),
    nextSession: () => step(1),
    stopWork: () => {
      const thread = sessionId ? shownThread(useLive.getState().threads[sessionId]) : null
      if (sessionId && thread?.running) void stop(sessionId)
    },
    openFile: () => set({ dialog: 'files' }),
    copyLastCode: () => void import('./messages').then(({ copyLastCode }) => copyLastCode(sessionId)),
    foldChains: () => void import('./messages').then(({ foldChains }) => foldChains()),
    previousMessage: () => void import('./messages').then(({ step }) => step(-1)),
    nextMessage: () => void import('./messages').then(({ step }) => step(1)),
    copyMessage: () => void import('./messages').then(({ press }) => press('copyMessage')),
    editMessage: () => void import('./messages').then(({ press }) => press('editMessage')),
    regenerate: () => void import('./messages').then(({ press }) => press('regenerate')),
    branchHere: () => void import('./messages').then(({ press }) => press('branchHere')),
    findInChat: () => {
      if (sessionId) set({ pane: 'chat', view: 'chat', find: useUi.getState().find ?? '' })
    },
    diffFile: () => {
      const { file } = useUi.getState()
      if (!file) return
      if (useBuffers.getState().comparing?.path === file) endComparison(file)
      else void compare(file)
    },
    wrapLines: () => set({ wrap: !useUi.getState().wrap }),
    saveFile: () => {
      const { file } = useUi.getState()
      if (file) void save(file)
    },
  }
}
