import { mayConfigure } from '@/api/multi'
import { useAlways } from '@/api/queries'
import { Disclosure } from '@/components/ui/Disclosure'
import { forget } from '@/features/approvals/actions'
import { NotifySwitch } from '@/features/approvals/NotifySwitch'
import { useT } from '@/lib/i18n'
import { useFold } from '@/stores/folds'
import { AlwaysRules } from './AlwaysRules'
import { ConfigRows } from './ConfigRows'

/** The approval policy, the rules of single tools, and the calls that are always allowed. */
export function Approvals() {
  const t = useT()
  const { data, error } = useAlways()
  const [open, setOpen] = useFold('tool-rules', false)
  return (
    <div className="space-y-3">
      <ConfigRows part="approvals" />
      {mayConfigure() && (
        <Disclosure
          open={open}
          onToggle={setOpen}
          summaryClass="rounded-md py-1 text-fg-2 text-small hover:text-fg"
          summary={<span className="me-auto">{t('settingsToolRules')}</span>}
        >
          <ConfigRows part="toolRules" />
        </Disclosure>
      )}
      <div>
        <h4 className="mb-1 font-semibold text-small">{t('settingsApprovals')}</h4>
        <p className="mb-2 text-fg-2 text-small">{t('settingsApprovalsHint')}</p>
        <AlwaysRules rules={data} error={error} onRemove={rule => void forget(rule.id)} />
      </div>
      <NotifySwitch />
    </div>
  )
}
