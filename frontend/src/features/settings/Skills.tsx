import { useSkills, useUntrusted } from '@/api/queries'
import { CommandButton } from '@/components/CommandButton'
import { PassageLink } from '@/components/PassageLink'
import { Badge } from '@/components/ui/Badge'
import { useT } from '@/lib/i18n'
import { isBelow } from '@/lib/roots'
import { closeDialog } from '@/stores/ui'

/** The skills, and whether a person has trusted their current version. Each opens in the editor, where that is decided. */
export function Skills() {
  const t = useT()
  const skills = useSkills().data ?? []
  const untrusted = useUntrusted().data ?? []
  const isTrusted = (location: string) => {
    const folder = location.slice(0, location.lastIndexOf('/'))
    return !untrusted.some(({ path }) => isBelow(folder, path))
  }
  return (
    <div>
      <h4 className="mb-1 font-semibold text-small">{t('settingsSkills')}</h4>
      <p className="mb-2 text-fg-2 text-small">{t('settingsSkillsHint')}</p>
      <ul className="space-y-1 text-small" aria-label={t('settingsSkills')}>
        {skills.map(({ name, location, error }) => (
          <li key={location} className="flex items-center gap-2">
            <span className="contents" onClickCapture={closeDialog}>
              <PassageLink
                place={{ path: location, lines: null }}
                className="min-w-0 truncate pointer-coarse:min-h-11 pointer-coarse:content-center"
              >
                {name}
              </PassageLink>
            </span>
            {error ? (
              <Badge tone="bad">{t('skillError')}</Badge>
            ) : isTrusted(location) ? (
              <Badge tone="ok">{t('skillTrusted')}</Badge>
            ) : (
              <Badge tone="warn">{t('untrusted')}</Badge>
            )}
          </li>
        ))}
      </ul>
      <CommandButton command="newSkill" size="small" className="mt-2">
        {t('newSkill')}
      </CommandButton>
    </div>
  )
}
