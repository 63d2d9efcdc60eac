import { type ReactNode, useId } from 'react'
import { useMayConfigure } from '@/api/peopleQueries'
import { Disclosure } from '@/components/ui/Disclosure'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { FindButton } from '@/features/providers/FindButton'
import { OwnProviders } from '@/features/providers/OwnProviders'
import { useFold } from '@/stores/folds'
import { ConnectProvider } from './ConnectProvider'
import { DEMO } from './demo'
import { Way } from './Way'

/** The first run without a model: the ways to get one, in one card. */
export default function FirstModel({ onDone }: { onDone: () => void }) {
  const t = useT()
  const id = useId()
  const ofServer = useMayConfigure()
  return (
    <section
      aria-labelledby={id}
      className="mt-6 rounded-[18px] border bg-card p-4 text-start text-[13.5px] shadow-(--shadow)"
    >
      <h3 id={id} className="font-semibold">
        {t('modelConnect')}
      </h3>
      {ofServer && <OfServer onDone={onDone} />}
      {ofServer === false && (
        <div className="mt-1">
          <OwnProviders />
        </div>
      )}
    </section>
  )
}

/** The ways to a model for everybody on the server. */
function OfServer({ onDone }: { onDone: () => void }) {
  const t = useT()
  return (
    <>
      <p className="mt-0.5 mb-3 text-fg-2">{t('firstModelBody')}</p>
      <ConnectProvider onDone={onDone} />
      <div className="mt-4 border-t pt-2">
        <OtherWay name="local" title={t('firstLocal')}>
          <p className="mb-2 text-fg-2">{t('firstLocalHow')}</p>
          <FindButton onFound={onDone} />
        </OtherWay>
        <OtherWay name="demo" title={t('firstDemo')}>
          <ol className="space-y-2 text-[13px]">
            <Way title={t('firstDemoHow')} lines={DEMO} />
            <li className="text-fg-2">{t('firstDemoThen')}</li>
          </ol>
        </OtherWay>
      </div>
    </>
  )
}

interface OtherWayProps {
  name: string
  title: string
  children: ReactNode
}

function OtherWay({ name, title, children }: OtherWayProps) {
  const [open, setOpen] = useFold(`first-${name}`, false)
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      summaryClass="rounded-md py-1.5 text-fg-2 hover:text-fg"
      summary={<span className="me-auto">{title}</span>}
    >
      <div className="pb-2">{children}</div>
    </Disclosure>
  )
}
