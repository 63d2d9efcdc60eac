import { Search } from 'lucide-react'
import { useId, useState } from 'react'
import { useMayConfigure } from '@/api/peopleQueries'
import { useSettings, useStatus } from '@/api/queries'
import { Banner } from '@/components/ui/Banner'
import { Dialog } from '@/components/ui/Dialog'
import { Input } from '@/components/ui/Input'
import { type Key, useT } from '@/lib/i18n'
import { matches } from '@/lib/match'
import '@/lib/later'
import { labelsOf, namesOf } from './config'
import { type SettingsSection, sections } from './sections'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  /** What is searched for at first. */
  search?: string
}

export default function Settings({ open, onOpenChange, search = '' }: Props) {
  const t = useT()
  const id = useId()
  const admin = useMayConfigure() === true
  const [query, setQuery] = useState(search)
  const words = ({ title, hint, contains }: SettingsSection): Key[] => [
    title,
    ...(hint ? [hint] : []),
    ...contains,
  ]
  const found = sections(admin).filter(section => {
    const part = admin ? section.part : undefined
    const names = part ? [...labelsOf(part).map(key => t(key)), ...namesOf(part)] : []
    return matches([...words(section).map(key => t(key)), ...names].join(' '), query)
  })
  const titleOf = (section: SettingsSection) => `${id}-${section.id}`
  const show = (section: SettingsSection) => {
    const title = document.getElementById(titleOf(section))
    title?.focus({ preventScroll: true })
    title?.scrollIntoView({ block: 'start' })
  }
  return (
    <Dialog size="widest" open={open} onOpenChange={onOpenChange} title={t('settings')}>
      <div className="gap-6 pt-1 md:flex md:min-h-[56dvh]">
        <div className="shrink-0 max-md:mb-4 md:sticky md:top-1 md:w-[180px] md:self-start">
          <Input
            type="search"
            size="medium"
            icon={Search}
            aria-label={t('settingsSearch')}
            placeholder={t('settingsSearch')}
            value={query}
            onChange={event => setQuery(event.target.value)}
          />
          <nav aria-label={t('settingsSections')} className="mt-2 max-md:hidden">
            <ul>
              {found.map(section => (
                <li key={section.id}>
                  <button
                    type="button"
                    onClick={() => show(section)}
                    className="h-8 w-full rounded-md px-2.5 text-start text-[13px] text-fg-2 hover:bg-hover hover:text-fg pointer-coarse:h-11"
                  >
                    {t(section.title)}
                  </button>
                </li>
              ))}
            </ul>
          </nav>
        </div>
        <div className="min-w-0 flex-1 space-y-6">
          {admin && <ConfigOfCluster />}
          {admin && <ConfigWarnings />}
          {found.length === 0 && (
            <p role="status" className="text-fg-3 text-small">
              {t('nothingFound')}
            </p>
          )}
          {found.map(section => (
            <section key={section.id} aria-labelledby={titleOf(section)}>
              <h3
                id={titleOf(section)}
                tabIndex={-1}
                className="mb-1.5 font-semibold text-[13.5px] outline-none"
              >
                {t(section.title)}
              </h3>
              {section.hint && <p className="mb-2 text-fg-2 text-small">{t(section.hint)}</p>}
              <section.Content />
            </section>
          ))}
        </div>
      </div>
    </Dialog>
  )
}

/** Why settings of a cluster are not changed here. */
function ConfigOfCluster() {
  const t = useT()
  if (!useStatus().data?.in_cluster) return null
  return <p className="text-fg-2 text-small">{t('settingsOfCluster')}</p>
}

/** What is wrong with config.yml, in the server's own words: they name the line. */
function ConfigWarnings() {
  const t = useT()
  const warnings = useSettings().data?.warnings ?? []
  if (warnings.length === 0) return null
  return (
    <Banner tone="warn" boxed role="status">
      {warnings.map(message => (
        <p key={message}>{t('configWarning', { message })}</p>
      ))}
    </Banner>
  )
}
