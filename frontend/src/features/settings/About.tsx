import { LogOut } from 'lucide-react'
import { useAuthMode } from '@/api/peopleQueries'
import { useStatus } from '@/api/queries'
import { useCommand } from '@/app/useCommand'
import { Button } from '@/components/ui/Button'
import { Skeleton } from '@/components/ui/Skeleton'
import AccountMenu from '@/features/auth/AccountMenu'
import { useSay, useT } from '@/lib/i18n'
import { commandsNote, levelWord, sandboxNote } from './sandbox'

/** The server's version, its folder, and what commands may do. */
export function About() {
  const t = useT()
  const say = useSay()
  const status = useStatus().data
  const signOut = useCommand('signOut')
  const multi = useAuthMode().data?.auth_mode === 'multi'
  if (!status) return <Skeleton label={t('loading')} />
  const level = levelWord(status.sandbox.level)
  const note = sandboxNote(say, status.sandbox)
  const { commands } = status
  const commandsSaid = commands && commandsNote(say, commands)
  return (
    <>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-small">
        <Fact name={t('aboutVersion')} value={status.version} />
        <Fact name={t('aboutHome')} value={status.home} />
        <Fact
          name={t('aboutSandbox')}
          value={`${level ? t(level) : status.sandbox.level} — ${note}`}
          title={note === status.sandbox.note ? undefined : status.sandbox.note}
        />
        {commands && commandsSaid && (
          <Fact
            name={t('aboutCommands')}
            value={commandsSaid}
            title={commandsSaid === commands.note ? undefined : commands.note}
          />
        )}
      </dl>
      {multi ? (
        <p className="mt-3">
          <AccountMenu named />
        </p>
      ) : (
        signOut.enabled && (
          <Button className="mt-3" onClick={signOut.run}>
            <LogOut size={14} aria-hidden />
            {signOut.label}
          </Button>
        )
      )}
    </>
  )
}

const Fact = ({ name, value, title }: { name: string; value: string; title?: string | undefined }) => (
  <>
    <dt className="text-fg-2">{name}</dt>
    <dd title={title} className="min-w-0 [overflow-wrap:anywhere]">
      {value}
    </dd>
  </>
)
