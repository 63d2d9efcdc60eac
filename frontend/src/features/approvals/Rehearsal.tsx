import { useState } from 'react'
import { useRehearsed } from '@/api/changeQueries'
import { hasCode } from '@/api/client'
import type { Approval, Rehearsed } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { Banner } from '@/components/ui/Banner'
import { CopyButton } from '@/components/ui/CopyButton'
import { Disclosure } from '@/components/ui/Disclosure'
import { QueryError } from '@/components/ui/QueryError'
import { Visible } from '@/components/Visible'
import { type Key, useSay, useT } from '@/lib/i18n'
import { Effects, heightOf } from './Effects'
import { NotKept } from './NotKept'
import { changesNothing, exitCodeOf, outcomeIn, refusalIn } from './outcome'
import { RequestedHosts } from './RequestedHosts'

interface Props {
  approval: Approval
  rehearsal: Rehearsed
}

const COUNTS: readonly { of: 'deleted' | 'changed' | 'created'; words: Key; tone: 'bad' | 'warn' | 'ok' }[] =
  [
    { of: 'deleted', words: 'effectDeletes', tone: 'bad' },
    { of: 'changed', words: 'effectChanges', tone: 'warn' },
    { of: 'created', words: 'effectCreates', tone: 'ok' },
  ]

/** Lines of an output that is shown at once; a longer one is folded. */
const SHORT = 6

/** What a call did when it ran with its changes kept apart, and everything that it would change. */
export function Rehearsal({ approval: { id }, rehearsal }: Props) {
  const t = useT()
  const say = useSay()
  const { outcome, output, refused = [], runs_later: runsLater = [] } = rehearsal
  const code = exitCodeOf(outcome)
  return (
    <section aria-label={t('effectTitle')} className="space-y-2">
      <div className="flex flex-wrap items-center gap-1.5">
        <h4 className="me-1 font-medium">{t('effectTitle')}</h4>
        {COUNTS.map(
          ({ of, words, tone }) =>
            rehearsal[of] > 0 && (
              <Badge key={of} tone={tone}>
                {t(words, { n: rehearsal[of] })}
              </Badge>
            ),
        )}
        <Badge tone={code === 0 ? 'ok' : code === null ? 'plain' : 'bad'}>{outcomeIn(t, outcome)}</Badge>
      </div>
      {changesNothing(rehearsal) ? (
        <p className="text-fg-2">{t('effectNone')}</p>
      ) : (
        <Listed id={id} rehearsal={rehearsal} />
      )}
      {runsLater.length > 0 && (
        <Banner boxed tone="bad">
          <p>{t('effectRunsLater')}</p>
          <ul className="font-mono text-[12px]">
            {runsLater.map(path => (
              <li key={path} className="[overflow-wrap:anywhere]">
                <Visible text={path} />
              </li>
            ))}
          </ul>
        </Banner>
      )}
      {refused.length > 0 && (
        <Banner boxed tone="warn">
          <p>{t('effectRefused')}</p>
          <ul className="font-mono text-[12px]">
            {refused.map(line => (
              <li key={line} className="[overflow-wrap:anywhere]">
                <Visible text={refusalIn(say, line)} />
              </li>
            ))}
          </ul>
        </Banner>
      )}
      <NotKept rehearsal={rehearsal} />
      <RequestedHosts rehearsal={rehearsal} />
      <Output text={output} />
    </section>
  )
}

/** All files that would change; their number is known before they are read. */
function Listed({
  id,
  rehearsal: { hash, created, changed, deleted },
}: {
  id: string
  rehearsal: Rehearsed
}) {
  const t = useT()
  const { data, error } = useRehearsed(id, hash)
  if (data) return <Effects approvalId={id} files={data} />
  if (hasCode(error, 'not_found'))
    return (
      <p role="status" className="text-fg-2">
        {t('effectGone')}
      </p>
    )
  if (error) return <QueryError error={error} />
  const height = heightOf(created + changed + deleted)
  return (
    <div role="status" style={{ height }} className="rounded-md border bg-card p-2.5 text-fg-3">
      {t('loading')}
    </div>
  )
}

function Output({ text }: { text: string }) {
  const t = useT()
  const [open, setOpen] = useState(text.split('\n').length <= SHORT && text.length < 500)
  if (text === '') return null
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      className="overflow-hidden rounded-md border bg-code text-fg"
      summaryClass="py-0.5 ps-2.5 pe-1.5 text-fg-2 text-small"
      summary={<span className="me-auto">{t('output')}</span>}
    >
      <div className="relative border-t">
        <pre
          tabIndex={0}
          className="scroll plain max-h-60 whitespace-pre-wrap p-2.5 pe-9 [overflow-wrap:anywhere]"
        >
          <Visible text={text} />
        </pre>
        <span className="absolute end-1 top-1">
          <CopyButton text={() => text} label={t('output')} />
        </span>
      </div>
    </Disclosure>
  )
}
