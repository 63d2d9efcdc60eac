import { defineCommands } from '@/app/command'
import { openDialog } from '@/stores/ui'

export const recoveryCommands = defineCommands([
  { id: 'recovery', label: 'recovery', keys: null, run: () => openDialog({ name: 'recovery' }) },
])
