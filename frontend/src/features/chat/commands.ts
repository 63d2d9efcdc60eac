import { type CommandContext, defineCommands } from '@/app/command'
import { stop } from '@/app/threads'
import { useLive } from '@/stores/live'
import { showMiddle, useUi } from '@/stores/ui'
import { shownThread } from '@/thread/loaded'
import type { Thread } from '@/thread/model'
import { actionOfFocused, chains, type MessageAction, neighbour } from './messageActions'

function showComposer(address: string, { navigate, input }: CommandContext): void {
  if (location.pathname !== address) navigate(address)
  showMiddle()
  useUi.setState({ view: 'chat' })
  requestAnimationFrame(() => input.current?.focus())
}

const focusComposer = (context: CommandContext): void => showComposer(useUi.getState().lastChat, context)

const threadOf = ({ sessionId }: CommandContext): Thread | null =>
  sessionId === null ? null : shownThread(useLive.getState().threads[sessionId])

export const chatCommands = defineCommands([
  {
    id: 'newChat',
    label: 'newChat',
    keys: { code: 'KeyO', mod: true, shift: true },
    run: context => showComposer('/', context),
  },
  {
    id: 'focusComposer',
    label: 'focusComposer',
    keys: { code: 'Slash' },
    scope: 'outside text',
    run: focusComposer,
  },
  {
    id: 'stopWork',
    label: 'stopWork',
    keys: { code: 'Escape' },
    scope: 'run',
    enabled: context => threadOf(context)?.running != null,
    run: ({ sessionId }) => void (sessionId && stop(sessionId)),
  },
  {
    id: 'findInChat',
    label: 'findInChat',
    keys: { code: 'KeyF', mod: true },
    scope: 'outside editor',
    // Without a conversation, the keys keep their meaning in the browser.
    enabled: ({ sessionId }) => sessionId !== null,
    run: () => {
      showMiddle()
      useUi.setState(({ find }) => ({ view: 'chat', find: find ?? '' }))
      requestAnimationFrame(() =>
        document.querySelector<HTMLInputElement>('#pane-chat [role=search] input')?.select(),
      )
    },
  },
  {
    id: 'copyLastCode',
    label: 'copyLastCode',
    keys: { code: 'Semicolon', mod: true, shift: true },
    enabled: context => threadOf(context)?.entries.some(entry => entry.kind === 'assistant') === true,
    run: ({ sessionId }) => void import('./messages').then(({ copyLastCode }) => copyLastCode(sessionId)),
  },
  {
    id: 'foldChains',
    label: 'foldChains',
    keys: { code: 'KeyC', alt: true },
    enabled: () => chains.all().length > 0,
    run: () => void import('./messages').then(({ foldChains }) => foldChains()),
  },
])

const step = (by: 1 | -1) => ({
  scope: 'message' as const,
  enabled: () => neighbour(by) !== null,
  run: () => {
    const next = neighbour(by)
    next?.focus({ preventScroll: true })
    next?.scrollIntoView({ block: 'nearest' })
  },
})
const act = (action: MessageAction) => ({
  scope: 'message' as const,
  enabled: () => actionOfFocused(action) !== null,
  run: () => actionOfFocused(action)?.(),
})

/** Commands on the focused message. */
export const messageCommands = defineCommands([
  { id: 'previousMessage', label: 'previousMessage', keys: { code: 'ArrowUp' }, ...step(-1) },
  { id: 'nextMessage', label: 'nextMessage', keys: { code: 'ArrowDown' }, ...step(1) },
  { id: 'copyMessage', label: 'copyMessage', keys: { code: 'KeyC' }, ...act('copyMessage') },
  { id: 'editMessage', label: 'editMessage', keys: { code: 'KeyE' }, ...act('editMessage') },
  { id: 'regenerate', label: 'regenerate', keys: { code: 'KeyR' }, ...act('regenerate') },
  { id: 'branchHere', label: 'branchHere', keys: { code: 'KeyB' }, ...act('branchHere') },
  { id: 'pinMessage', label: 'pinMessage', keys: { code: 'KeyP' }, ...act('pinMessage') },
])
