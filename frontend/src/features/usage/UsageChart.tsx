import { type KeyboardEvent, type PointerEvent, useState } from 'react'
import { cn } from '@/lib/cn'
import { compactCount, count } from '@/lib/format'
import { useLang, useT } from '@/lib/i18n'
import { labelledPoints, type Period, type Row, ticksOf } from './report'
import { longDate, shortDate } from './words'

/** The lines differ in their dashes too, not only in their color. */
const LINES = [
  { word: 'usageInput', value: 'prompt_tokens', look: 'text-accent', dashes: undefined },
  { word: 'usageOutput', value: 'completion_tokens', look: 'text-rag', dashes: '6 4' },
  { word: 'usageCached', value: 'cached_tokens', look: 'text-ok', dashes: '1.5 4' },
] as const

const LABELS = 8
const STEPS: Record<string, (at: number, last: number) => number> = {
  ArrowLeft: at => at - 1,
  ArrowRight: at => at + 1,
  Home: () => 0,
  End: (_, last) => last,
}

interface Props {
  points: readonly Row[]
  period: Period
}

/** A line for each kind of tokens. The legend has the numbers of the period under the pointer or chosen by arrow keys. */
export function UsageChart({ points, period }: Props) {
  const t = useT()
  const lang = useLang()
  const last = points.length - 1
  const [chosen, setChosen] = useState<number | null>(null)
  const at = Math.min(chosen ?? last, last)
  const point = points[at]
  if (!point) return null
  const ticks = ticksOf(
    Math.max(...points.map(({ sum }) => Math.max(sum.prompt_tokens, sum.completion_tokens))),
  )
  const top = ticks.at(-1) ?? 1
  const x = (n: number) => (last === 0 ? 50 : (100 * n) / last)
  const y = (value: number) => 100 - (100 * value) / top
  const values = LINES.map(({ word, value }) => `${t(word)} ${count(point.sum[value])}`).join(', ')
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key]
    if (!step) return
    event.preventDefault()
    setChosen(Math.max(0, Math.min(last, step(at, last))))
  }
  const follow = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    setChosen(Math.max(0, Math.min(last, Math.round(((event.clientX - left) / width) * last))))
  }
  return (
    <figure className="space-y-2">
      <div className="flex gap-2 pe-3">
        <div aria-hidden className="relative w-9 shrink-0 text-end text-fg-3 text-meta tabular-nums">
          {ticks.map(tick => (
            <span key={tick} className="-translate-y-1/2 absolute end-0" style={{ top: `${y(tick)}%` }}>
              {compactCount(tick)}
            </span>
          ))}
        </div>
        <div
          role="slider"
          tabIndex={0}
          aria-label={t('usageChart')}
          aria-valuemin={0}
          aria-valuemax={last}
          aria-valuenow={at}
          aria-valuetext={`${longDate(point.name, period, lang)}: ${values}`}
          onKeyDown={move}
          onPointerMove={follow}
          onPointerDown={follow}
          onPointerLeave={() => setChosen(null)}
          className="relative h-40 min-w-0 flex-1 touch-pan-y rounded-sm"
        >
          <svg
            aria-hidden
            viewBox="0 0 100 100"
            preserveAspectRatio="none"
            className="absolute inset-0 size-full overflow-visible"
          >
            {ticks.map(tick => (
              <path
                key={tick}
                d={`M0 ${y(tick)}H100`}
                className="stroke-line"
                vectorEffect="non-scaling-stroke"
              />
            ))}
            <path d={`M${x(at)} 0V100`} className="stroke-fg-3" vectorEffect="non-scaling-stroke" />
            {LINES.map(({ value, look, dashes }) => (
              <polyline
                key={value}
                points={points.map(({ sum }, n) => `${x(n)},${y(sum[value])}`).join(' ')}
                className={cn('fill-none stroke-current', look)}
                strokeWidth={2}
                strokeDasharray={dashes}
                strokeLinecap="round"
                strokeLinejoin="round"
                vectorEffect="non-scaling-stroke"
              />
            ))}
          </svg>
        </div>
      </div>
      <div aria-hidden className="relative ms-11 me-3 h-4 text-fg-3 text-meta tabular-nums">
        {labelledPoints(points.length, LABELS).map((n, place, all) => (
          <span
            key={n}
            className={cn(
              '-translate-x-1/2 absolute whitespace-nowrap',
              (all.length - 1 - place) % 2 === 1 && 'max-[560px]:hidden',
            )}
            style={{ left: `${x(n)}%` }}
          >
            {shortDate(points[n]?.name ?? '', period, lang)}
          </span>
        ))}
      </div>
      <figcaption className="flex flex-wrap justify-center gap-x-5 gap-y-1 text-small tabular-nums">
        <span className="font-semibold">{longDate(point.name, period, lang)}</span>
        {LINES.map(({ word, value, look, dashes }) => (
          <span key={value} className="flex items-center gap-1.5">
            <svg aria-hidden width="18" height="4" className={look}>
              <path
                d="M1 2H17"
                className="stroke-current"
                strokeWidth={2}
                strokeDasharray={dashes}
                strokeLinecap="round"
              />
            </svg>
            {t(word)}
            <span className="text-fg-2">{count(point.sum[value])}</span>
          </span>
        ))}
      </figcaption>
    </figure>
  )
}
