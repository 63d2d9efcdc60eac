import { mayConfigure } from '@/api/multi'
import { useSettings } from '@/api/queries'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { type Part, partOf } from './config'
import { SettingRow } from './SettingRow'

/** The settings of config.yml that belong to one part; nothing for who may not see them. */
export const ConfigRows = ({ part }: { part: Part }) => (mayConfigure() ? <Rows part={part} /> : null)

function Rows({ part }: { part: Part }) {
  const t = useT()
  const { data, error } = useSettings()
  if (!data) return error ? <QueryError error={error} /> : <Skeleton label={t('loading')} rows={3} />
  const shown = data.settings.filter(({ key }) => partOf(key) === part)
  return (
    <div className="divide-y rounded-lg border bg-card px-3">
      {shown.map(setting => (
        <SettingRow key={setting.key} setting={setting} />
      ))}
    </div>
  )
}
