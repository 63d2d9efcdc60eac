import { Globe } from 'lucide-react'
import { Visible } from '@/components/Visible'
import { useT } from '@/lib/i18n'
import '@/lib/later'

/** A host that a command tried to reach. Not in the schema, because it travels in the open `result` of a tool. */
interface Contact {
  host: string
  refused: boolean
}

interface Listed {
  hosts: Contact[]
  /** Number of attempts beyond the length of the list. */
  more: number
}

const isContact = (value: unknown): value is Contact =>
  typeof value === 'object' && value !== null && 'host' in value && typeof value.host === 'string'

/** Reads the contacts from a call's result; null if it asked for no host. */
export function contactsOf(result: unknown): Listed | null {
  if (typeof result !== 'object' || result === null || !('data' in result)) return null
  const { data } = result
  if (typeof data !== 'object' || data === null || !('contacts' in data)) return null
  const hosts = Array.isArray(data.contacts) ? data.contacts.filter(isContact) : []
  const more = 'more_contacts' in data && typeof data.more_contacts === 'number' ? data.more_contacts : 0
  return { hosts, more }
}

/** The hosts that a command was connected to, and those it was refused. */
export function Contacts({ result }: { result: unknown }) {
  const t = useT()
  const listed = contactsOf(result)
  if (!listed) return null
  const { hosts, more } = listed
  const names = (refused: boolean) => hosts.filter(one => one.refused === refused).map(one => one.host)
  const [reached, refused] = [names(false), names(true)]
  return (
    <div className="flex items-start gap-1.5 text-fg-2 text-small [overflow-wrap:anywhere]">
      <Globe size={13} aria-hidden className="mt-0.5 shrink-0" />
      <div className="scroll max-h-40 min-w-0 flex-1" tabIndex={hosts.length > NAMES_IN_VIEW ? 0 : undefined}>
        {reached.length > 0 && (
          <p>
            <Visible text={t('contactsReached', { hosts: reached.join(', ') })} />
          </p>
        )}
        {refused.length > 0 && (
          <p className="text-bad">
            <Visible text={t('contactsRefused', { hosts: refused.join(', ') })} />
          </p>
        )}
        {more > 0 && <p>{t('contactsMore', { n: more })}</p>}
      </div>
    </div>
  )
}

/** A list longer than this may have to be scrolled, also by keyboard. */
const NAMES_IN_VIEW = 20
