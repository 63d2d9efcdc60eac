import { useT } from '@/lib/i18n'
import { Remedies } from './Remedies'

interface Props {
  /** Number of messages that are not sent, counted from the first. */
  count: number
  /** Number of pinned messages that are not sent. */
  pins: number
}

/** Says before the first such message that a part of the conversation will not be sent. */
export default function LeftOutNote({ count, pins }: Props) {
  const t = useT()
  return (
    <section
      aria-label={t('context')}
      className="mx-auto flex w-full max-w-[760px] flex-wrap items-center gap-x-2 gap-y-1 px-4 pt-1 pb-1.5 text-small text-warn max-md:px-2"
    >
      <p role="status" className="me-auto">
        {count > 0 && t('leftOutNote', { n: count })} {pins > 0 && t('pinsLeftOut', { n: pins })}
      </p>
      <Remedies />
    </section>
  )
}
