import { TriangleAlert } from 'lucide-react'
import type { Mention } from '@/api/types'
import { type Key, useT } from '@/lib/i18n'

const KINDS: { kind: Mention['kind']; title: Key }[] = [
  { kind: 'path', title: 'lostPaths' },
  { kind: 'url', title: 'lostUrls' },
  { kind: 'id', title: 'lostIds' },
  { kind: 'number', title: 'lostNumbers' },
  { kind: 'question', title: 'lostQuestions' },
]
const SHOWN = 12

interface Props {
  missing: readonly Mention[]
  /** Number of things that were not compared. */
  unlisted: number
  onAdd: (text: string) => void
}

/** What the originals mention and the summary does not; each item can be added to the summary. */
export function Missing({ missing, unlisted, onAdd }: Props) {
  const t = useT()
  return (
    <section aria-label={t('lostTitle')} className="mt-3 text-[13px]">
      {missing.length > 0 ? (
        <p className="flex items-center gap-1.5 font-semibold text-warn">
          <TriangleAlert size={14} aria-hidden />
          {t('lostCount', { n: missing.length })}
        </p>
      ) : (
        <p className="font-semibold text-ok">{t('lostNothing')}</p>
      )}
      <p className="mt-0.5 text-fg-3 text-small">{t('lostHow')}</p>
      {unlisted > 0 && <p className="text-fg-3 text-small">{t('lostUnlisted', { n: unlisted })}</p>}
      {KINDS.map(({ kind, title }) => (
        <Kind key={kind} title={t(title)} found={missing.filter(m => m.kind === kind)} onAdd={onAdd} />
      ))}
    </section>
  )
}

interface KindProps {
  title: string
  found: Mention[]
  onAdd: (text: string) => void
}

function Kind({ title, found, onAdd }: KindProps) {
  const t = useT()
  if (found.length === 0) return null
  return (
    <div className="mt-2">
      <p className="text-fg-2 text-small">{title}</p>
      <ul className="mt-1 flex flex-wrap gap-1">
        {found.slice(0, SHOWN).map(({ text, kind }) => (
          <li key={text} className="max-w-full">
            <button
              type="button"
              title={t('lostAdd')}
              onClick={() => onAdd(text)}
              className={`max-w-full rounded-md border bg-card px-1.5 py-0.5 text-start text-[12px] [overflow-wrap:anywhere] hover:bg-hover pointer-coarse:py-2 ${kind === 'question' ? '' : 'font-mono'}`}
            >
              {text}
            </button>
          </li>
        ))}
        {found.length > SHOWN && (
          <li className="self-center text-fg-3 text-small">{t('more', { n: found.length - SHOWN })}</li>
        )}
      </ul>
    </div>
  )
}
