import { defineCommands } from '@/app/command'
import { useUi } from '@/stores/ui'

export const modelCommands = defineCommands([
  { id: 'model', label: 'modelConnect', keys: null, run: () => useUi.setState({ dialog: 'model' }) },
])
