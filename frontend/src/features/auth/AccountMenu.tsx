import {
  ChevronDown,
  CircleUserRound,
  KeyRound,
  Lock,
  LogOut,
  MonitorX,
  UserRound,
  Users,
} from 'lucide-react'
import { useEffect } from 'react'
import { useAuthMode, useProfile } from '@/api/peopleQueries'
import { CommandMenuItem } from '@/components/CommandMenuItem'
import { Button, IconButton } from '@/components/ui/Button'
import { Menu } from '@/components/ui/Menu'
import { Visible } from '@/components/Visible'
import { useT } from '@/lib/i18n'
import { rememberPerson } from '@/lib/storage'
import '@/lib/later'

const ITEMS = [
  ['account', UserRound],
  ['changePassword', Lock],
  ['accessTokens', KeyRound],
  ['people', Users],
  ['signOutEverywhere', MonitorX],
  ['signOut', LogOut],
] as const

/** Who is signed in, and what they can do with their account. `named`: the button shows the name. */
export default function AccountMenu({ named = false }: { named?: boolean }) {
  const t = useT()
  const mode = useAuthMode().data?.auth_mode
  const person = useProfile(mode === 'multi').data
  useEffect(() => {
    // The server has had accounts, and is for one person again.
    if (mode === 'single') rememberPerson(null)
  }, [mode])
  const words = person ? t('signedInAs', { name: person.username }) : t('account')
  return (
    <Menu
      align={named ? 'start' : 'end'}
      trigger={
        named ? (
          <Button>
            <CircleUserRound size={14} aria-hidden />
            {words}
            <ChevronDown size={14} aria-hidden />
          </Button>
        ) : (
          <IconButton label={words}>
            <CircleUserRound size={16} aria-hidden />
          </IconButton>
        )
      }
    >
      {person && (
        <div className="mb-1 max-w-60 border-b px-2 pt-1 pb-2 text-small">
          <p className="font-semibold [overflow-wrap:anywhere]">
            <Visible text={person.username} />
          </p>
          <p className="text-fg-3 text-meta [overflow-wrap:anywhere]">
            {t(person.role === 'admin' ? 'roleAdmin' : 'roleUser')}
            {person.email && ` · ${person.email}`}
          </p>
        </div>
      )}
      {ITEMS.map(([command, Icon]) => (
        <CommandMenuItem key={command} command={command} icon={<Icon size={14} aria-hidden />} />
      ))}
    </Menu>
  )
}
