import { Search } from 'lucide-react'
import { useId, useState } from 'react'
import { Dialog } from '@/components/ui/Dialog'
import { Input } from '@/components/ui/Input'
import { matches } from '@/features/palette/match'
import { type Key, useT } from '@/lib/i18n'
import '@/lib/later'
import { SECTIONS, type SettingsSection } from './sections'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
}

export default function Settings({ open, onOpenChange }: Props) {
  const t = useT()
  const id = useId()
  const [query, setQuery] = useState('')
  const words = ({ title, hint, contains }: SettingsSection): Key[] => [
    title,
    ...(hint ? [hint] : []),
    ...contains,
  ]
  const found = SECTIONS.filter(section =>
    matches(
      words(section)
        .map(key => t(key))
        .join(' '),
      query,
    ),
  )
  const titleOf = (section: SettingsSection) => `${id}-${section.id}`
  const show = (section: SettingsSection) => {
    const title = document.getElementById(titleOf(section))
    title?.focus({ preventScroll: true })
    title?.scrollIntoView({ block: 'start' })
  }
  return (
    <Dialog size="widest" open={open} onOpenChange={onOpenChange} title={t('settings')}>
      <div className="gap-6 md:flex md:min-h-[56dvh]">
        <div className="shrink-0 max-md:mb-4 md:sticky md:top-0 md:w-[180px] md:self-start">
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
