import { defineCommands } from '@/app/command'
import { useUi } from '@/stores/ui'

export const usageCommands = defineCommands([
  { id: 'usage', label: 'usage', keys: null, run: () => useUi.setState({ dialog: 'usage' }) },
])
