import type { ReactNode } from 'react'
import type { SentChange, SentDetail } from '@/api/types'
import { DiffView } from '@/components/DiffView'
import { PassageLink } from '@/components/PassageLink'
import { Badge } from '@/components/ui/Badge'
import { Disclosure } from '@/components/ui/Disclosure'
import type { Place } from '@/lib/citation'
import { moment } from '@/lib/format'
import { type Key, locale, useLang, useSay, useT } from '@/lib/i18n'
import { useFold } from '@/stores/folds'
import { nameOf } from './sent'

interface Props {
  detail: SentDetail
  onLeave: () => void
}

/** The difference from the previous request, and how far the provider's prompt cache can reach. */
export function Difference({ detail, onLeave }: Props) {
  const t = useT()
  const { difference } = detail
  return (
    <section className="mt-4 border-t pt-3">
      <h3 className="mb-1 font-semibold text-[13px]">{t('sentDiff')}</h3>
      {difference ? (
        <>
          <CacheLine detail={detail} onLeave={onLeave} />
          <ul className="mt-2 space-y-1">
            {difference.changes.map((change, i) => (
              <li key={i}>
                <ChangeRow id={`${detail.name}:${i}`} change={change} onLeave={onLeave} />
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p className="text-fg-2 text-small">{t('sentFirst')}</p>
      )}
    </section>
  )
}

function CacheLine({ detail, onLeave }: Props) {
  const t = useT()
  const say = useSay()
  const { difference, pieces, total_tokens } = detail
  if (!difference) return null
  const kept = t('sentKept', { n: difference.kept_tokens, all: total_tokens })
  const { parted } = difference
  if (!parted) return <p className="text-ok text-small">{t('sentGoesOn')}</p>
  const piece = pieces[parted.piece]
  const line = parted.line ?? null
  const place: Place | null = piece?.file?.includes('/')
    ? { path: piece.file, lines: line === null ? null : [line, line] }
    : null
  const where = piece ? nameOf(piece.origin, piece.label, t, say) : t('sentEnd')
  return (
    <p className="text-small text-warn">
      {kept} {t('sentParted')}{' '}
      {place ? (
        <PlaceLink place={place} onLeave={onLeave}>
          {line === null ? place.path : `${place.path}:${line}`}
        </PlaceLink>
      ) : (
        where
      )}
    </p>
  )
}

const HOW: Record<SentChange['how'], Key> = {
  added: 'sentAdded',
  removed: 'sentRemoved',
  changed: 'sentChanged',
  moved: 'sentMoved',
}
const BY: Record<NonNullable<SentChange['by']>, Key> = {
  disk: 'sentByDisk',
  editor: 'sentByEditor',
  run: 'sentByRun',
}

/** The server generates it from the descriptions of the skills. */
const SNAPSHOT = 'SKILLS_SNAPSHOT.md'

/** Why a file changed; null for what is not a file, and for a file that was only moved or removed. */
function causeOf({ how, by, file }: SentChange): Key | null {
  if (!file || how === 'moved' || how === 'removed') return null
  if (file === SNAPSHOT) return 'sentBySkills'
  return by ? BY[by] : 'sentByUnknown'
}

function ChangeRow({ id, change, onLeave }: { id: string; change: SentChange; onLeave: () => void }) {
  const t = useT()
  const say = useSay()
  const lang = useLang()
  const [open, setOpen] = useFold(`sent:${id}`, false)
  const { how, origin, label, file, at, diff, bytes } = change
  const name = origin ? nameOf(origin, label, t, say) : t('sentSettings')
  const sign = bytes > 0 ? '+' : bytes < 0 ? '−' : ''
  const cause = causeOf(change)
  const head = (
    <>
      <Badge tone={how === 'moved' ? 'plain' : 'warn'}>{t(HOW[how])}</Badge>
      <span className="min-w-0 flex-1">
        {file?.includes('/') ? (
          <PlaceLink place={{ path: file, lines: null }} onLeave={onLeave}>
            {file}
          </PlaceLink>
        ) : (
          name
        )}
        {change.count > 1 && <span className="text-fg-3"> × {change.count}</span>}
        {cause && (
          <span className="block text-fg-2 text-meta">
            {[t(cause), at && moment(at, locale(lang))].filter(Boolean).join(' · ')}
          </span>
        )}
      </span>
      {bytes !== 0 && (
        <span className="shrink-0 text-fg-3 text-meta tabular-nums">
          {sign}
          {t('bytes', { n: Math.abs(bytes) })}
        </span>
      )}
    </>
  )
  if (!diff)
    return <div className="flex items-center gap-2 rounded-md border px-2.5 py-1.5 text-[13px]">{head}</div>
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      className="rounded-md border text-[13px]"
      summaryClass="rounded-md px-2.5 py-1.5 hover:bg-hover"
      summary={head}
    >
      <DiffView diff={diff} label={t('sentDiffOf', { name: file ?? name })} />
    </Disclosure>
  )
}

/** A link that closes the dialog, which would cover its target. */
function PlaceLink({ place, onLeave, children }: { place: Place; onLeave: () => void; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the link inside does the work
    // biome-ignore lint/a11y/useKeyWithClickEvents: a link's Enter is a click
    <span onClick={onLeave}>
      <PassageLink place={place} className="break-all underline-offset-2 hover:underline">
        {children}
      </PassageLink>
    </span>
  )
}
