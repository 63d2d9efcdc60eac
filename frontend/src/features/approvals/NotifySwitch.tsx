import { Bell } from 'lucide-react'
import { Switch } from '@/components/ui/Switch'
import { useT } from '@/lib/i18n'
import { setNotify, useNotify } from './notify'

/** Nothing where the browser has no notifications, as over plain HTTP. */
export function NotifySwitch() {
  const t = useT()
  const state = useNotify(notify => notify.state)
  if (state === 'missing') return null
  return (
    <div className="mt-3 space-y-1">
      <Switch
        on={state === 'on'}
        disabled={state === 'blocked'}
        onChange={on => void setNotify(on)}
        icon={<Bell size={13} aria-hidden />}
      >
        {t('notify')}
      </Switch>
      <p className="text-fg-3 text-meta">{t(state === 'blocked' ? 'notifyBlocked' : 'notifyHint')}</p>
    </div>
  )
}
