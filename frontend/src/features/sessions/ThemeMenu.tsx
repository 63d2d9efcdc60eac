import { Monitor, Moon, Sun } from 'lucide-react'
import { IconButton } from '@/components/ui/Button'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { useT } from '@/lib/i18n'
import { setTheme, useTheme } from '@/lib/theme'

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
      {CHOICES.map(([value, word, Choice]) => (
        <MenuItem
          key={value}
          icon={<Choice size={14} aria-hidden />}
          checked={value === theme}
          onSelect={() => setTheme(value)}
        >
          {t(word)}
        </MenuItem>
      ))}
    </Menu>
  )
}
