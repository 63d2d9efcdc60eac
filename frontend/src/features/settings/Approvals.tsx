import { useAlways } from '@/api/queries'
import { forget } from '@/features/approvals/actions'
import { NotifySwitch } from '@/features/approvals/NotifySwitch'
import { AlwaysRules } from './AlwaysRules'

export function Approvals() {
  const { data, error } = useAlways()
  return (
    <>
      <AlwaysRules rules={data} error={error} onRemove={rule => void forget(rule.id)} />
      <NotifySwitch />
    </>
  )
}
