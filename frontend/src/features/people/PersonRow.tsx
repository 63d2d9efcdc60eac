import { Ellipsis, Gauge, KeyRound, ShieldCheck, ShieldMinus, UserRoundCheck, UserRoundX } from 'lucide-react'
import { useRef } from 'react'
import type { Person, PersonUsage } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { Button, IconButton } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { Visible } from '@/components/Visible'
import { OneTime } from '@/features/auth/OneTime'
import { useDate } from '@/features/auth/useDate'
import { type Key, useT } from '@/lib/i18n'
import { PersonLimits } from './PersonLimits'
import { type Act, usePerson } from './usePerson'
import { useUsageFacts } from './useUsageFacts'

const WORDS: Record<Act, { label: Key; ask: Key | null; Icon: typeof KeyRound }> = {
  promote: { label: 'personPromote', ask: 'personPromoteAsk', Icon: ShieldCheck },
  demote: { label: 'personDemote', ask: null, Icon: ShieldMinus },
  limits: { label: 'personLimits', ask: null, Icon: Gauge },
  reset: { label: 'personReset', ask: 'personResetAsk', Icon: KeyRound },
  disable: { label: 'personDisable', ask: 'personDisableAsk', Icon: UserRoundX },
  enable: { label: 'personEnable', ask: null, Icon: UserRoundCheck },
}

/** An account, with what an administrator can do with it. Nobody changes their own here: that would lock them out. */
export function PersonRow({ person, usage, you }: { person: Person; usage?: PersonUsage; you: boolean }) {
  const t = useT()
  const date = useDate()
  const row = useRef<HTMLLIElement>(null)
  const { asking, problem, password, choose, act, cancel } = usePerson(person)
  const { username: name, email, role, is_active: active } = person
  const seen = person.last_login_at
  const facts = [email, seen ? t('personSeen', { at: date(seen) }) : t('personNever')].filter(Boolean)
  const used = useUsageFacts(usage)
  const acts: Act[] = [
    role === 'admin' ? 'demote' : 'promote',
    'limits',
    'reset',
    active ? 'disable' : 'enable',
  ]
  const toMenu = () => row.current?.querySelector<HTMLElement>('[aria-haspopup]')?.focus()
  const question = asking && WORDS[asking].ask
  return (
    <li ref={row} className="space-y-1.5 rounded-md border px-2.5 py-1.5 text-[13px]">
      <div className="flex items-center gap-2">
        <div className="min-w-0 flex-1">
          <p className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
            <span className="min-w-0 font-medium [overflow-wrap:anywhere]">
              <Visible text={name} />
            </span>
            {you && <Badge>{t('personYou')}</Badge>}
            {role === 'admin' && <Badge tone="ok">{t('roleAdmin')}</Badge>}
            {person.limits && <Badge>{t('personLimited')}</Badge>}
            {!active && <Badge tone="warn">{t('personDisabled')}</Badge>}
          </p>
          <p className="text-fg-3 text-meta [overflow-wrap:anywhere]">{facts.join(' · ')}</p>
          {used.length > 0 && <p className="text-fg-3 text-meta tabular-nums">{used.join(' · ')}</p>}
        </div>
        {!you && (
          <Menu
            trigger={
              <IconButton label={t('personMenu', { name })} size="smallIcon">
                <Ellipsis size={15} aria-hidden />
              </IconButton>
            }
          >
            {acts.map(what => {
              const { label, Icon } = WORDS[what]
              return (
                <MenuItem
                  key={what}
                  icon={<Icon size={14} aria-hidden />}
                  danger={what === 'disable'}
                  onSelect={() => choose(what)}
                >
                  {t(label)}
                </MenuItem>
              )
            })}
          </Menu>
        )}
      </div>
      {asking === 'limits' && (
        <PersonLimits
          person={person}
          onClose={() => {
            toMenu()
            cancel()
          }}
        />
      )}
      {asking && asking !== 'limits' && question && (
        <div className="flex flex-wrap items-center gap-2 border-t pt-1.5">
          <p role="alert" className="min-w-0 flex-1 basis-60 text-small">
            {t(question, { name })}
          </p>
          <span className="ms-auto flex gap-2">
            <Button
              size="small"
              autoFocus
              onClick={() => {
                toMenu()
                cancel()
              }}
            >
              {t('cancel')}
            </Button>
            <Button
              size="small"
              look="danger"
              onClick={() => {
                toMenu()
                void act(asking)
              }}
            >
              {t(WORDS[asking].label)}
            </Button>
          </span>
        </div>
      )}
      {password !== null && (
        <OneTime
          title={t('personNewPassword', { name })}
          hint={t('personPasswordHint', { name })}
          secrets={[{ label: t('passwordWord'), text: password }]}
        />
      )}
      {problem && <ErrorText>{problem}</ErrorText>}
    </li>
  )
}
