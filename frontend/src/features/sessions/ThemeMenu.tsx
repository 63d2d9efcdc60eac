import { Monitor, Moon, Sun } from 'lucide-react'
import { CommandMenuItem } from '@/components/CommandMenuItem'
import { IconButton } from '@/components/ui/Button'
import { Menu } from '@/components/ui/Menu'
import { useT } from '@/lib/i18n'
import { useTheme } from '@/lib/theme'

/** Each theme, with the command that chooses it; the name of the command is the word for the theme. */
const CHOICES = [
  ['light', 'themeLight', Sun],
  ['dark', 'themeDark', Moon],
  ['system', 'themeSystem', Monitor],
] as const

export function ThemeMenu() {
  const t = useT()
  const theme = useTheme()
  const Icon = CHOICES.find(([value]) => value === theme)?.[2] ?? Monitor
  return (
    <Menu
      trigger={
        <IconButton label={t('theme')}>
          <Icon size={16} aria-hidden />
        </IconButton>
      }
    >
      {CHOICES.map(([value, command, Choice]) => (
        <CommandMenuItem
          key={value}
          command={command}
          label={t(command)}
          icon={<Choice size={14} aria-hidden />}
          checked={value === theme}
        />
      ))}
    </Menu>
  )
}
