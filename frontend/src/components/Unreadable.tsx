import { useT } from '@/lib/i18n'

/** Shown in place of a file that cannot be displayed. */
export function Unreadable({ reason }: { reason: string }) {
  const t = useT()
  return <p className="m-auto p-6 text-center text-bad text-small">{t('fileProblem', { reason })}</p>
}
