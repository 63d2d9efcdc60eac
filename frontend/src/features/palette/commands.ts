import { defineCommands } from '@/app/command'
import { toggleDialog, useUi } from '@/stores/ui'

export const paletteCommands = defineCommands([
  {
    id: 'palette',
    label: 'palette',
    keys: { code: 'KeyK', mod: true },
    run: () => toggleDialog('palette'),
  },
  {
    id: 'openFile',
    label: 'openFileByName',
    keys: { code: 'KeyP', mod: true },
    run: () => useUi.setState({ dialog: 'files' }),
  },
])
