import { defineCommands } from '@/app/command'
import { showXray } from '@/stores/ui'

export const xrayCommands = defineCommands([
  { id: 'xray', label: 'xray', keys: null, run: () => showXray(null) },
])
