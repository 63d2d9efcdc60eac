import { defineCommands } from '@/app/command'
import { openDialog } from '@/stores/ui'

export const operationsCommands = defineCommands([
  {
    id: 'operations',
    label: 'operations',
    keys: null,
    enabled: ({ sessionId }) => sessionId !== null,
    run: () => openDialog({ name: 'operations', work: null }),
  },
])
