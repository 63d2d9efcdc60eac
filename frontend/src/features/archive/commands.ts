import { defineCommands } from '@/app/command'
import { useUi } from '@/stores/ui'

export const archiveCommands = defineCommands([
  { id: 'archive', label: 'archive', keys: null, run: () => useUi.setState({ dialog: 'archive' }) },
])
