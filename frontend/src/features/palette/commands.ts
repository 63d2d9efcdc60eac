import { defineCommands } from '@/app/command'
import { openDialog, toggleDialog } from '@/stores/ui'

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
    run: () => openDialog({ name: 'files' }),
  },
])
