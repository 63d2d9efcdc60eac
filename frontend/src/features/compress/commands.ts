import { defineCommands } from '@/app/command'
import { useUi } from '@/stores/ui'

export const compressCommands = defineCommands([
  {
    id: 'compress',
    label: 'compress',
    keys: null,
    enabled: ({ sessionId }) => sessionId !== null,
    run: () => useUi.setState({ dialog: 'compress' }),
  },
])
