import { defineCommands } from '@/app/command'
import { nextLang } from '@/lib/i18n'
import { setTheme } from '@/lib/theme'
import { startTour } from '@/stores/tour'
import { toggleDialog } from '@/stores/ui'

export const settingsCommands = defineCommands([
  {
    id: 'settings',
    label: 'settings',
    keys: { code: 'Comma', mod: true },
    run: () => toggleDialog('settings'),
  },
  {
    id: 'shortcuts',
    label: 'shortcuts',
    keys: { code: 'Slash', mod: true },
    run: () => toggleDialog('shortcuts'),
  },
  { id: 'tour', label: 'tour', keys: null, run: startTour },
])

export const appearanceCommands = defineCommands([
  {
    id: 'themeLight',
    label: 'themeChoose',
    name: 'themeLight',
    keys: null,
    run: () => setTheme('light'),
  },
  { id: 'themeDark', label: 'themeChoose', name: 'themeDark', keys: null, run: () => setTheme('dark') },
  {
    id: 'themeSystem',
    label: 'themeChoose',
    name: 'themeSystem',
    keys: null,
    run: () => setTheme('system'),
  },
  { id: 'language', label: 'language', keys: null, run: () => void nextLang() },
])
