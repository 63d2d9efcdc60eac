import { useT } from '@/lib/i18n'

/** The checkbox of a task list item; read-only. */
export function Checkbox({ checked }: { checked: boolean }) {
  const t = useT()
  return (
    <input type="checkbox" checked={checked} readOnly disabled className="me-1.5" aria-label={t('task')} />
  )
}
