import { Power, PowerOff } from 'lucide-react'
import { enableSkill } from '@/api/endpoints'
import { keys, refresh, useSkills, useUntrusted } from '@/api/queries'
import { CommandButton } from '@/components/CommandButton'
import { PassageLink } from '@/components/PassageLink'
import { Badge } from '@/components/ui/Badge'
import { Switch } from '@/components/ui/Switch'
import { useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { isBelow } from '@/lib/roots'
import { toast } from '@/stores/toasts'
import { closeDialog } from '@/stores/ui'

/**
 * The skills: whether a person has trusted their current version, and whether the model is offered them. Each opens in
 * the editor, where trust is decided.
 */
export function Skills() {
  const t = useT()
  const skills = useSkills().data ?? []
  const untrusted = useUntrusted().data ?? []
  const isTrusted = (location: string) => {
    const folder = location.slice(0, location.lastIndexOf('/'))
    return !untrusted.some(({ path }) => isBelow(folder, path))
  }
  const onEnable = async (location: string, enabled: boolean) => {
    try {
      await enableSkill(location, enabled)
    } catch (error) {
      toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
    }
    refresh(keys.skills)
  }
  return (
    <div>
      <h4 className="mb-1 font-semibold text-small">{t('settingsSkills')}</h4>
      <p className="mb-2 text-fg-2 text-small">{t('settingsSkillsHint')}</p>
      <ul className="space-y-1 text-small" aria-label={t('settingsSkills')}>
        {skills.map(({ name, location, error, disabled = false }) => (
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
            {!error && (
              <span className="ms-auto">
                <Switch
                  on={!disabled}
                  onChange={on => void onEnable(location, on)}
                  icon={disabled ? <PowerOff size={13} aria-hidden /> : <Power size={13} aria-hidden />}
                  label={t('skillEnable', { name })}
                >
                  {t(disabled ? 'skillDisabled' : 'skillEnabled')}
                </Switch>
              </span>
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
