import { defineCommands } from '@/app/command'
import { openDialog } from '@/stores/ui'

export const usageCommands = defineCommands([
  { id: 'usage', label: 'usage', keys: null, run: () => openDialog({ name: 'usage' }) },
])
