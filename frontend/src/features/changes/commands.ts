import { defineCommands } from '@/app/command'
import { openDialog } from '@/stores/ui'

export const changesCommands = defineCommands([
  {
    id: 'changes',
    label: 'changes',
    keys: null,
    enabled: ({ sessionId }) => sessionId !== null,
    run: () => openDialog({ name: 'changes', work: null }),
  },
])
