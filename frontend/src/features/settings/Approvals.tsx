import { useAlways } from '@/api/queries'
import { forget } from '@/features/approvals/actions'
import { AlwaysRules } from './AlwaysRules'

export function Approvals() {
  const { data, error } = useAlways()
  return <AlwaysRules rules={data} error={error} onRemove={rule => void forget(rule.id)} />
}
