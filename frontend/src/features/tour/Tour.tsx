import { X } from 'lucide-react'
import { useEffect, useId, useRef } from 'react'
import { Button, IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { leaveTour, useTour } from '@/stores/tour'
import { STEPS } from './steps'

const show = (step: number): void => useTour.setState({ step })

/** The conversation gets the focus: the card that has it is about to vanish. */
function leave(): void {
  leaveTour()
  document.getElementById('pane-chat')?.focus()
}

/** A card beside the page that leads through three steps. The page stays usable. */
export default function Tour() {
  const t = useT()
  const id = useId()
  const card = useRef<HTMLElement>(null)
  const at = useTour(tour => tour.step) ?? 0
  const step = STEPS[at] ?? STEPS[0]
  const last = at === STEPS.length - 1
  const next = () => (last ? leave() : show(at + 1))
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step is announced by its focus
  useEffect(() => card.current?.focus(), [at])
  return (
    <section
      ref={card}
      data-pane
      tabIndex={-1}
      aria-label={t('tourName')}
      aria-describedby={id}
      onKeyDown={event => {
        if (event.key === 'Escape' && !event.nativeEvent.isComposing) leave()
      }}
      className="floating z-30 p-3.5 outline-none max-md:m-2 max-md:rounded-xl md:fixed md:start-4 md:bottom-16 md:w-[254px] md:rounded-xl"
    >
      <header className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <p className="text-fg-2 text-small">{t('tourStep', { n: at + 1, of: STEPS.length })}</p>
          <h2 id={id} className="font-semibold text-[14px]">
            {t(step.title)}
          </h2>
        </div>
        <IconButton label={t('tourLeave')} size="smallIcon" onClick={leave}>
          <X size={14} aria-hidden />
        </IconButton>
      </header>
      <div className="mt-1.5 space-y-2.5 text-[13px]">
        <step.Content key={at} />
      </div>
      <footer className="mt-3 flex flex-wrap items-center gap-2">
        <step.Action key={at} onDone={next} />
        <span className="flex-1" />
        {at > 0 && (
          <Button look="ghost" onClick={() => show(at - 1)}>
            {t('tourBack')}
          </Button>
        )}
        <Button onClick={next}>{t(last ? 'tourDone' : 'tourNext')}</Button>
      </footer>
    </section>
  )
}
