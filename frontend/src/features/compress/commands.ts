import { defineCommands } from '@/app/command'
import { openDialog } from '@/stores/ui'

export const compressCommands = defineCommands([
  {
    id: 'compress',
    label: 'compress',
    keys: null,
    enabled: ({ sessionId }) => sessionId !== null,
    run: () => openDialog({ name: 'compress' }),
  },
])
