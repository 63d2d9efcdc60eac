import { type CommandContext, defineCommands } from '@/app/command'
import { stop } from '@/app/threads'
import { useLive } from '@/stores/live'
import { useUi } from '@/stores/ui'
import { shownThread } from '@/thread/loaded'
import type { MessageAction } from './messageActions'

function showComposer(address: string, { navigate, input }: CommandContext): void {
  if (location.pathname !== address) navigate(address)
  useUi.setState({ pane: 'chat', view: 'chat' })
  requestAnimationFrame(() => input.current?.focus())
}

const focusComposer = (context: CommandContext): void => showComposer(useUi.getState().lastChat, context)

function stopWork({ sessionId }: CommandContext): void {
  const thread = sessionId ? shownThread(useLive.getState().threads[sessionId]) : null
  if (sessionId && thread?.running) void stop(sessionId)
}

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
  { id: 'stopWork', label: 'stopWork', keys: { code: 'Escape' }, scope: 'run', run: stopWork },
  {
    id: 'findInChat',
    label: 'findInChat',
    keys: { code: 'KeyF', mod: true },
    scope: 'chat',
    run: ({ sessionId }) => {
      const { find, set } = useUi.getState()
      if (sessionId) set({ pane: 'chat', view: 'chat', find: find ?? '' })
    },
  },
  {
    id: 'copyLastCode',
    label: 'copyLastCode',
    keys: { code: 'Semicolon', mod: true, shift: true },
    run: ({ sessionId }) => void import('./messages').then(({ copyLastCode }) => copyLastCode(sessionId)),
  },
  {
    id: 'foldChains',
    label: 'foldChains',
    keys: { code: 'KeyC', alt: true },
    run: () => void import('./messages').then(({ foldChains }) => foldChains()),
  },
])

const step = (by: 1 | -1) => () => void import('./messages').then(messages => messages.step(by))
const act = (action: MessageAction) => () =>
  void import('./messages').then(({ actOnFocused }) => actOnFocused(action))

/** Commands on the focused message. */
export const messageCommands = defineCommands([
  {
    id: 'previousMessage',
    label: 'previousMessage',
    keys: { code: 'ArrowUp' },
    scope: 'message',
    run: step(-1),
  },
  { id: 'nextMessage', label: 'nextMessage', keys: { code: 'ArrowDown' }, scope: 'message', run: step(1) },
  {
    id: 'copyMessage',
    label: 'copyMessage',
    keys: { code: 'KeyC' },
    scope: 'message',
    run: act('copyMessage'),
  },
  {
    id: 'editMessage',
    label: 'editMessage',
    keys: { code: 'KeyE' },
    scope: 'message',
    run: act('editMessage'),
  },
  { id: 'regenerate', label: 'regenerate', keys: { code: 'KeyR' }, scope: 'message', run: act('regenerate') },
  { id: 'branchHere', label: 'branchHere', keys: { code: 'KeyB' }, scope: 'message', run: act('branchHere') },
])
