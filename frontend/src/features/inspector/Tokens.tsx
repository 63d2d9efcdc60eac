import { fileSize } from '@/lib/format'
import { useT } from '@/lib/i18n'

/** The tokens of a listed file; nothing if it is not a text. */
export function Tokens({ n }: { n: number | null | undefined }) {
  const t = useT()
  if (n == null) return null
  return (
    <span className="beside-menu ms-auto shrink-0 text-fg-3 text-meta tabular-nums">
      {t('tokens', { n })}
    </span>
  )
}

/** The size of a listed file; nothing for a folder. */
export function Size({ bytes }: { bytes: number | undefined }) {
  if (bytes === undefined) return null
  return (
    <span className="beside-menu ms-auto shrink-0 text-fg-3 text-meta tabular-nums">{fileSize(bytes)}</span>
  )
}
