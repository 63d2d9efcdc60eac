import { useT } from '@/lib/i18n'
import { Remedies } from './Remedies'

interface Props {
  /** Number of messages that are not sent, counted from the first. */
  count: number
}

/** The place in the conversation above which nothing is sent. */
export default function LeftOutLine({ count }: Props) {
  const t = useT()
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-1 border-warn border-b border-dashed pb-1 text-small text-warn">
      <p className="me-auto">{t('leftOutLine', { n: count })}</p>
      <Remedies />
    </div>
  )
}
