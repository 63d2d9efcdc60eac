import { defineCommands } from '@/app/command'
import { useUi } from '@/stores/ui'

export const recoveryCommands = defineCommands([
  { id: 'recovery', label: 'recovery', keys: null, run: () => useUi.setState({ dialog: 'recovery' }) },
])
