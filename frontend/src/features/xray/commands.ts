import { defineCommands } from '@/app/command'
import { openDialog } from '@/stores/ui'

export const xrayCommands = defineCommands([
  { id: 'xray', label: 'xray', keys: null, run: () => openDialog({ name: 'xray', work: null }) },
])
