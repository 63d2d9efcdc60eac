import { defineCommands } from '@/app/command'
import { openDialog } from '@/stores/ui'

export const modelCommands = defineCommands([
  { id: 'model', label: 'modelConnect', keys: null, run: () => openDialog({ name: 'model' }) },
])
