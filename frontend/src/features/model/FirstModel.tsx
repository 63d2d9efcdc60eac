import { useId, useState } from 'react'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import { DEMO } from './demo'
import { Way } from './Way'

/** The first run without a model: the two ways to get one. */
export default function FirstModel({ onConnect }: { onConnect: () => void }) {
  const t = useT()
  const [demo, setDemo] = useState(false)
  const id = useId()
  return (
    <section
      aria-labelledby={id}
      className="mt-6 rounded-lg border bg-card px-4 py-3 text-start text-[13.5px]"
    >
      <p id={id} className="font-semibold">
        {t('firstModel')}
      </p>
      <p className="mt-0.5 text-fg-2">{t('firstModelBody')}</p>
      <div className="mt-2.5 flex flex-wrap gap-2">
        <Button look="solid" onClick={onConnect}>
          {t('providerTitle')}
        </Button>
        <Button aria-expanded={demo} onClick={() => setDemo(!demo)}>
          {t('firstDemo')}
        </Button>
      </div>
      {demo && (
        <ol className="mt-3 space-y-2 text-[13px]">
          <Way title={t('firstDemoHow')} lines={DEMO} />
          <li className="text-fg-2">{t('firstDemoThen')}</li>
        </ol>
      )}
    </section>
  )
}
