import { useT } from '@/lib/i18n'

/** Stands where a file cannot be shown. */
export function Unreadable({ reason }: { reason: string }) {
  const t = useT()
  return <p className="m-auto p-6 text-center text-bad text-small">{t('fileProblem', { reason })}</p>
}
