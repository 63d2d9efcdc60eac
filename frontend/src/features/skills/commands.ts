import { defineCommands } from '@/app/command'
import { openDialog } from '@/stores/ui'

export const skillCommands = defineCommands([
  { id: 'newSkill', label: 'newSkill', keys: null, run: () => openDialog({ name: 'newSkill' }) },
])
