import { useT } from '@/lib/i18n'

/** Of a task in a list: it shows what the text says and cannot be changed. */
export function Checkbox({ checked }: { checked: boolean }) {
  const t = useT()
  return (
    <input type="checkbox" checked={checked} readOnly disabled className="me-1.5" aria-label={t('task')} />
  )
}
