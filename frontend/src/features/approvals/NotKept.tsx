import type { Rehearsed, UnkeptFile } from '@/api/types'
import { Banner } from '@/components/ui/Banner'
import { Visible } from '@/components/Visible'
import { kilobytes } from '@/lib/format'
import { type Key, useT } from '@/lib/i18n'

const WHY: Readonly<Record<UnkeptFile['why'], Key>> = {
  too_large: 'effectNotKeptTooLarge',
  limit_reached: 'effectNotKeptLimit',
}

/** The files that an undo could not bring back, with their sizes; nothing if there are none. */
export function NotKept({
  rehearsal: { not_kept: files = [], more_not_kept: more = 0 },
}: {
  rehearsal: Rehearsed
}) {
  const t = useT()
  if (files.length === 0) return null
  return (
    <Banner boxed tone="warn">
      <p>{t('effectNotKept')}</p>
      <ul className="text-[12px]">
        {files.map(({ path, size, why }) => (
          <li key={path} className="[overflow-wrap:anywhere]">
            <span className="font-mono">
              <Visible text={path} />
            </span>{' '}
            {t(WHY[why], { size: size < 1000 ? t('bytes', { n: size }) : kilobytes(size) })}
          </li>
        ))}
      </ul>
      {more > 0 && <p>{t('effectNotKeptMore', { n: more })}</p>}
    </Banner>
  )
}
