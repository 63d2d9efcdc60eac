import { ClipboardList } from 'lucide-react'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import '@/lib/later'

/** Says that a plan is ready, and lets a person have it carried out. */
export default function PlanNote({ onStart }: { onStart: (message: string) => void }) {
  const t = useT()
  return (
    <section
      aria-label={t('modePlan')}
      className="mx-auto flex w-full max-w-[760px] flex-wrap items-center gap-2 px-4 pt-1 pb-1.5 text-fg-2 text-small max-md:px-2"
    >
      <ClipboardList size={14} aria-hidden className="shrink-0 text-accent" />
      <p className="min-w-0 flex-1">{t('planReady')}</p>
      <Button size="small" title={t('planStartHint')} onClick={() => onStart(t('planMessage'))}>
        {t('planStart')}
      </Button>
    </section>
  )
}
