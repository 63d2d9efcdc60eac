import { keys, queryClient } from '@/api/queries'
import type { Status } from '@/api/types'
import { defineCommands } from '@/app/command'
import { switchRag } from '@/app/threads'

/** Undefined until the server has reported it: then neither switch is offered. */
const isOn = (): boolean | undefined => queryClient.getQueryData<Status>(keys.status)?.rag_mode

export const retrievalCommands = defineCommands([
  {
    id: 'ragOff',
    label: 'ragSwitchOff',
    keys: null,
    enabled: () => isOn() === true,
    run: () => void switchRag(false),
  },
  {
    id: 'ragOn',
    label: 'ragSwitchOn',
    keys: null,
    enabled: () => isOn() === false,
    run: () => void switchRag(true),
  },
])
