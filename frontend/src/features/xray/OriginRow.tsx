import { FileText } from 'lucide-react'
import { Badge } from '@/components/ui/Badge'
import { IconButton } from '@/components/ui/Button'
import { CopyButton } from '@/components/ui/CopyButton'
import { Disclosure } from '@/components/ui/Disclosure'
import { type Place, placeOf } from '@/lib/citation'
import { cn } from '@/lib/cn'
import { useSay, useT } from '@/lib/i18n'
import { textIn } from '@/lib/server'
import { useFold } from '@/stores/folds'
import type { Origin } from './parts'
import { nameOf } from './sent'

interface Props {
  origin: Origin
  colour: string
  onOpen: (place: Place) => void
}

export function OriginRow({ origin, colour, onOpen }: Props) {
  const t = useT()
  const say = useSay()
  const { kind, label, file, tokens, bytes, truncated, absent, unreadable, text, lines } = origin
  const name = kind === 'history' && origin.count !== 1 ? t('xrayHistory') : nameOf(kind, label, t, say)
  const [open, setOpen] = useFold(`xray:${kind}:${label}`, false)
  return (
    <div className="flex items-start gap-1">
      <Disclosure
        open={open}
        onToggle={setOpen}
        className="min-w-0 flex-1 rounded-md border text-[13px]"
        summaryClass="rounded-md px-2.5 py-1.5 hover:bg-hover"
        summary={
          <>
            <span
              aria-hidden
              className={cn('size-2.5 shrink-0 rounded-[3px]', absent ? 'bg-hover' : colour)}
            />
            <span className="min-w-0 flex-1 truncate">
              {name}
              {origin.count > 1 && <span className="ms-1.5 text-fg-3 text-meta">× {origin.count}</span>}
              {file && file !== label && <span className="ms-2 font-mono text-[12px] text-fg-3">{file}</span>}
            </span>
            {truncated && <Badge tone="warn">{t('xrayCut')}</Badge>}
            {unreadable && <Badge tone="bad">{t('xrayUnreadable')}</Badge>}
            {absent && !unreadable && <Badge>{t('xrayAbsent')}</Badge>}
            <span className="shrink-0 text-fg-3 text-meta tabular-nums" title={t('bytes', { n: bytes })}>
              {t('tokens', { n: tokens })}
            </span>
          </>
        }
      >
        <div className="border-t">
          {absent && <p className="px-2.5 py-1.5 text-fg-2 text-small">{textIn(say, absent)}</p>}
          {unreadable && <p className="px-2.5 pb-1.5 text-fg-2 text-small">{t('xrayUnreadableHint')}</p>}
          {kind === 'retrieval' && <Places text={text} onOpen={onOpen} />}
          {text !== '' && (
            <div className="relative">
              <span className="absolute end-1 top-1">
                <CopyButton label={t('copy')} text={() => text} />
              </span>
              <pre
                tabIndex={0}
                className="scroll plain max-h-72 whitespace-pre-wrap bg-code p-2.5 pe-9 [overflow-wrap:anywhere]"
              >
                {text}
              </pre>
            </div>
          )}
        </div>
      </Disclosure>
      {file?.includes('/') && !absent ? (
        <IconButton label={t('openFile', { path: file })} onClick={() => onOpen({ path: file, lines })}>
          <FileText size={14} aria-hidden />
        </IconButton>
      ) : (
        <span aria-hidden className="w-8 shrink-0 pointer-coarse:w-11" />
      )}
    </div>
  )
}

/** The places of retrieved passages precede them, in the form in which the model is to cite them. */
const placesIn = (text: string): Place[] =>
  text.split('\n').flatMap(line => placeOf(line.replace(/^\[\d+\] /, '')) ?? [])

function Places({ text, onOpen }: { text: string; onOpen: (place: Place) => void }) {
  return (
    <ul className="flex flex-wrap gap-1 px-2.5 pt-1.5">
      {placesIn(text).map(place => (
        <li key={`${place.path}:${place.lines}`}>
          <button
            type="button"
            className="rounded-sm border border-rag-line px-1.5 font-mono text-[12px] text-rag hover:bg-rag-soft pointer-coarse:py-2"
            onClick={() => onOpen(place)}
          >
            {place.path}
            {place.lines && `:${place.lines.join('-')}`}
          </button>
        </li>
      ))}
    </ul>
  )
}
