import { useMemo } from 'react'
import { usePrompt } from '@/api/queries'
import { Bar } from '@/components/ui/Bar'
import { Dialog } from '@/components/ui/Dialog'
import { Skeleton } from '@/components/ui/Skeleton'
import { count } from '@/lib/format'
import { locale, useLang, useT } from '@/lib/i18n'
import { openFile } from '@/stores/ui'
import { OriginRow } from './OriginRow'
import { type Origin, originsOf } from './parts'

const COLOUR: Record<Origin['kind'], string> = {
  file: 'bg-accent',
  text: 'bg-rag',
  tools: 'bg-warn',
  history: 'bg-ok',
}

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  sessionId: string | null
}

/** The next request, before it is sent: which file each piece comes from, and what it costs. */
export default function Xray({ open, onOpenChange, sessionId }: Props) {
  const t = useT()
  const lang = useLang()
  const prompt = usePrompt(sessionId)
  const origins = useMemo(() => (prompt.data ? originsOf(prompt.data) : []), [prompt.data])
  const n = (value: number) => count(value, locale(lang))
  const total = prompt.data?.total_tokens ?? 0
  return (
    <Dialog wide open={open} onOpenChange={onOpenChange} title={t('xray')}>
      <p className="mb-2 text-fg-2 text-small">{t('xrayHint')}</p>
      {prompt.error && (
        <p className="text-bad text-small">{t('loadFailed', { reason: prompt.error.message })}</p>
      )}
      {!prompt.data && !prompt.error && <Skeleton label={t('loading')} rows={5} />}
      {prompt.data && (
        <>
          <p className="mb-1 text-small tabular-nums">
            {t('xrayTotal', { tokens: n(total), bytes: n(prompt.data.total_bytes) })}
            {prompt.data.dropped > 0 && (
              <span className="text-warn"> · {t('xrayDropped', { n: prompt.data.dropped })}</span>
            )}
          </p>
          <Bar
            parts={origins.map(origin => ({
              share: total > 0 ? origin.tokens / total : 0,
              className: COLOUR[origin.kind],
            }))}
          />
          <ul className="mt-3 space-y-1">
            {origins.map((origin, i) => (
              <li key={`${origin.kind}:${origin.label}:${i}`}>
                <OriginRow
                  origin={origin}
                  colour={COLOUR[origin.kind]}
                  onOpen={path => {
                    onOpenChange(false)
                    openFile(path)
                  }}
                />
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  )
}
